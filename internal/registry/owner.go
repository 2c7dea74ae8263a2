package registry

import (
	"slices"
	"sync"
)

// Owner collects registrations that end together: those of a plugin, of an MCP
// server, of an agent (rule R1.6). The zero value is not ready; use [NewOwner].
type Owner struct {
	name   string
	mu     sync.Mutex
	closed bool
	next   uint64
	items  map[uint64]func()
}

// NewOwner returns an owner without registrations. The name is for messages (rule R1.6).
func NewOwner(name string) *Owner { return &Owner{name: name} }

// Dispose ends everything registered for o, newest first, and refuses further
// registrations. It may be called again without effect (rule R1.6).
func (o *Owner) Dispose() {
	o.mu.Lock()
	o.closed = true
	items := o.items
	o.items = nil
	o.mu.Unlock()
	keys := make([]uint64, 0, len(items))
	for k := range items {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range slices.Backward(keys) {
		items[k]()
	}
}

// add keeps dispose until the owner ends or remove is called; it reports false
// when the owner has already ended.
func (o *Owner) add(dispose func()) (remove func(), ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, false
	}
	o.next++
	k := o.next
	if o.items == nil {
		o.items = make(map[uint64]func())
	}
	o.items[k] = dispose
	return func() {
		o.mu.Lock()
		delete(o.items, k)
		o.mu.Unlock()
	}, true
}

func (o *Owner) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}
