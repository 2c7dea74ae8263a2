package wire

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// Go serves a request on a goroutine of its own, which Conn.Wait waits for. What
// f returns is the reply: the result, or an error that goes out as it is when it
// is (or wraps) a [*protocol.Error], as a cancellation when the request's
// context has ended, and as an internal error otherwise, whose text goes to the
// log only. A panic of f is contained and answered. If f has replied by itself,
// what it returns is dropped.
func Go(req *Request, f func(ctx context.Context) (any, error)) {
	c := req.c
	c.mu.Lock()
	c.running++
	c.mu.Unlock()
	go func() {
		defer c.goDone()
		defer func() {
			if r := recover(); r != nil {
				req.panicked(r, debug.Stack())
			}
		}()
		result, err := f(req.ctx)
		if req.replied.Load() {
			return
		}
		if err != nil {
			err = req.ReplyError(req.faultOf(err))
		} else {
			err = req.Reply(result)
		}
		if err != nil && !errors.Is(err, ErrReplied) {
			c.log.Debug("answer not sent", "method", req.Method, "id", req.ID(), "error", err)
		}
	}()
}

func (c *Conn) goDone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// faultOf says what the peer is told about err.
func (r *Request) faultOf(err error) *protocol.Error {
	var fault *protocol.Error
	switch {
	case errors.As(err, &fault) && fault != nil:
		return fault
	case r.CancelledByPeer():
		return protocol.Cancelled("the client asked for it")
	case r.ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(r.ctx))):
		return protocol.Cancelled("the connection is ending")
	}
	r.c.log.Error("request failed", "method", r.Method, "id", r.ID(), "error", err)
	return protocol.InternalError("").WithDetails("the agent failed while it served " + r.Method + "; its log tells more")
}
