package fs

import (
	"context"
	"sync"
)

// fileLocks serialises changes of one file, whichever agent or tool set of
// this process makes them. The key is the real path.
var fileLocks = lockTable{entries: make(map[string]*lockEntry)}

type lockTable struct {
	mu      sync.Mutex
	entries map[string]*lockEntry
}

type lockEntry struct {
	token chan struct{} // holds one element while the lock is taken
	users int           // those who hold it or wait; under the table's mutex
}

// lock waits for the file's lock or the end of ctx.
func (t *lockTable) lock(ctx context.Context, real string) (unlock func(), err error) {
	t.mu.Lock()
	e := t.entries[real]
	if e == nil {
		e = &lockEntry{token: make(chan struct{}, 1)}
		t.entries[real] = e
	}
	e.users++
	t.mu.Unlock()

	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if e.users--; e.users == 0 {
			delete(t.entries, real)
		}
	}
	select {
	case e.token <- struct{}{}:
		return func() { <-e.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
