package registry

import (
	"slices"
	"sync"
)

// Listeners is an ordered set of listeners of one event, each bound to a scope.
// A listener of the global scope sees every call; one of an agent's scope sees
// the calls of that agent and of those below it (rules R1.3, R1.4). The zero
// value is an empty set.
type Listeners[T any] struct {
	mu      sync.RWMutex
	seq     int64
	front   int64
	entries map[*core][]listener[T]
	merged  map[*core][]T // cache per scope with listeners on its chain
}

type listener[T any] struct {
	seq int64
	f   T
}

// ListenerOption changes how a listener is added (rule R5.8).
type ListenerOption func(*listenerOptions)

type listenerOptions struct{ prepend bool }

// Prepend puts the listener before all that are already there (rule R5.8).
func Prepend() ListenerOption { return func(o *listenerOptions) { o.prepend = true } }

// Add appends f, to be called for calls that s sees. It ends when dispose is
// called, or with the scope, or with the owner of the handle (rule R1.6).
func (ls *Listeners[T]) Add(s *Scope, f T, opts ...ListenerOption) (dispose func(), err error) {
	var o listenerOptions
	for _, opt := range opts {
		opt(&o)
	}
	c := s.core
	ls.mu.Lock()
	var seq int64
	if o.prepend {
		ls.front--
		seq = ls.front
	} else {
		ls.seq++
		seq = ls.seq
	}
	if ls.entries == nil {
		ls.entries = make(map[*core][]listener[T])
	}
	e := listener[T]{seq, f}
	if o.prepend {
		ls.entries[c] = slices.Insert(ls.entries[c], 0, e)
	} else {
		ls.entries[c] = append(ls.entries[c], e)
	}
	ls.merged = nil
	ls.mu.Unlock()
	return s.keep(func() { ls.remove(c, seq) })
}

func (ls *Listeners[T]) remove(c *core, seq int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	left := slices.DeleteFunc(ls.entries[c], func(e listener[T]) bool { return e.seq == seq })
	if len(left) == 0 {
		delete(ls.entries, c)
	} else {
		ls.entries[c] = left
	}
	ls.merged = nil
}

// For returns the listeners that an event of s reaches, in the order in which
// they were registered, whatever their scopes (rule R5.8). The slice is shared
// and must not be changed.
func (ls *Listeners[T]) For(s *Scope) []T {
	ls.mu.RLock()
	if len(ls.entries) == 0 {
		ls.mu.RUnlock()
		return nil
	}
	// The nearest scope of the chain that has listeners stands for s.
	c := s.core
	for c.parent != nil && len(ls.entries[c]) == 0 {
		c = c.parent
	}
	fs, ok := ls.merged[c]
	ls.mu.RUnlock()
	if ok {
		return fs
	}
	return ls.merge(c)
}

func (ls *Listeners[T]) merge(c *core) []T {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var all []listener[T]
	for k := c; k != nil; k = k.parent {
		all = append(all, ls.entries[k]...)
	}
	slices.SortFunc(all, func(a, b listener[T]) int {
		switch {
		case a.seq < b.seq:
			return -1
		case a.seq > b.seq:
			return 1
		}
		return 0
	})
	fs := make([]T, len(all))
	for i, e := range all {
		fs[i] = e.f
	}
	if ls.merged == nil {
		ls.merged = make(map[*core][]T)
	}
	ls.merged[c] = fs
	return fs
}
