package registry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newRegistry(t testing.TB, o registry.Options) *registry.Registry {
	t.Helper()
	r, err := registry.New(o)
	must(t, err)
	return r
}

func toolNames(p *registry.Prompt) []string {
	var out []string
	for _, s := range p.Tools {
		out = append(out, s.Name)
	}
	return out
}

func TestAssembleSections(t *testing.T) {
	ctx := context.Background()
	g := newRegistry(t, registry.Options{}).Global()
	add := func(s *registry.Scope, sec registry.Section) func() {
		t.Helper()
		d, err := s.AddSection(sec)
		must(t, err)
		return d
	}
	add(g, registry.Section{Name: "late", Order: 150, Text: registry.StaticText("late")})
	add(g, registry.Section{Name: "tie 1", Order: 5, Text: registry.StaticText("tie one, {{who}}")})
	add(g, registry.Section{Name: "tie 2", Order: 5, Text: registry.StaticText("tie two")})
	add(g, registry.Section{Name: "empty", Order: 0, Text: registry.StaticText("")})
	add(g, registry.Section{Name: "first", Order: -100, Text: registry.StaticText("first")})
	add(g, registry.Section{Name: "file", Order: 7, Text: registry.StaticText("a file with {{anything}} and {{"), Verbatim: true})
	_, err := g.SetVariable("who", func(context.Context) (string, error) { return "{{not again}}", nil })
	must(t, err)

	p, err := g.Assemble(ctx)
	must(t, err)
	if want := "first\n\ntie one, {{not again}}\n\ntie two\n\na file with {{anything}} and {{\n\nlate"; p.System != want {
		t.Errorf("system:\n%s\nwant:\n%s", p.System, want)
	}
	again, err := g.Assemble(ctx)
	must(t, err)
	if again.System != p.System {
		t.Error("the text of an unchanged prompt changed")
	}

	// A child's section takes the place of its parent's, and a nearer variable wins.
	a := g.Child("a")
	dispose := add(a, registry.Section{Name: "tie 1", Order: 5, Text: registry.StaticText("mine, {{who}}")})
	_, err = a.SetVariable("who", func(context.Context) (string, error) { return "me", nil })
	must(t, err)
	p, err = a.Child("below").Assemble(ctx)
	must(t, err)
	if !strings.Contains(p.System, "first\n\nmine, me\n\ntie two") {
		t.Errorf("a child sees:\n%s", p.System)
	}
	dispose()
	p, err = a.Assemble(ctx)
	must(t, err)
	if !strings.Contains(p.System, "tie one, me") {
		t.Errorf("afterwards a child sees:\n%s", p.System)
	}
}

func TestAssembleErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown", "hello {{nobody}}", `prompt section "s" refers to {{nobody}}, which no variable defines`},
		{"malformed name", "{{ who }}", `prompt section "s" has a malformed reference "{{ who }}": write {{name}}, or mark the section verbatim`},
		{"unclosed", "{{who", `prompt section "s" has a malformed reference "{{who": write {{name}}, or mark the section verbatim`},
		{"empty", "{{}}", `prompt section "s" has a malformed reference "{{}}": write {{name}}, or mark the section verbatim`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRegistry(t, registry.Options{}).Global()
			_, err := g.AddSection(registry.Section{Name: "s", Text: registry.StaticText(c.text)})
			must(t, err)
			if _, err := g.Assemble(context.Background()); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	t.Run("panics", func(t *testing.T) {
		g := newRegistry(t, registry.Options{}).Global()
		_, err := g.AddSection(registry.Section{Name: "s", Text: func(context.Context) (string, error) { panic("boom") }})
		must(t, err)
		if _, err := g.Assemble(context.Background()); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%v", err)
		}
	})
}

// run_code and tools:sdk survive whatever listeners do, restrictions, and
// shadowing; a description can hold any text.
func TestCodeModeProtections(t *testing.T) {
	ctx := context.Background()
	vandals := map[string]registry.AssembleFunc{
		"drops everything": func(context.Context, func(context.Context) (registry.Draft, error)) (registry.Draft, error) {
			return registry.Draft{}, nil
		},
		"falsifies": func(ctx context.Context, next func(context.Context) (registry.Draft, error)) (registry.Draft, error) {
			d, err := next(ctx)
			for i := range d.Tools {
				if d.Tools[i].Name == registry.RunCode {
					d.Tools[i].Description = "something else"
				}
			}
			for i := range d.Sections {
				d.Sections[i].Text = "something else"
			}
			return d, err
		},
		"doubles": func(ctx context.Context, next func(context.Context) (registry.Draft, error)) (registry.Draft, error) {
			d, err := next(ctx)
			d.Tools = append(d.Tools, registry.ToolSchema{Name: registry.RunCode}, registry.ToolSchema{Name: "added"})
			d.Sections = append(d.Sections, registry.RenderedSection{Name: registry.SectionSDK, Text: "fake"})
			return d, err
		},
	}
	for name, vandal := range vandals {
		for _, mode := range []registry.Mode{registry.ModeCode, registry.ModeBoth} {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				r := newRegistry(t, registry.Options{Mode: mode, Transport: fakeTransport{"typescript"}})
				def := textTool("t", "x")
				def.Description = "a description with {{x}} and {{"
				_, err := r.Global().Register(def)
				must(t, err)
				s := r.Global().Child("a")
				_, err = s.Restrict(registry.Restriction{Allow: []string{}})
				must(t, err)
				if _, err := s.AddSection(registry.Section{Name: registry.SectionSDK, Text: registry.StaticText("fake")}); err == nil {
					t.Error("the section tools:sdk was shadowed")
				}
				for _, scope := range []*registry.Scope{r.Global(), s} {
					before, err := scope.Assemble(ctx)
					must(t, err)
					dispose, err := scope.OnAssemble(vandal)
					must(t, err)
					after, err := scope.Assemble(ctx)
					must(t, err)
					dispose()
					if sdkOf(before) == "" || sdkOf(after) != sdkOf(before) {
						t.Errorf("tools:sdk: %q, before %q", sdkOf(after), sdkOf(before))
					}
					if runCodeOf(after) != runCodeOf(before) || len(runCodeOf(before)) == 0 {
						t.Errorf("run_code: %q, before %q", runCodeOf(after), runCodeOf(before))
					}
					if name == "doubles" && !slices.Contains(toolNames(after), "added") {
						t.Error("an unrelated addition was erased")
					}
				}
			})
		}
	}
}

func sdkOf(p *registry.Prompt) string {
	out := ""
	for _, s := range p.Sections {
		if s.Name == registry.SectionSDK {
			out += s.Text
		}
	}
	return out
}

func runCodeOf(p *registry.Prompt) string {
	out := ""
	for _, s := range p.Tools {
		if s.Name == registry.RunCode {
			out += s.Name + s.Description + s.Parameters.String()
		}
	}
	return out
}

// Listeners nest in order, change their own copy, and their errors are the assembly's.
func TestAssembleListeners(t *testing.T) {
	g := newRegistry(t, registry.Options{}).Global()
	_, err := g.AddSection(registry.Section{Name: "s", Text: registry.StaticText("0")})
	must(t, err)
	var results [][]registry.RenderedSection
	for _, mark := range []string{"a", "b"} {
		_, err := g.OnAssemble(func(ctx context.Context, next func(context.Context) (registry.Draft, error)) (registry.Draft, error) {
			d, err := next(ctx)
			if err != nil {
				return d, err
			}
			d.Sections[0].Text += mark
			results = append(results, d.Sections)
			return d, nil
		})
		must(t, err)
	}
	p, err := g.Assemble(context.Background())
	must(t, err)
	if p.System != "0ba" {
		t.Errorf("system %q: the first listener must be outermost", p.System)
	}
	p, err = g.Assemble(context.Background())
	must(t, err)
	if p.System != "0ba" {
		t.Errorf("system %q: what a listener did last time leaks", p.System)
	}
	broken := errors.New("broken")
	_, err = g.OnAssemble(func(context.Context, func(context.Context) (registry.Draft, error)) (registry.Draft, error) {
		return registry.Draft{}, broken
	})
	must(t, err)
	if _, err := g.Assemble(context.Background()); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	_, err = g.OnAssemble(func(context.Context, func(context.Context) (registry.Draft, error)) (registry.Draft, error) {
		panic("boom")
	}, registry.Prepend())
	must(t, err)
	if _, err := g.Assemble(context.Background()); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("%v", err)
	}
}
