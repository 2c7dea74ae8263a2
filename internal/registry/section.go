package registry

import "context"

// The places of the sections of a prompt, ascending (rule R4.5). Guidance of
// tools takes OrderGuidance to OrderGuidance+99.
const (
	OrderIdentity = -100
	OrderPersona  = 0
	OrderCodeOnly = 99
	OrderGuidance = 100
	OrderSDK      = 150
)

// The sections that belong to Code Mode (rule R4.5).
const (
	SectionCodeOnly = "tools:code-only"
	SectionSDK      = "tools:sdk"
)

// Section is a piece of the system prompt (rule R4.5).
type Section struct {
	// Name identifies the section; a scope's section hides one of the same name above.
	Name string
	// Order places it; sections of the same order keep the order of registration.
	Order int
	// Text is asked at each assembly. Empty text drops the section.
	Text func(ctx context.Context) (string, error)
	// Verbatim exempts the text from {{name}} interpolation. Set it for text
	// that others write: workspace files, descriptions, what a user typed (rule R4.6).
	Verbatim bool
}

// StaticText is the Text of a section that never changes (rule R4.8).
func StaticText(s string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return s, nil }
}

// VariableFunc gives the value of a {{name}} at each assembly (rule R4.6).
type VariableFunc func(ctx context.Context) (string, error)

// AddSection adds a section for the prompts of s and of the scopes below it.
// The sections of Code Mode cannot be added or hidden (rules R4.5, R4.7).
func (s *Scope) AddSection(sec Section) (dispose func(), err error) {
	if sec.Name == SectionSDK || sec.Name == SectionCodeOnly {
		return nil, errorf(CodeReservedName, "prompt section name %q is reserved for Code Mode and cannot be added or shadowed", sec.Name)
	}
	if sec.Name == "" || sec.Text == nil {
		return nil, errorf(CodeInvalidPrompt, "prompt section %q must have a name and a Text", sec.Name)
	}
	var n *node[Section]
	return s.attach(registration{
		insert: func(l *layer) error {
			if _, taken := l.sections.get(sec.Name); taken {
				return errorf(CodeDuplicate, "prompt section %q is already there in this scope: dispose of it first, or add yours in a scope below", sec.Name)
			}
			n = l.sections.insert(sec.Name, sec)
			return nil
		},
		remove: func(l *layer) { l.sections.remove(n) },
	})
}

// SetVariable gives {{name}} a value in the prompts of s and of the scopes
// below it. A name is letters, digits, '_', '-', '.' and ':' (rule R4.6).
func (s *Scope) SetVariable(name string, value VariableFunc) (dispose func(), err error) {
	if !validReference(name) || value == nil {
		return nil, errorf(CodeInvalidPrompt, "prompt variable %q must have a value and a name of letters, digits, '_', '-', '.' and ':'", name)
	}
	var n *node[VariableFunc]
	return s.attach(registration{
		insert: func(l *layer) error {
			if _, taken := l.variables.get(name); taken {
				return errorf(CodeDuplicate, "prompt variable %q is already set in this scope", name)
			}
			n = l.variables.insert(name, value)
			return nil
		},
		remove: func(l *layer) { l.variables.remove(n) },
	})
}

// allSections merges the sections of the chain, nearer ones in the place of
// what they hide. The caller holds reg.mu.
func (c *core) allSections() []Section {
	var out []Section
	if c.parent != nil {
		out = c.parent.allSections()
	}
	if c.layer == nil {
		return out
	}
	for name, sec := range c.layer.sections.all() {
		hidden := false
		for i := range out {
			if out[i].Name == name {
				out[i], hidden = sec, true
				break
			}
		}
		if !hidden {
			out = append(out, sec)
		}
	}
	return out
}

// variable finds the nearest value of a name. The caller holds reg.mu.
func (c *core) variable(name string) VariableFunc {
	for k := c; k != nil; k = k.parent {
		if k.layer != nil {
			if f, ok := k.layer.variables.get(name); ok {
				return f
			}
		}
	}
	return nil
}
