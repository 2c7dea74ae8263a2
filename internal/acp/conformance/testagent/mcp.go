package testagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"
)

type mcpServer struct {
	Type, Name, Command, URL string
	Args                     []string
	Env, Headers             []struct{ Name, Value string }
}

// mcpClient speaks to one server, one request at a time.
type mcpClient struct {
	mu    sync.Mutex
	id    int
	close func()
	send  func(ctx context.Context, m []byte) ([]byte, error)
}

// connect starts the servers of a session. Those that fail are left out.
func (s *session) connect(servers []mcpServer) error {
	var failed error
	for _, server := range servers {
		var c *mcpClient
		var err error
		switch server.Type {
		case "http":
			c = s.overHTTP(server)
		case "sse":
			continue
		default:
			c, err = s.overStdio(server)
		}
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			_, err = c.call(ctx, "initialize", object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "testagent", "version": "1"}})
			cancel()
		}
		if err != nil {
			failed = err
			if c != nil {
				c.close()
			}
			continue
		}
		s.mcp[server.Name] = c
	}
	return failed
}

func (c *mcpClient) call(ctx context.Context, method string, params object) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id++
	m, _ := json.Marshal(object{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params}) // plain data
	raw, err := c.send(ctx, m)
	if err != nil {
		return nil, err
	}
	var r struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(raw, &r); err != nil || r.Error != nil {
		return nil, fmt.Errorf("the server answers %s", raw)
	}
	return r.Result, nil
}

func (s *session) overStdio(server mcpServer) (*mcpClient, error) {
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Env = os.Environ()
	for _, e := range server.Env {
		if !s.a.breaks(33) {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	return &mcpClient{
		close: sync.OnceFunc(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() }),
		send: func(_ context.Context, m []byte) ([]byte, error) {
			if _, err := in.Write(append(m, '\n')); err != nil {
				return nil, err
			}
			return lines.ReadBytes('\n')
		},
	}, nil
}

func (s *session) overHTTP(server mcpServer) *mcpClient {
	return &mcpClient{close: func() {}, send: func(ctx context.Context, m []byte) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(m))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		for _, h := range server.Headers {
			if !s.a.breaks(34) {
				req.Header.Set(h.Name, h.Value)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(resp.Body)
	}}
}

func (s *session) callMCP(ctx context.Context, server, tool string) (string, error) {
	c := s.mcp[server]
	if c == nil {
		return "", fmt.Errorf("no server %s", server)
	}
	r, err := c.call(ctx, "tools/call", object{"name": tool, "arguments": object{}})
	return string(r), err
}
