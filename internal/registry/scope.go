package registry

import (
	"sync/atomic"
)

// Scope is a handle on one layer of a [Registry] (rules R1.1 to R1.3). What is
// registered through a child is seen by the child and its own children only,
// and hides what has the same name above. Handles may be copied and used from
// many goroutines.
type Scope struct {
	core  *core
	owner *Owner // besides the layer's own life; may be nil
}

// core is the identity of a scope; its layer exists only while something is
// registered in it (rule R1.1).
type core struct {
	reg    *Registry
	parent *core // nil for the global one; never changes, so chains cannot be cyclic (rule R1.3)
	label  string
	life   *Owner
	handle *Scope

	layer   *layer // guarded by reg.mu, as are version and closed
	version uint64 // counts changes that views depend on
	closed  bool
	view    atomic.Pointer[view]
}

// layer is what a scope has of its own.
type layer struct {
	tools        ordered[*Tool]
	restrictions []*restriction
	guards       []*guardEntry
	mode         *modeEntry
	sections     ordered[Section]
	variables    ordered[VariableFunc]
}

func (l *layer) empty() bool {
	return l.tools.len() == 0 && len(l.restrictions) == 0 && len(l.guards) == 0 && l.mode == nil &&
		l.sections.len() == 0 && l.variables.len() == 0
}

// Child returns a new scope below s. The label is for messages; identity is the
// scope itself (rules R1.2, R1.3). Close it when its agent ends.
func (s *Scope) Child(label string) *Scope {
	c := &core{reg: s.core.reg, parent: s.core, label: label, life: NewOwner(label)}
	c.handle = &Scope{core: c}
	// A child ends with its parent. The global scope lives as long as the
	// registry and so need not remember its children.
	if s.core.parent != nil {
		remove, ok := s.core.life.add(c.close)
		if !ok {
			c.close()
		} else {
			c.life.add(remove)
		}
	}
	return c.handle
}

// OwnedBy is the same scope with an owner: what is registered through the
// returned handle ends with the scope or with o, whichever is first (rule R1.6).
func (s *Scope) OwnedBy(o *Owner) *Scope { return &Scope{core: s.core, owner: o} }

// Close ends everything registered in the scope and in its children. From then
// on nothing is visible through them, not even what they inherited: their
// restrictions and guards are gone, and a call still on its way must not profit.
// Writes fail with [CodeClosed]. Closing again has no effect (rules R1.6, R3.6).
func (s *Scope) Close() { s.core.close() }

func (c *core) close() {
	c.reg.mu.Lock()
	c.closed = true
	c.version++
	c.reg.mu.Unlock()
	c.life.Dispose()
}

// ended reports whether the scope or one above it was closed. The caller holds reg.mu.
func (c *core) ended() bool {
	for k := c; k != nil; k = k.parent {
		if k.closed {
			return true
		}
	}
	return false
}

// Label is the name that the scope was given (rule R1.2).
func (s *Scope) Label() string { return s.core.label }

// Registry is the registry that the scope belongs to (rule R1.1).
func (s *Scope) Registry() *Registry { return s.core.reg }

// IsGlobal reports whether s is the handle of the global layer (rule R1.1).
func (s *Scope) IsGlobal() bool { return s.core.parent == nil }

// Sees reports whether s is other or below it: whether events of s reach
// listeners of other (rule R1.3).
func (s *Scope) Sees(other *Scope) bool {
	for c := s.core; c != nil; c = c.parent {
		if c == other.core {
			return true
		}
	}
	return false
}

// writable returns the layer, made if need be. The caller holds reg.mu.
func (c *core) writable() *layer {
	if c.layer == nil {
		c.layer = &layer{}
	}
	return c.layer
}

// change carries one registration through its life: insert under the lock,
// announce, and later remove exactly what was inserted (rule R1.6).
type registration struct {
	insert func(l *layer) error // fails before it mutates
	remove func(l *layer)
	change *Change // nil when nobody is told, as for guards (rule R1.7)
	lifted ChangeKind
}

func (s *Scope) attach(g registration) (dispose func(), err error) {
	c, r := s.core, s.core.reg
	if c.life.isClosed() {
		return nil, errorf(CodeClosed, "scope %q has ended: nothing can be registered in it any more", c.label)
	}
	if s.owner != nil && s.owner.isClosed() {
		return nil, errorf(CodeClosed, "%q has ended: nothing can be registered for it any more", s.owner.name)
	}
	r.mu.Lock()
	err = g.insert(c.writable())
	if err == nil {
		c.version++
	}
	c.trim()
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	take := func() {
		r.mu.Lock()
		if c.layer != nil {
			g.remove(c.layer)
			c.version++
			c.trim()
		}
		r.mu.Unlock()
	}
	if g.change != nil {
		if err := r.announce(*g.change); err != nil {
			take()
			r.announceContained(Change{Kind: g.lifted, Scope: s, Name: g.change.Name})
			return nil, err
		}
	}
	return s.keep(func() {
		take()
		if g.change != nil {
			r.announceContained(Change{Kind: g.lifted, Scope: s, Name: g.change.Name})
		}
	})
}

// trim discards an empty layer (rule R1.1). The caller holds reg.mu.
func (c *core) trim() {
	if c.layer != nil && c.layer.empty() {
		c.layer = nil
	}
}

// keep makes undo idempotent and ties it to the scope and its owner.
func (s *Scope) keep(undo func()) (dispose func(), err error) {
	d := &disposal{undo: undo}
	for i, o := range [2]*Owner{s.core.life, s.owner} {
		if o == nil {
			continue
		}
		remove, ok := o.add(d.dispose)
		if !ok {
			d.dispose()
			return nil, errorf(CodeClosed, "%q ended while something was being registered in it", o.name)
		}
		d.forget[i].Store(&remove)
	}
	return d.dispose, nil
}

type disposal struct {
	done   atomic.Bool
	undo   func()
	forget [2]atomic.Pointer[func()]
}

func (d *disposal) dispose() {
	if !d.done.CompareAndSwap(false, true) {
		return
	}
	for i := range d.forget {
		if f := d.forget[i].Load(); f != nil {
			(*f)()
		}
	}
	d.undo()
}
