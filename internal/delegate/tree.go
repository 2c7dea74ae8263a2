package delegate

import (
	"context"
	"sync"
)

// tree is a session with its subagents, and theirs. It bounds how many of them
// work at a time. One that waits for a subagent of its own does not count, so
// that waiting for each other cannot stop them all.
type tree struct {
	limits Limits

	mu      sync.Mutex
	running int
	waiting map[string]int // by session: calls that wait for a subagent
	freed   chan struct{}  // closed when running becomes less
}

func newTree(l Limits) *tree {
	if l.MaxRunning <= 0 {
		l.MaxRunning = 1
	}
	return &tree{limits: l, waiting: map[string]int{}, freed: make(chan struct{})}
}

// enter waits until another subagent may work. who calls it, and is itself one
// when nested. The error is that of ctx.
func (t *tree) enter(ctx context.Context, who string, nested bool) (leave func(), err error) {
	t.mu.Lock()
	if nested {
		if t.waiting[who]++; t.waiting[who] == 1 {
			t.free()
		}
	}
	for t.running >= t.limits.MaxRunning {
		freed := t.freed
		t.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			t.mu.Lock()
			t.resume(who, nested)
			t.mu.Unlock()
			return nil, ctx.Err()
		}
		t.mu.Lock()
	}
	t.running++
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.free()
		t.resume(who, nested)
	}, nil
}

// free gives a place back. The caller holds t.mu.
func (t *tree) free() {
	t.running--
	close(t.freed)
	t.freed = make(chan struct{})
}

// resume takes the place of one that waits no more. It is not kept waiting for
// it: for a moment more than the limit may work. The caller holds t.mu.
func (t *tree) resume(who string, nested bool) {
	if !nested {
		return
	}
	if t.waiting[who]--; t.waiting[who] == 0 {
		delete(t.waiting, who)
		t.running++
	}
}
