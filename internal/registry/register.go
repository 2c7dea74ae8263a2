package registry

import "time"

// Register adds a tool to the layer of s. The definition is copied: changing it
// afterwards changes nothing. A tool of the same name above is hidden and keeps
// its place in the order. Errors are *[Error] or an unsupported output schema;
// they come before anything is changed (rules R1.5, R1.6, R2.1 to R2.7).
func (s *Scope) Register(def Definition) (dispose func(), err error) {
	t, err := newTool(def, s.core.reg)
	if err != nil {
		return nil, err
	}
	if def.Name == RunCode {
		return nil, errorf(CodeReservedName, "tool name %q is reserved for the Code Mode presentation transport and cannot be registered or shadowed", RunCode)
	}
	t.scope = s.core.label
	var n *node[*Tool]
	return s.attach(registration{
		insert: func(l *layer) error {
			if _, taken := l.tools.get(t.def.Name); taken {
				return s.core.duplicate(t.def.Name)
			}
			n = l.tools.insert(t.def.Name, t)
			return nil
		},
		remove: func(l *layer) { l.tools.remove(n) },
		change: &Change{Kind: ToolRegistered, Scope: s, Name: t.def.Name},
		lifted: ToolUnregistered,
	})
}

func (c *core) duplicate(name string) error {
	if c.parent == nil {
		return errorf(CodeDuplicate, "tool %s is already registered (for a per-agent variant, register through that agent's `agent.ctx` instead)", quote(name))
	}
	return errorf(CodeDuplicate, "tool %s is already registered in this scope", quote(name))
}

// TimeoutFromMilliseconds reads the time budget of a tool that is declared
// outside the process. Absent means none; anything but a positive finite number
// is refused (rule R2.3).
func TimeoutFromMilliseconds(tool string, ms float64) (time.Duration, error) {
	if !(ms > 0) || ms > maxFloat {
		return 0, errorf(CodeInvalidTool, "tool %s timeoutMs must be a positive finite number", quote(tool))
	}
	const longest = float64(1<<63-1) / float64(time.Millisecond)
	if ms >= longest {
		return 1<<63 - 1, nil
	}
	return max(time.Duration(ms*float64(time.Millisecond)), 1), nil
}

const maxFloat = 1.7976931348623157e308
