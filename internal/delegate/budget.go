package delegate

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errTimeout is why a subagent is ended that takes too long.
var errTimeout = errors.New("the subagent took too long")

// budget is the time of one subagent. It stands still while somebody is asked.
type budget struct {
	mu      sync.Mutex
	left    time.Duration
	since   time.Time // when the clock was started last
	asking  int
	timer   *time.Timer
	stopped bool
}

// withBudget ends the context it returns with errTimeout when d has been spent;
// d <= 0 means no bound.
func withBudget(ctx context.Context, d time.Duration) (context.Context, *budget, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if d <= 0 {
		return ctx, nil, cancel
	}
	b := &budget{left: d, since: time.Now()}
	b.timer = time.AfterFunc(d, func() { cancel(errTimeout) })
	return ctx, b, func(cause error) {
		b.mu.Lock()
		b.stopped = true
		b.timer.Stop()
		b.mu.Unlock()
		cancel(cause)
	}
}

// pause stops the clock; the result starts it again.
func (b *budget) pause() (resume func()) {
	if b == nil {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asking++; b.asking == 1 && b.timer.Stop() {
		b.left -= time.Since(b.since)
	}
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.asking--; b.asking == 0 && !b.stopped {
			b.since = time.Now()
			b.timer.Reset(max(b.left, 0))
		}
	})
}
