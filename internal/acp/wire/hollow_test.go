package wire

import (
	"encoding/json"
	"testing"
)

// An answer without a result is an answer: whoever waits hears of it, and no
// refusal goes out under an id that may be that of a request of the peer.
func TestAnswersThatHoldNothing(t *testing.T) {
	for _, tt := range []struct{ name, answer string }{
		{"nothing", `{"jsonrpc":"2.0","id":0}`},
		{"a null error", `{"jsonrpc":"2.0","id":0,"error":null}`},
		{"something else", `{"id":0,"outcome":{"outcome":"selected"}}`},
		{"a null result", `{"jsonrpc":"2.0","id":0,"result":null}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, echo, Options{})
			type answer struct {
				result json.RawMessage
				err    error
			}
			answers := make(chan answer, 1)
			go func() {
				r, err := p.conn.Call(t.Context(), "fs/x", nil)
				answers <- answer{r, err}
			}()
			p.expect(`{"jsonrpc":"2.0","id":0,"method":"fs/x"}`)
			p.send(tt.answer)
			if a := <-answers; a.err != nil || (len(a.result) != 0 && string(a.result) != "null") {
				t.Errorf("%s, %v", a.result, a.err)
			}
			p.send(`{"jsonrpc":"2.0","id":0,"method":"echo","params":{"a":1}}`)
			p.expect(`{"jsonrpc":"2.0","id":0,"result":{"a":1}}`)
			// With nothing of ours open under the id it is what it was: no message.
			p.send(`{"jsonrpc":"2.0","id":0}`)
			p.expect(`{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"Invalid request: a message needs a method, a result or an error"}}`)
			// A member of the wrong type makes no answer.
			p.send(`{"jsonrpc":"2.0","id":0,"method":5}`)
			p.expect(`{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"Invalid request: method must be a string"}}`)
		})
	}
}
