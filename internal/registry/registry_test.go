package registry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

func TestRegisterErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*registry.Definition)
		want   string
	}{
		{"no name", func(d *registry.Definition) { d.Name = "" }, "a tool must have a name"},
		{"no render", func(d *registry.Definition) { d.Output.Render = nil }, `tool "t" must declare output { schema, render, presentationMeta? }`},
		{"output wins over timeout", func(d *registry.Definition) { d.Output.Render = nil; d.Timeout = -1 }, `tool "t" must declare output { schema, render, presentationMeta? }`},
		{"bad output schema", func(d *registry.Definition) {
			d.Output.Schema = jsonvalue.MustFromGo(map[string]any{"type": "tuple"})
		}, "unsupported JSON schema: "},
		{"negative timeout", func(d *registry.Definition) { d.Timeout = -time.Second }, `tool "t" timeoutMs must be a positive finite number`},
		{"timeout wins over the reserved name", func(d *registry.Definition) { d.Timeout = -1; d.Name = "run_code" }, `tool "run_code" timeoutMs must be a positive finite number`},
		{"reserved", func(d *registry.Definition) { d.Name = "run_code" }, `tool name "run_code" is reserved for the Code Mode presentation transport and cannot be registered or shadowed`},
		{"no body", func(d *registry.Definition) { d.Execute = nil }, `tool "t" must have an Execute function`},
		{"both kinds of parameters", func(d *registry.Definition) {
			d.Parameters = schema.Params{schema.Optional("a", schema.String(""))}
			d.RawParameters = jsonvalue.Object()
		}, `tool "t" declares both Parameters and RawParameters: set one`},
		{"lossy parameters", func(d *registry.Definition) {
			d.RawParameters, _ = jsonvalue.ParseString(`{"default":-0}`)
		}, "tool parameters must be losslessly JSON-serializable"},
		{"bad typed parameters", func(d *registry.Definition) {
			d.Parameters = schema.Params{schema.Optional("a", schema.Spec{Type: "tuple"})}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRegistry(t, registry.Options{}).Global()
			def := textTool("t", "x")
			c.change(&def)
			_, err := g.Register(def)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if len(g.Visible()) != 0 {
				t.Error("a refused tool is visible")
			}
		})
	}
}

func TestTimeoutFromMilliseconds(t *testing.T) {
	for ms, want := range map[float64]time.Duration{1500: 1500 * time.Millisecond, 0.5: 500 * time.Microsecond, 1e300: 1<<63 - 1, 1e-300: 1} {
		if d, err := registry.TimeoutFromMilliseconds("t", ms); err != nil || d != want {
			t.Errorf("%g: %v, %v", ms, d, err)
		}
	}
}

// What was registered is a snapshot: changing what was passed in changes nothing (rule R2.7).
func TestRegisterSnapshots(t *testing.T) {
	g := newRegistry(t, registry.Options{}).Global()
	def := textTool("t", "x")
	def.Parameters = schema.Params{schema.Required("a", schema.OpenObject("", schema.Optional("b", schema.String("text"))))}
	_, err := g.Register(def)
	must(t, err)
	tool, _ := g.Get("t")
	before := tool.Parameters().String()
	bad := jsonvalue.MustFromGo(map[string]any{"a": map[string]any{"b": 1}})
	violations := fmt.Sprint(tool.ValidateArgs(bad))
	def.Parameters[0].Properties[0].Type = "number"
	def.Parameters[0].Name = "z"
	def.Execute = nil
	if tool.Parameters().String() != before || fmt.Sprint(tool.ValidateArgs(bad)) != violations {
		t.Error("the registered tool changed with the definition")
	}
	list := g.Schemas()
	list[0].Name = "changed"
	visible := g.Visible()
	visible[0] = nil
	if g.Schemas()[0].Name != "t" || g.Visible()[0] == nil {
		t.Error("a reader changed what others read")
	}
}

// A change listener that refuses an addition takes it back, and others are told (rule R1.6).
func TestChangeRollback(t *testing.T) {
	r := newRegistry(t, registry.Options{})
	var heard []string
	r.OnChange(func(c registry.Change) error {
		heard = append(heard, string(c.Kind)+" "+c.Name)
		return nil
	})
	refuse := true
	dispose := r.OnChange(func(c registry.Change) error {
		switch {
		case !refuse:
			return nil
		case c.Name == "panics":
			panic("boom")
		}
		return errors.New("refused")
	})
	s := r.Global().Child("a")
	if _, err := s.Register(textTool("t", "x")); err == nil || err.Error() != "refused" {
		t.Errorf("register: %v", err)
	}
	if _, err := s.Register(textTool("panics", "x")); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("register: %v", err)
	}
	if _, err := s.PresentAs(registry.ModeBoth); err == nil || s.Mode() != registry.ModeNative {
		t.Errorf("presentAs: %v, mode %s", err, s.Mode())
	}
	if _, err := r.SetTransport(fakeTransport{"typescript"}); err == nil {
		t.Error("the transport was set")
	}
	if len(s.Visible()) != 0 {
		t.Error("a refused tool is visible")
	}
	refuse = false
	d, err := s.Register(textTool("t", "x"))
	must(t, err)
	refuse = true
	d() // what ends cannot be refused
	if len(s.Visible()) != 0 {
		t.Error("a listener kept a tool alive")
	}
	dispose()
	_, err = s.Guard(func(*registry.Execution) (registry.Verdict, error) { return registry.Pass(), nil })
	must(t, err)
	want := []string{
		"register t", "unregister t", "register panics", "unregister panics", "present-as ", "present-default ",
		"transport run_code", "register t", "unregister t",
	}
	if !slices.Equal(heard, want) {
		t.Errorf("heard %q\nwant  %q", heard, want)
	}
}

// Everything that an owner registered ends with it, whatever the scope.
func TestOwner(t *testing.T) {
	g := newRegistry(t, registry.Options{}).Global()
	a := g.Child("a")
	plugin := registry.NewOwner("plugin")
	_, err := g.OwnedBy(plugin).Register(textTool("global", "x"))
	must(t, err)
	_, err = a.OwnedBy(plugin).Register(textTool("scoped", "x"))
	must(t, err)
	_, err = a.OwnedBy(plugin).Restrict(registry.Restriction{Deny: []string{"global"}})
	must(t, err)
	_, err = a.Register(textTool("own", "x"))
	must(t, err)
	if n := len(a.Visible()); n != 2 {
		t.Errorf("%d tools, want 2", n)
	}
	plugin.Dispose()
	plugin.Dispose()
	if names := a.KnownNames(); !slices.Equal(names, []string{"own"}) {
		t.Errorf("known afterwards: %v", names)
	}
	_, err = g.OwnedBy(plugin).Register(textTool("late", "x"))
	var e *registry.Error
	if !errors.As(err, &e) || e.Code != registry.CodeClosed {
		t.Errorf("%v", err)
	}
	if len(g.Visible()) != 0 {
		t.Error("an owner that has ended registered a tool")
	}
}

// A guard that a guard adds in the same pass is asked as well (rule R5.16).
func TestGuardsAreLive(t *testing.T) {
	r := newRegistry(t, registry.Options{})
	s := r.Global().Child("a")
	added := false
	_, err := s.Guard(func(*registry.Execution) (registry.Verdict, error) {
		if added {
			return registry.Pass(), nil
		}
		added = true
		_, err := s.Guard(func(*registry.Execution) (registry.Verdict, error) { return registry.Veto("added"), nil })
		return registry.Pass(), err
	})
	must(t, err)
	exec, err := r.Begin(registry.ExecutionSpec{CallID: "1", Name: "t"})
	must(t, err)
	v, err := s.RunGuards(exec)
	must(t, err)
	if reason, ok := v.Vetoed(); !ok || reason != "added" {
		t.Errorf("%q, %v", reason, ok)
	}
}

// Presenters are asked only with arguments that fit, and never break a display (rule R9.5).
func TestPresenters(t *testing.T) {
	g := newRegistry(t, registry.Options{}).Global()
	def := textTool("t", "x")
	def.Parameters = schema.Params{schema.Required("path", schema.String(""))}
	def.PresentCall = func(args jsonvalue.Value) *cards.Call {
		if args.GetString("path") == "panic" {
			panic("boom")
		}
		return &cards.Call{Title: args.GetString("path")}
	}
	def.PresentResult = func(args jsonvalue.Value, _ cards.ResultInput) *cards.Result {
		if args.GetString("path") == "panic" {
			panic("boom")
		}
		return &cards.Result{Title: args.GetString("path")}
	}
	_, err := g.Register(def)
	must(t, err)
	tool, _ := g.Get("t")
	arg := func(v any) jsonvalue.Value { return jsonvalue.MustFromGo(map[string]any{"path": v}) }
	if c := tool.PresentCall(arg("a")); c == nil || c.Title != "a" {
		t.Errorf("card %v", c)
	}
	if r := tool.PresentResult(arg("a"), cards.ResultInput{}); r == nil || r.Title != "a" {
		t.Errorf("card %v", r)
	}
	for _, args := range []jsonvalue.Value{arg("panic"), arg(1), jsonvalue.Object(), jsonvalue.String("not json"), {}} {
		if tool.PresentCall(args) != nil || tool.PresentResult(args, cards.ResultInput{}) != nil {
			t.Errorf("a card for %s", args)
		}
	}
}

// A mode of an agent may be set while another transport replaces the first, and
// what a view shows is always of one moment.
func TestTransportReplaced(t *testing.T) {
	r := newRegistry(t, registry.Options{Mode: registry.ModeBoth})
	first, err := r.SetTransport(fakeTransport{"typescript"})
	must(t, err)
	second, err := r.SetTransport(fakeTransport{"python"})
	must(t, err)
	sdk := func() string {
		p, err := r.Global().Assemble(context.Background())
		if err != nil {
			return err.Error()
		}
		return sdkOf(p)
	}
	if got := sdk(); got != "The tools in python:" {
		t.Errorf("%q", got)
	}
	second()
	if got := sdk(); got != "The tools in typescript:" {
		t.Errorf("%q", got)
	}
	third, err := r.SetTransport(fakeTransport{"python"})
	must(t, err)
	first() // in another order than they came
	if got := sdk(); got != "The tools in python:" {
		t.Errorf("%q", got)
	}
	third()
	if got := sdk(); !strings.HasPrefix(got, `dsh-tools: mode "both" requires a code runtime`) {
		t.Errorf("%q", got)
	}
	if _, err := r.SetTransport(fakeTransport{"ruby"}); err == nil || err.Error() != `dsh-tools: no SDK renderer registered for runtime language "ruby" (known: "typescript", "python")` {
		t.Errorf("%v", err)
	}
}

// A view is computed once for what has not changed: the SDK text is rendered
// once however many prompts ask for it (rule R4.8).
func TestViewsAreCached(t *testing.T) {
	rendered := 0
	r := newRegistry(t, registry.Options{Mode: registry.ModeCode, Transport: countingTransport{fakeTransport{"typescript"}, &rendered}})
	_, err := r.Global().Register(textTool("t", "x"))
	must(t, err)
	a, b := r.Global().Child("a"), r.Global().Child("b")
	for range 5 {
		for _, s := range []*registry.Scope{a, b, r.Global()} {
			_, err := s.Assemble(context.Background())
			must(t, err)
		}
	}
	if rendered != 1 {
		t.Errorf("rendered %d times, want once for three scopes that see the same", rendered)
	}
	_, err = a.Register(textTool("own", "x"))
	must(t, err)
	for range 5 {
		for _, s := range []*registry.Scope{a, b} {
			_, err := s.Assemble(context.Background())
			must(t, err)
		}
	}
	if rendered != 2 {
		t.Errorf("rendered %d times, want once more for the scope that changed", rendered)
	}
	if n := testing.AllocsPerRun(100, func() { a.Schemas() }); n > 1 {
		t.Errorf("%g allocations for unchanged schemas, want the copy alone", n)
	}
}

type countingTransport struct {
	fakeTransport
	n *int
}

func (c countingTransport) SDK(tools []*registry.Tool) (string, error) {
	*c.n++
	return c.fakeTransport.SDK(tools)
}
