package registry

import (
	"context"
	"slices"
	"strings"
)

// RenderedSection is a section with its text for one prompt (rule R4.5).
type RenderedSection struct {
	Name     string
	Order    int
	Text     string
	Verbatim bool
}

// Draft is a prompt on its way through the assembly listeners (rule R4.7).
type Draft struct {
	Sections []RenderedSection
	Tools    []ToolSchema
}

// AssembleFunc is an assembly listener: it asks next for the draft and returns
// it, changed or not. Whatever it does, run_code and the tools:sdk section of a
// scope in Code Mode are put back afterwards (rule R4.7, decision 11).
type AssembleFunc func(ctx context.Context, next func(context.Context) (Draft, error)) (Draft, error)

// OnAssemble adds a listener to the assembly of the prompts that s sees (rule R4.7).
func (s *Scope) OnAssemble(f AssembleFunc, opts ...ListenerOption) (dispose func(), err error) {
	return s.core.reg.assembles.Add(s, f, opts...)
}

// Prompt is what a model request starts from (rule R4.5).
type Prompt struct {
	// System is the text: the sections in order, joined by blank lines.
	System string
	// Sections are the parts, those without text too.
	Sections []RenderedSection
	// Tools are the tools in the order in which the model gets them.
	Tools []ToolSchema
}

// codeOnly tells a model in code mode how to reach the tools (rule R4.5).
const codeOnly = "`run_code` is the only tool you can call directly: a direct call of any other tool fails, so reach the other tools from inside a `run_code` program."

// Assemble makes the prompt of s: sections, interpolation, tools in order, and
// the protections of Code Mode. It fails when Code Mode has nothing to run
// programs with, when the tool order names unknown tools, on references that
// mean nothing, and on what sections, variables and listeners report
// (rules R4.2 to R4.8). The text is the same as long as its parts are.
func (s *Scope) Assemble(ctx context.Context) (*Prompt, error) {
	c, r := s.core, s.core.reg
	v := c.currentView()
	tools, err := v.wireTools(r.order)
	if err != nil {
		return nil, err
	}
	r.mu.RLock()
	sections := c.allSections()
	r.mu.RUnlock()
	draft := Draft{Tools: slices.Clone(tools)}
	for _, sec := range sections {
		rendered := RenderedSection{Name: sec.Name, Order: sec.Order, Verbatim: sec.Verbatim}
		if err := contained("prompt section "+sec.Name, func() (err error) {
			rendered.Text, err = sec.Text(ctx)
			return err
		}); err != nil {
			return nil, err
		}
		draft.Sections = append(draft.Sections, rendered)
	}
	own, err := v.codeSections()
	if err != nil {
		return nil, err
	}
	draft.Sections = append(draft.Sections, own...)
	slices.SortStableFunc(draft.Sections, func(a, b RenderedSection) int { return a.Order - b.Order })

	if fs := r.assembles.For(s); len(fs) > 0 {
		if draft, err = runAssemble(ctx, fs, draft); err != nil {
			return nil, err
		}
		draft = v.protect(draft, own, tools)
	}
	return s.finish(ctx, draft)
}

func (s *Scope) finish(ctx context.Context, draft Draft) (*Prompt, error) {
	r := s.core.reg
	lookup := func(name string) VariableFunc {
		r.mu.RLock()
		defer r.mu.RUnlock()
		return s.core.variable(name)
	}
	p := &Prompt{Sections: draft.Sections, Tools: draft.Tools}
	var texts []string
	for i := range p.Sections {
		sec := &p.Sections[i]
		if !sec.Verbatim {
			text, err := interpolate(ctx, sec.Name, sec.Text, lookup)
			if err != nil {
				return nil, err
			}
			sec.Text = text
		}
		if sec.Text != "" {
			texts = append(texts, sec.Text)
		}
	}
	p.System = strings.Join(texts, "\n\n")
	return p, nil
}

// runAssemble passes the draft through the listeners, the first registered
// outermost. Each gets its own copy of the lists.
func runAssemble(ctx context.Context, fs []AssembleFunc, base Draft) (Draft, error) {
	if len(fs) == 0 {
		return Draft{Sections: slices.Clone(base.Sections), Tools: slices.Clone(base.Tools)}, nil
	}
	var out Draft
	err := contained("a prompt assembly listener", func() (err error) {
		out, err = fs[0](ctx, func(ctx context.Context) (Draft, error) { return runAssemble(ctx, fs[1:], base) })
		return err
	})
	return out, err
}

// codeSections are the sections of Code Mode; in a scope that presents natively
// they are empty, and absent where Code Mode is nowhere on the chain (rule R4.5).
func (v *view) codeSections() ([]RenderedSection, error) {
	if !v.modal {
		return nil, nil
	}
	only := RenderedSection{Name: SectionCodeOnly, Order: OrderCodeOnly, Verbatim: true}
	sdk := RenderedSection{Name: SectionSDK, Order: OrderSDK, Verbatim: true}
	if v.mode == ModeCode {
		only.Text = codeOnly
	}
	if v.transport != nil {
		text, err := v.sdkText()
		if err != nil {
			return nil, err
		}
		sdk.Text = text
	}
	return []RenderedSection{only, sdk}, nil
}

func (v *view) sdkText() (string, error) {
	v.sdkOnce.Do(func() {
		tools := slices.Clone(v.tools)
		slices.SortFunc(tools, func(a, b *Tool) int { return compareUTF16(a.Name(), b.Name()) })
		v.sdkErr = contained("the Code Mode SDK renderer", func() (err error) {
			v.sdk, err = v.runtime.SDK(tools)
			return err
		})
	})
	return v.sdk, v.sdkErr
}

// protect puts back what Code Mode cannot do without: exactly one run_code with
// its own schema, and the tools:sdk section with its own text (rule R4.7,
// decision 11). Anything else that listeners did stays.
func (v *view) protect(d Draft, own []RenderedSection, wire []ToolSchema) Draft {
	if v.transport == nil {
		return d
	}
	d.Tools = protectTools(d.Tools, wire, v.transport.Schema())
	for _, sec := range own {
		if sec.Name == SectionSDK {
			d.Sections = protectSection(d.Sections, sec)
		}
	}
	return d
}

func protectTools(tools, wire []ToolSchema, own ToolSchema) []ToolSchema {
	at := slices.IndexFunc(tools, func(t ToolSchema) bool { return t.Name == own.Name })
	if at < 0 {
		at = min(slices.IndexFunc(wire, func(t ToolSchema) bool { return t.Name == own.Name }), len(tools))
	}
	out := make([]ToolSchema, 0, len(tools)+1)
	for i, t := range tools {
		if i == at {
			out = append(out, own)
		}
		if t.Name != own.Name {
			out = append(out, t)
		}
	}
	if at == len(tools) {
		out = append(out, own)
	}
	return out
}

func protectSection(sections []RenderedSection, own RenderedSection) []RenderedSection {
	out := slices.DeleteFunc(slices.Clone(sections), func(s RenderedSection) bool { return s.Name == own.Name })
	at := slices.IndexFunc(out, func(s RenderedSection) bool { return s.Order > own.Order })
	if at < 0 {
		at = len(out)
	}
	return slices.Insert(out, at, own)
}
