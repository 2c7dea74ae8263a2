package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/elicit"
)

// A form has its fields in the order in which the server wrote them, over
// streamable HTTP too.
func TestFormsOverHTTPKeepTheirOrder(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		r, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"name":{"type":"string"},"zip":{"type":"string"},"age":{"type":"integer"},"city":{"type":"string"}},"required":["name"]}`)})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Action}}}, nil, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	w := newWorld(t)
	var asked []string
	w.form = func(_ context.Context, f elicit.Form) (map[string]json.RawMessage, error) {
		for _, field := range f.Fields {
			asked = append(asked, field.Name)
		}
		return map[string]json.RawMessage{"name": json.RawMessage(`"x"`)}, nil
	}
	w.start(Config{Name: "web", URL: srv.URL})
	w.wants("mcp__web__ask", `{}`, "accept")
	if got := strings.Join(asked, " "); got != "name zip age city" {
		t.Errorf("the fields are %s", got)
	}
}

// Whatever the pieces in which a stream comes, nothing of it is lost or changed
// but the forms in it.
func TestTheStreamStaysWhatItIs(t *testing.T) {
	const form = `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}}}`
	events := rapid.SampledFrom([]string{
		": ping\n\n", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", "event: message\r\nid: 7\r\ndata: {\r\ndata: }\r\n\r\n",
		"data: requestedSchema\n\n", "data: {\"requestedSchema\":", "\n", "retry: 5\r\r",
	})
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOfN(events, 0, 20).Draw(t, "events"), "")
		var r io.Reader = strings.NewReader(stream)
		switch rapid.IntRange(0, 2).Draw(t, "pieces") {
		case 0:
			r = iotest.OneByteReader(r)
		case 1:
			r = iotest.DataErrReader(iotest.HalfReader(r))
		}
		got, err := io.ReadAll(&ordered{body: io.NopCloser(r)})
		if err != nil || string(got) != stream {
			t.Fatalf("%v: %q, want %q", err, got, stream)
		}
	})
	for _, end := range []string{"\n\n", "\r\n\r\n"} {
		text := "event: message\nid: 3\ndata: " + form + end + "data: {}" + end
		got, err := io.ReadAll(&ordered{body: io.NopCloser(iotest.OneByteReader(strings.NewReader(text)))})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(got, []byte("event: message\nid: 3\ndata: {")) || !bytes.HasSuffix(got, []byte(end+"data: {}"+end)) || !bytes.Contains(got, []byte(`"$comment":"[\"b\",\"a\"]"`)) {
			t.Errorf("%q", got)
		}
	}
}
