package registry

import (
	"slices"
	"sync"
)

// view is what one scope sees, computed once and kept until a layer of its
// chain changes (rule R4.8).
type view struct {
	stamp     uint64
	mode      Mode
	modal     bool // code mode sections exist, perhaps empty
	tools     []*Tool
	transport *Tool     // nil in native mode and without a runtime
	runtime   Transport // goes with transport
	known     []string
	schemas   []ToolSchema // tools, then the transport

	wireOnce sync.Once
	wire     []ToolSchema // in the order of the prompt
	wireErr  error
	sdkOnce  sync.Once
	sdk      string
	sdkErr   error
}

// stamp changes whenever something changes that the view depends on: it is a
// sum of counters that only grow. The caller holds reg.mu.
func (c *core) stamp() uint64 {
	sum := c.reg.version
	for k := c; k != nil; k = k.parent {
		sum += k.version
	}
	return sum
}

func (c *core) currentView() *view {
	c.reg.mu.RLock()
	defer c.reg.mu.RUnlock()
	// A scope without a layer sees exactly what its parent sees.
	for c.parent != nil && c.layer == nil && !c.closed {
		c = c.parent
	}
	stamp := c.stamp()
	if v := c.view.Load(); v != nil && v.stamp == stamp {
		return v
	}
	v := &view{stamp: stamp, mode: c.effectiveMode()}
	if !c.ended() {
		v.tools, v.known = c.visible(), c.knownNames()
	}
	v.modal = v.mode != ModeNative || c.reg.mode != ModeNative || c.hasMode()
	if v.mode != ModeNative {
		e := c.reg.transport()
		v.transport, v.runtime = e.tool, e.runtime
	}
	v.schemas = make([]ToolSchema, 0, len(v.tools)+1)
	for _, t := range v.tools {
		v.schemas = append(v.schemas, t.Schema())
	}
	if v.transport != nil {
		v.schemas = append(v.schemas, v.transport.Schema())
	}
	c.view.Store(v)
	return v
}

// visible is the merged list of tools: what is inherited, filtered by the
// restrictions here, with own tools in the place of what they hide and the
// others at the end (rules R1.5, R3.4). The caller holds reg.mu.
func (c *core) visible() []*Tool {
	if c.parent == nil {
		return c.own(nil)
	}
	inherited := c.parent.visible()
	if c.layer == nil || (c.layer.tools.len() == 0 && len(c.layer.restrictions) == 0) {
		return inherited
	}
	out := make([]*Tool, 0, len(inherited)+c.layer.tools.len())
	for _, t := range inherited {
		if c.layer.admits(t.def.Name) {
			out = append(out, t)
		}
	}
	return c.own(out)
}

func (l *layer) admits(name string) bool {
	for _, f := range l.restrictions {
		if !f.admits(name) {
			return false
		}
	}
	return true
}

func (c *core) own(inherited []*Tool) []*Tool {
	if c.layer == nil || c.layer.tools.len() == 0 {
		return inherited
	}
	var hides map[string]bool
	for i, t := range inherited {
		if own, ok := c.layer.tools.get(t.def.Name); ok {
			inherited[i] = own
			if hides == nil {
				hides = make(map[string]bool)
			}
			hides[t.def.Name] = true
		}
	}
	if inherited == nil {
		inherited = make([]*Tool, 0, c.layer.tools.len())
	}
	for name, t := range c.layer.tools.all() {
		if !hides[name] {
			inherited = append(inherited, t)
		}
	}
	return inherited
}

// knownNames are the names before restriction, in order. The caller holds reg.mu.
func (c *core) knownNames() []string {
	var names []string
	var seen map[string]bool
	if c.parent != nil {
		names = c.parent.knownNames()
	}
	if c.layer == nil || c.layer.tools.len() == 0 {
		return names
	}
	if len(names) > 0 {
		seen = make(map[string]bool)
		for _, n := range names {
			seen[n] = true
		}
	}
	for name := range c.layer.tools.all() {
		if !seen[name] {
			names = append(names, name)
		}
	}
	return names
}

// registered reports whether the chain has a tool of that name, restricted away
// or not. The caller holds reg.mu.
func (c *core) registered(name string) bool {
	for k := c; k != nil; k = k.parent {
		if k.layer != nil {
			if _, ok := k.layer.tools.get(name); ok {
				return true
			}
		}
	}
	return false
}

// resolve finds what a name means to the scope, in time that does not depend on
// how many tools there are. The caller holds reg.mu.
func (c *core) resolve(name string) *Tool {
	if c.ended() {
		return nil
	}
	if name == RunCode {
		m := c.effectiveMode()
		if m == ModeNative {
			return nil
		}
		if e := c.reg.transport(); e.tool != nil {
			return e.tool
		}
		return missingTransport(m)
	}
	for k := c; k != nil; k = k.parent {
		if k.layer == nil {
			continue
		}
		if t, ok := k.layer.tools.get(name); ok {
			return t
		}
		if !k.layer.admits(name) {
			return nil
		}
	}
	return nil
}

// Get is what a name means to s after shadowing and restriction; a tool that is
// restricted away is as absent as an unknown one. run_code is there in the
// modes that have it (rules R3.1, R3.6).
func (s *Scope) Get(name string) (*Tool, bool) {
	s.core.reg.mu.RLock()
	t := s.core.resolve(name)
	s.core.reg.mu.RUnlock()
	return t, t != nil
}

// Resolve is [Scope.Get] for a call: besides the tool it gives the mode in
// effect at the same moment, which decides whether the call may be direct
// (rule R5.5). A nested call never reaches run_code.
func (s *Scope) Resolve(name string, nested bool) (t *Tool, mode Mode) {
	r := s.core.reg
	r.mu.RLock()
	defer r.mu.RUnlock()
	mode = s.core.effectiveMode()
	if nested && name == RunCode {
		return nil, mode
	}
	return s.core.resolve(name), mode
}

// Visible lists the tools that s can call, in order, with run_code last in the
// modes that have it (rule R3.1, decision 16).
func (s *Scope) Visible() []*Tool {
	v := s.core.currentView()
	out := make([]*Tool, len(v.tools), len(v.tools)+1)
	copy(out, v.tools)
	if v.transport != nil {
		out = append(out, v.transport)
	}
	return out
}

// KnownNames lists the names of all tools that s inherits or has, before
// restriction, in order; run_code is not among them (decision 16).
func (s *Scope) KnownNames() []string { return slices.Clone(s.core.currentView().known) }

// Schemas lists what the model may be told, in the order of registration with
// run_code last: names, descriptions and parameters, nothing else (rule R3.1).
// Nothing is recomputed while nothing changes.
func (s *Scope) Schemas() []ToolSchema { return slices.Clone(s.core.currentView().schemas) }
