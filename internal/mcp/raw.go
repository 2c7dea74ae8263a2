package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// answer takes the bytes of a server's answer as they came. The library decodes
// into Go types, which lose the order of keys, the literals of numbers and
// whatever it does not know, and refuses a whole list for one bad entry.
type answer struct {
	mu  sync.Mutex
	raw json.RawMessage
}

func (a *answer) set(raw json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.raw = raw
}

func (a *answer) get() json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.raw
}

type answerKey struct{}

// withAnswer lets the transport put the bytes of the answers to requests under
// the returned context into the answer; the last one counts.
func withAnswer(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

func answerOf(ctx context.Context) *answer {
	a, _ := ctx.Value(answerKey{}).(*answer)
	return a
}

// awaited are the requests whose answers somebody wants the bytes of.
type awaited struct {
	mu   sync.Mutex
	byID map[string]*answer
}

// sent remembers who asked.
func (w *awaited) sent(ctx context.Context, msg jsonrpc.Message) {
	req, ok := msg.(*jsonrpc.Request)
	if a := answerOf(ctx); ok && req.IsCall() && a != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.byID == nil {
			w.byID = map[string]*answer{}
		}
		w.byID[idText(req.ID)] = a
		context.AfterFunc(ctx, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.byID, idText(req.ID))
		})
	}
}

// received hands the bytes over.
func (w *awaited) received(msg jsonrpc.Message) {
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		return
	}
	w.mu.Lock()
	a := w.byID[idText(resp.ID)]
	delete(w.byID, idText(resp.ID))
	w.mu.Unlock()
	if a != nil && resp.Error == nil {
		a.set(resp.Result)
	}
}

// idText is the JSON text of a request's id.
func idText(id jsonrpc.ID) string {
	text, err := json.Marshal(id.Raw())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
