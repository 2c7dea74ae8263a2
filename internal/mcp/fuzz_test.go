package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// What a server lists is refused with a reason, or can be registered.
func FuzzReadTool(f *testing.F) {
	f.Add([]byte(`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":["string","null"]}}},"outputSchema":{"type":"object"}}`))
	f.Add([]byte(`{"name":"a","inputSchema":{"anyOf":[true,{"not":{}}],"required":["x"]},"annotations":{"readOnlyHint":1}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // such an entry never gets here
		}
		tool := readTool(raw)
		if tool.name == "" {
			t.Fatal("no name")
		}
		if tool.problem != "" {
			return
		}
		if typ := tool.input.Get("type"); !allows(typ, "object") || !tool.input.Get("properties").IsObject() {
			t.Errorf("schema %s", tool.input)
		}
		reg, err := registry.New(registry.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := New(Options{Scope: reg.Global().Child("s")})
		v := newServer(s, Config{Name: "s"})
		if err := v.register(v.tool(tool)); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	})
}

// What a call gives has a value that fits the declared type, and a content.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"x"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"structuredContent":{"n":1}}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"x","blob":"!"}},{"type":"resource_link","uri":"u"}],"isError":true}`))
	f.Add([]byte(`{"content":5,"structuredContent":[1e400]}`))
	reg, err := registry.New(registry.Options{})
	if err != nil {
		f.Fatal(err)
	}
	s := New(Options{Scope: reg.Global().Child("s")})
	v := newServer(s, Config{Name: "s"})
	tool := v.tool(readTool([]byte(`{"name":"a","outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`)))
	if err := v.register(tool); err != nil {
		f.Fatal(err)
	}
	registered, _ := s.opt.Scope.Get(tool.name)
	f.Fuzz(func(t *testing.T, raw []byte) {
		result, err := jsonvalue.Parse(raw)
		if err != nil || !result.IsObject() {
			return
		}
		value, failed := tool.value(result)
		if problems := registered.ValidateOutput(value); problems != nil && !failed {
			t.Errorf("%s: %v", value, problems)
		}
		if err := jsonvalue.CheckLossless(value); err != nil {
			t.Errorf("%s: %v", value, err)
		}
		if blocks, err := render(jsonvalue.Value{}, value); err != nil || len(blocks) == 0 {
			t.Errorf("%s: %v %v", value, blocks, err)
		}
	})
}

// Whatever a process writes, lines come out whole or cut, and nothing hangs.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nnoise\n[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]\n"), 20)
	f.Add([]byte("{\"result\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"jsonrpc\":\"2.0\",\"id\":7}\n"), 10)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = max(1, min(limit, 1<<16))
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		var total int64
		for {
			line, size, err := readLine(r, limit)
			if size == 0 && len(line) > limit || size > 0 && size <= int64(limit) || len(line) > limit+2*keepEnds {
				t.Fatalf("line of %d bytes, size %d, limit %d", len(line), size, limit)
			}
			if size > 0 {
				total += size
				oversized(line, size)
			} else {
				total += int64(len(line))
			}
			if err != nil {
				break
			}
		}
		if total != int64(len(data)) {
			t.Errorf("%d bytes of %d", total, len(data))
		}
	})
}

// The tap sees the answer that goes by, in whatever pieces it comes, and changes
// none of it.
func FuzzTap(f *testing.F) {
	f.Add([]byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n\n"), true, 3)
	f.Add([]byte("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\r\n\r\n"), true, 1)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`), false, 5)
	f.Fuzz(func(t *testing.T, data []byte, events bool, piece int) {
		kind := "application/json"
		if events {
			kind = "text/event-stream; charset=utf-8"
		}
		_, a := withAnswer(context.Background())
		resp := &http.Response{Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(&pieces{data, max(1, min(piece, 100))})}
		got, err := io.ReadAll(tapBody(resp, a))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%q %v", got, err)
		}
		if raw := a.get(); raw != nil && !json.Valid(raw) {
			t.Errorf("%q", raw)
		}
	})
}

type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func TestTap(t *testing.T) {
	for _, c := range []struct{ kind, body, want string }{
		{"application/json", `{"jsonrpc":"2.0","id":1,"result":{"b":1.50,"a":2}}`, `{"b":1.50,"a":2}`},
		{"application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, ""},
		{"text/event-stream", "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\nid: 5\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"b\":1,\"a\":2}}\n\ndata: {}\n\n", `{"b":1,"a":2}`},
		{"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":1,\"result\":{}}\r\n\r\n", `{}`},
		{"text/plain", `{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
	} {
		for _, size := range []int{1, 7, 1000} {
			_, a := withAnswer(context.Background())
			resp := &http.Response{Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(&pieces{[]byte(c.body), size})}
			if _, err := io.ReadAll(tapBody(resp, a)); err != nil || string(a.get()) != c.want {
				t.Errorf("%q: %q, want %q", c.body, a.get(), c.want)
			}
		}
	}
}

func TestOversizedAnswers(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":12,"result":{"x`:                "12",
		`{"id":3,"jsonrpc":"2.0","result":{"x`:                 "3",
		`{"result":{"a":"xxx"},"jsonrpc":"2.0","id":7}` + "\n": "7",
		`{"jsonrpc":"2.0","method":"x","params":{"id":1`:       "",
		`noise "id":1`: "",
	} {
		msg, got := oversized([]byte(line), 99), ""
		if resp, ok := msg.(*jsonrpc.Response); ok {
			got = idText(resp.ID)
		}
		if got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
