package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// Request is a request or a notification of the peer.
type Request struct {
	// Method is its name.
	Method string
	// Params are its parameters as sent: an object or an array, nil when absent
	// or null.
	Params json.RawMessage
	// Notif says that it is a notification, which nobody answers.
	Notif bool

	c       *Conn
	id      json.RawMessage
	number  uint64
	ctx     context.Context
	cancel  context.CancelCauseFunc
	byPeer  atomic.Bool
	replied atomic.Bool
	frame   outFrame // the finished answer, on its way through the library
}

// ErrReplied is what a second reply to a request gives.
var ErrReplied = errors.New("wire: the request has been replied to")

// ErrCancelledByPeer is the cause of a request's context after the peer sent
// $/cancel_request for it.
var ErrCancelledByPeer = errors.New("wire: the peer cancelled the request")

// newRequest registers an incoming message, before the handler sees it.
func (c *Conn) newRequest(env envelope) *Request {
	r := &Request{
		Method: env.method, Params: env.params, Notif: env.kind == kindNotification,
		c: c, id: env.id, ctx: c.ctx,
	}
	if r.Notif {
		return r
	}
	r.ctx, r.cancel = context.WithCancelCause(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	r.number = c.nextNum
	c.nextNum++
	c.requests[r.number] = r
	return r
}

// cancelIncoming serves $/cancel_request. An id that is not being served is
// normal: the answer may have crossed the cancellation.
func (c *Conn) cancelIncoming(params json.RawMessage) {
	cancel, fault := protocol.DecodeCancelRequest(params)
	if fault != nil {
		c.log.Debug("cancellation ignored", "fault", fault.Message)
		return
	}
	key := idKey(cancel.RequestID)
	c.mu.Lock()
	var found []*Request
	for _, r := range c.requests {
		if idKey(r.id) == key {
			found = append(found, r)
		}
	}
	c.mu.Unlock()
	for _, r := range found {
		r.byPeer.Store(true)
		r.cancel(ErrCancelledByPeer)
	}
}

// ID is the request's id as the peer wrote it, for logs; "" for a notification.
func (r *Request) ID() string { return string(r.id) }

// Context is the context the handler was given.
func (r *Request) Context() context.Context { return r.ctx }

// CancelledByPeer reports whether the peer sent $/cancel_request for this
// request. It still has to be replied to.
func (r *Request) CancelledByPeer() bool { return r.byPeer.Load() }

// Reply sends the result, once, from any goroutine; nil, and whatever else would
// be null, is sent as {}, because no result of ACP is null. To a notification it does nothing. It waits for
// room when a peer that does not read has let even the reserve for replies fill.
func (r *Request) Reply(result any) error {
	return r.reply("result", result, nil)
}

// ReplyError sends an error in place of a result; nil counts as an internal
// error.
func (r *Request) ReplyError(fault *protocol.Error) error {
	if fault == nil {
		fault = protocol.InternalError("")
	}
	return r.reply("error", fault, fault)
}

func (r *Request) reply(member string, payload any, fault *protocol.Error) error {
	if r.Notif {
		return nil
	}
	if r.replied.Swap(true) {
		return ErrReplied
	}
	defer r.cancel(nil)
	line, encodeErr := replyFrame(r.id, member, payload)
	if encodeErr != nil {
		r.c.log.Error("answer has no JSON form", "method", r.Method, "error", encodeErr)
		fault = protocol.InternalError("the answer could not be encoded")
		line, _ = replyFrame(r.id, "error", fault)
	}
	err := r.c.q.admit(context.Background(), len(line), classReply)
	if err != nil {
		r.c.forget(r)
		return err
	}
	f := outFrame{line: line, room: len(line)}
	r.c.mu.Lock()
	r.frame = f
	r.c.mu.Unlock()
	resp := &jsonrpc2.Response{ID: jsonrpc2.ID{Num: r.number}}
	if fault != nil {
		resp.Error = &jsonrpc2.Error{Code: int64(fault.Code), Message: fault.Message}
	}
	err = r.c.sent(f, r.c.jc.SendResponse(context.Background(), resp))
	r.c.forget(r)
	if err == nil && encodeErr != nil {
		return fmt.Errorf("wire: result of %s: %w", r.Method, encodeErr)
	}
	return err
}

func (c *Conn) forget(r *Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.requests, r.number)
}

// replyFrameOf gives the finished answer to a request by its number.
func (c *Conn) replyFrameOf(number uint64) outFrame {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.requests[number]; r != nil {
		return r.frame
	}
	return outFrame{}
}

// endRequests lets go of requests that nobody replied to.
func (c *Conn) endRequests() {
	c.mu.Lock()
	left := c.requests
	c.requests = map[uint64]*Request{}
	c.mu.Unlock()
	for _, r := range left {
		c.log.Debug("request was never replied to", "method", r.Method, "id", r.ID())
		r.cancel(ErrClosed)
	}
}

// panicked answers a request whose handler panicked. The stack goes to the log,
// the peer learns only the number it is found under there.
func (r *Request) panicked(value any, stack []byte) {
	n := r.c.incidents.Add(1)
	r.c.log.Error("handler panicked", "incident", n, "method", r.Method, "id", r.ID(),
		"panic", fmt.Sprint(value), "stack", string(stack))
	fault := protocol.InternalError("").WithDetails(
		fmt.Sprintf("the agent failed while it served %s; its log tells more under incident %d", r.Method, n))
	if err := r.ReplyError(fault); err != nil && !errors.Is(err, ErrReplied) {
		r.c.log.Debug("panic not reported to the client", "error", err)
	}
}
