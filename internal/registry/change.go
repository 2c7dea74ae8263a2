package registry

// ChangeKind says what changed (rule R1.7).
type ChangeKind string

// The kinds of [Change] (rule R1.7). Guards, sections and listeners are not announced.
const (
	ToolRegistered    ChangeKind = "register"
	ToolUnregistered  ChangeKind = "unregister"
	RestrictionAdded  ChangeKind = "restrict"
	RestrictionLifted ChangeKind = "lift"
	ModeSet           ChangeKind = "present-as"
	ModeLifted        ChangeKind = "present-default"
	TransportSet      ChangeKind = "transport"
	TransportLifted   ChangeKind = "transport-lifted"
)

// Change tells a listener what changed and where. Name is the tool's name, ""
// when the change is not about one tool (rule R1.7).
type Change struct {
	Kind  ChangeKind
	Scope *Scope
	Name  string
}

// OnChange calls f after every change, whatever the scope, synchronously and
// without a lock held. An error or a panic while something is being added takes
// the addition back and fails it; while something ends it is only logged
// (rules R1.6, R1.7).
func (r *Registry) OnChange(f func(Change) error) (dispose func()) {
	dispose, _ = r.changes.Add(r.Global(), f) // the global scope is never closed by us
	if dispose == nil {
		return func() {}
	}
	return dispose
}

func (r *Registry) announce(c Change) error {
	for _, f := range r.changes.For(r.Global()) {
		if err := contained("a tools/change listener", func() error { return f(c) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) announceContained(c Change) {
	for _, f := range r.changes.For(r.Global()) {
		if err := contained("a tools/change listener", func() error { return f(c) }); err != nil {
			r.log.Warn("tools/change listener failed", "change", string(c.Kind), "tool", c.Name, "err", err)
		}
	}
}
