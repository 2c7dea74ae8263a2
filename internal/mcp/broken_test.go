package mcp

import (
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An answer that is no valid message is the answer to its call all the same.
func TestBrokenAnswers(t *testing.T) {
	why := errors.New("odd")
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":3,"error":"no\ntoday"}`:                  `the server's answer is no valid message; as its error it gives "no\ntoday"`,
		`{"id":3,"result":{}}`:                                          "the server's answer is no valid message: odd",
		`{"jsonrpc":"1.0","id":3,"result":{},"error":null}`:             "the server's answer is no valid message; as its error it gives null",
		`{"jsonrpc":"2.0","id":3,"method":"x","result":{}}`:             "",
		`{"jsonrpc":"2.0","id":"3","error":"x"}`:                        "", // not one of ours
		`{"jsonrpc":"2.0","id":3.5,"error":"x"}`:                        "",
		`{"jsonrpc":"2.0","id":99999999999999999999999999,"error":"x"}`: "",
		`{"jsonrpc":"2.0","id":3}`:                                      "",
		`{"jsonrpc":"2.0","error":"x"}`:                                 "",
		`{"level":"info","id":3`:                                        "",
	} {
		msg := broken([]byte(line), why)
		if want == "" {
			if msg != nil {
				t.Errorf("%s: %+v", line, msg)
			}
			continue
		}
		r, ok := msg.(*jsonrpc.Response)
		var e *jsonrpc.Error
		if !ok || r.ID.Raw() != int64(3) || !errors.As(r.Error, &e) || e.Message != want {
			t.Errorf("%s: %+v", line, msg)
		}
	}
}

// A server that answers so is not waited for until the call's time is over.
func TestABrokenAnswerFailsItsCall(t *testing.T) {
	w := newWorld(t)
	w.start(role("broken"))
	r := w.call("mcp__broken__echo", `{}`)
	if want := `Error: the MCP server broken answered with an error: the server's answer is no valid message; as its error it gives "no today" (-32603)`; r.Text() != want {
		t.Errorf("%s", r.Text())
	}
}

func TestLogGate(t *testing.T) {
	var g logGate
	now := time.Unix(1000, 0)
	for round := range 2 {
		passed, told := 0, 0
		for i := range 1000 {
			ok, first := g.pass(now.Add(time.Duration(i) * time.Millisecond))
			if ok {
				passed++
			}
			if first {
				told++
			}
		}
		if passed != maxLogLines || told != 1 {
			t.Errorf("round %d: %d passed, told %d times", round, passed, told)
		}
		now = now.Add(logWindow)
	}
}
