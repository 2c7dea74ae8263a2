package registry

import (
	"errors"
	"sort"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Verdict is what a guard says: nothing, or no. A guard cannot allow, so no
// order of listeners can turn its denial around (rule R5.16). The zero value
// says nothing.
type Verdict struct {
	reason string
	veto   bool
}

// Pass says nothing about the call (rule R5.16).
func Pass() Verdict { return Verdict{} }

// Veto denies the call. An empty reason denies as well (rule R5.15).
func Veto(reason string) Verdict { return Verdict{reason: reason, veto: true} }

// Vetoed reports whether the call is denied, and why (rule R5.16).
func (v Verdict) Vetoed() (reason string, ok bool) { return v.reason, v.veto }

// GuardFunc is final policy before dispatch. It must not block. An error fails
// the call as a panic does (rules R5.16, R5.17).
type GuardFunc func(exec *Execution) (Verdict, error)

type guardEntry struct {
	seq uint64
	f   GuardFunc
}

// Guard adds a guard for the calls that s sees. It is not announced as a change
// (rules R1.7, R5.16).
func (s *Scope) Guard(f GuardFunc) (dispose func(), err error) {
	e := &guardEntry{f: f}
	return s.attach(registration{
		insert: func(l *layer) error {
			s.core.reg.guardSeq++
			e.seq = s.core.reg.guardSeq
			l.guards = append(l.guards, e)
			return nil
		},
		remove: func(l *layer) { l.guards = without(l.guards, e) },
	})
}

// without copies, so that a reader's slice stays as it was.
func without[T comparable](list []T, x T) []T {
	out := make([]T, 0, len(list))
	for _, e := range list {
		if e != x {
			out = append(out, e)
		}
	}
	return out
}

// RunGuards asks the guards that a call of s meets: the global layer first,
// then the chain from the farthest ancestor down, each in order of
// registration; the first denial or error ends it. A guard added meanwhile to a
// layer still being asked is asked too (rules R5.16, R5.17).
func (s *Scope) RunGuards(exec *Execution) (Verdict, error) {
	var buf [8]*core
	chain := buf[:0]
	r := s.core.reg
	r.mu.RLock()
	for c := s.core; c != nil; c = c.parent {
		chain = append(chain, c)
	}
	r.mu.RUnlock()
	for i := len(chain) - 1; i >= 0; i-- {
		var last uint64
		for {
			e := chain[i].guardAfter(last)
			if e == nil {
				break
			}
			last = e.seq
			v, err := runGuard(e.f, exec)
			if err != nil || v.veto {
				return v, err
			}
		}
	}
	return Verdict{}, nil
}

func (c *core) guardAfter(seq uint64) *guardEntry {
	c.reg.mu.RLock()
	defer c.reg.mu.RUnlock()
	if c.layer == nil {
		return nil
	}
	gs := c.layer.guards
	i := sort.Search(len(gs), func(i int) bool { return gs[i].seq > seq })
	if i == len(gs) {
		return nil
	}
	return gs[i]
}

func runGuard(f GuardFunc, exec *Execution) (v Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = Verdict{}, errorf(CodePanic, "a guard of tool %q panicked: %v", exec.name, p)
		}
	}()
	return f(exec)
}

// VerdictFromValue reads the answer of a guard outside the process: absent
// passes, a string denies, anything else is an error (rule R5.17).
func VerdictFromValue(v jsonvalue.Value) (Verdict, error) {
	if v.IsUndefined() {
		return Verdict{}, nil
	}
	if reason, ok := v.Str(); ok {
		return Veto(reason), nil
	}
	return Verdict{}, errors.New("tools.guard() must return a denial string or undefined, got " + jsType(v))
}

// jsType is what typeof gives for the value in JavaScript.
func jsType(v jsonvalue.Value) string {
	switch v.Kind() {
	case jsonvalue.BoolKind:
		return "boolean"
	case jsonvalue.NumberKind:
		return "number"
	case jsonvalue.StringKind:
		return "string"
	case jsonvalue.Undefined:
		return "undefined"
	}
	return "object"
}
