package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// mcpTool is the tool that the kit's MCP servers have.
const mcpTool = "conformance_word"

// ServeMCP is an MCP server on in and out until in ends. It writes the value of
// CONFORMANCE_WORD into the file marker, and its tool answers with it.
func ServeMCP(in io.Reader, out io.Writer, marker string) error {
	word := os.Getenv("CONFORMANCE_WORD")
	if err := os.WriteFile(marker, []byte(word), 0o600); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if answer := answerMCP(lines.Bytes(), word); answer != nil {
			if _, err := fmt.Fprintf(out, "%s\n", answer); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// answerMCP gives the answer to a message, nil when it wants none.
func answerMCP(message []byte, word string) []byte {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ProtocolVersion string }
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil || m.Method == "" {
		return nil
	}
	var result any
	switch m.Method {
	case "initialize":
		result = map[string]any{
			"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "conformance", "version": "1"},
		}
	case "tools/list":
		result = map[string]any{"tools": []any{map[string]any{
			"name": mcpTool, "description": "Says the word.", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{}},
			"annotations": map[string]any{"readOnlyHint": true},
		}}}
	case "tools/call":
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": "the word is " + word}}}
	case "ping":
		result = map[string]any{}
	default:
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}})
		return b
	}
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}) // plain data
	return b
}

// mcpHTTP is the same over streamable HTTP. It wants the header X-Conformance.
type mcpHTTP struct {
	url   string
	serve *http.Server
	done  sync.WaitGroup
	once  sync.Once
	seen  chan struct{} // closed when the header came
}

func startMCPHTTP() (*mcpHTTP, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mcpHTTP{url: "http://" + l.Addr().String() + "/mcp", seen: make(chan struct{})}
	m.serve = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	m.done.Go(func() { _ = m.serve.Serve(l) }) // ends with close
	return m, nil
}

func (m *mcpHTTP) close() {
	_ = m.serve.Close()
	m.done.Wait()
}

func (m *mcpHTTP) reached(within time.Duration) bool {
	select {
	case <-m.seen:
		return true
	case <-time.After(within):
		return false
	}
}

// ServeHTTP answers one message a request.
func (m *mcpHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Conformance") != "yes" {
		http.Error(w, "the header X-Conformance is missing", http.StatusUnauthorized)
		return
	}
	m.once.Do(func() { close(m.seen) })
	if r.Method != http.MethodPost {
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := answerMCP(body, "of the web")
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if strings.Contains(string(body), `"initialize"`) {
		w.Header().Set("Mcp-Session-Id", "conformance")
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the client may be gone
}
