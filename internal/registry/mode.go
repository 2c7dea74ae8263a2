package registry

import (
	"fmt"
	"strings"
)

// Mode is how tools are presented to the model (rule R4.1).
type Mode string

// The presentation modes (rules R4.1, R4.2).
const (
	// ModeNative presents every visible tool as a function.
	ModeNative Mode = "native"
	// ModeCode presents run_code alone; programs reach the tools.
	ModeCode Mode = "code"
	// ModeBoth presents the tools and run_code.
	ModeBoth Mode = "both"
)

// ParseMode reads a mode from configuration; "" is native (rule R4.1).
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return ModeNative, nil
	case ModeNative, ModeCode, ModeBoth:
		return m, nil
	}
	return "", &Error{Code: CodeInvalidMode, Message: fmt.Sprintf(
		"invalid config:\n  - $.mode expected \"native\" | \"code\" | \"both\" but got %s (at mode)", quote(strings.ToValidUTF8(s, "\uFFFD")))}
}

type modeEntry struct{ mode Mode }

// PresentAs sets the presentation mode of the agents that s belongs to; the
// nearest scope of a chain wins. It fails on the global scope and on a second
// mode in one scope; disposing restores what is inherited (rule R4.1).
func (s *Scope) PresentAs(mode Mode) (dispose func(), err error) {
	if s.core.parent == nil {
		return nil, errorf(CodeInvalidMode, "tools.presentAs() requires a scoped context (agent.ctx): set the mode of the whole deployment in its configuration instead")
	}
	m, err := ParseMode(string(mode))
	if err != nil {
		return nil, err
	}
	e := &modeEntry{m}
	return s.attach(registration{
		insert: func(l *layer) error {
			if l.mode != nil {
				return errorf(CodeInvalidMode, "tools.presentAs() was already called in this scope with %q: dispose that before presenting as %q", l.mode.mode, m)
			}
			l.mode = e
			return nil
		},
		remove: func(l *layer) {
			if l.mode == e {
				l.mode = nil
			}
		},
		change: &Change{Kind: ModeSet, Scope: s},
		lifted: ModeLifted,
	})
}

// Mode is the presentation mode in effect for s (rule R4.1).
func (s *Scope) Mode() Mode {
	s.core.reg.mu.RLock()
	defer s.core.reg.mu.RUnlock()
	return s.core.effectiveMode()
}

func (c *core) effectiveMode() Mode {
	for k := c; k != nil; k = k.parent {
		if k.layer != nil && k.layer.mode != nil {
			return k.layer.mode.mode
		}
	}
	return c.reg.mode
}

// hasMode reports whether a scope of the chain chose a mode.
func (c *core) hasMode() bool {
	for k := c; k != nil; k = k.parent {
		if k.layer != nil && k.layer.mode != nil {
			return true
		}
	}
	return false
}
