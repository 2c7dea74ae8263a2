package pipeline

import (
	"context"
	"errors"
)

// fuse joins the caller's context with the one a wrapper handed on: the values
// of the wrapper's, cancelled by whichever ends first, with its cause.
// So a wrapper can tighten a call's life and never loosen it (rule R5.19).
func fuse(caller, wrapped context.Context) (ctx context.Context, release func()) {
	if wrapped == nil || wrapped == caller {
		return caller, func() {}
	}
	ctx, cancel := context.WithCancelCause(wrapped)
	if caller.Err() != nil {
		cancel(context.Cause(caller))
		return ctx, func() {}
	}
	stop := context.AfterFunc(caller, func() { cancel(context.Cause(caller)) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// isCancellation reports whether err is no more than the news that ctx ended. A
// coded error is the tool's own, whatever it wraps (rule R5.27).
func isCancellation(ctx context.Context, err error) bool {
	var coded CodedError
	if errors.As(err, &coded) {
		return false
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Cause(ctx))
}
