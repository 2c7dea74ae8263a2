package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/vectors"
)

// registryVector is a script of steps with one expectation each; a
// configuration that is refused has the one expectation {constructError}.
type registryVector struct {
	vectors.Base
	Config struct {
		Mode string `json:"mode"`
	} `json:"config"`
	Prompt struct {
		ToolOrder []string `json:"toolOrder"`
	} `json:"prompt"`
	Steps  [][]json.RawMessage `json:"steps"`
	Expect []any               `json:"expect"`
}

// Differences from the vectors, each by a decision of ours.
var registryExceptions = vectors.Exceptions{
	"reg-028": "decision 12: an own tool cannot be named, run_code never can, and the known names are the inherited ones",
	"reg-030": "decision 12: the text lists the inherited tools",
	"reg-032": "decision 3: run_code is reserved in every mode",
	"reg-062": "rule R4.5: the section tools:code-only is there, empty",
	"reg-064": "decision 17 and rule R4.3: newer text, and the direct call is refused",
	"reg-066": "rule R4.3: newer text",
	"reg-068": "rule R4.3: newer text",
}

func TestSharedVectors(t *testing.T) {
	vectors.Run(t, vectors.Load[registryVector](t, "registry.json"), registryExceptions, checkVector)
}

func TestOwnVectors(t *testing.T) {
	vectors.Run(t, vectors.LoadFile[registryVector](t, "../../testdata/vectors/registry.json"), nil, checkVector)
}

func checkVector(t *testing.T, v registryVector) error {
	if len(v.Expect) == 1 && len(v.Steps) == 0 {
		_, err := registry.New(registry.Options{Mode: registry.Mode(v.Config.Mode), ToolOrder: v.Prompt.ToolOrder})
		if err == nil {
			return errors.New("the configuration was accepted")
		}
		return same(0, map[string]any{"constructError": err.Error()}, v.Expect[0])
	}
	if len(v.Steps) != len(v.Expect) {
		return fmt.Errorf("%d steps, %d expectations", len(v.Steps), len(v.Expect))
	}
	w := newWorld(t, v)
	for i, raw := range v.Steps {
		got, err := w.step(raw)
		if err != nil {
			got = map[string]any{"error": err.Error()}
		}
		if v.Expect[i] == "(method removed)" {
			// An edition without knownNames; decision 16 keeps it.
			if err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
			continue
		}
		if err := same(i, got, v.Expect[i]); err != nil {
			return err
		}
	}
	return nil
}

func same(i int, got, want any) error {
	b, err := json.Marshal(got)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(b, &plain); err != nil {
		return err
	}
	if d := cmp.Diff(want, plain); d != "" {
		return fmt.Errorf("step %d (-want +got):\n%s", i, d)
	}
	return nil
}

// world is a registry with the scopes global, a, b, and child below a.
type world struct {
	t      *testing.T
	reg    *registry.Registry
	pipe   *pipeline.Pipeline
	scopes map[string]*registry.Scope
	undo   map[string][]func()
}

func newWorld(t *testing.T, v registryVector) *world {
	reg, err := registry.New(registry.Options{Mode: registry.Mode(v.Config.Mode), ToolOrder: v.Prompt.ToolOrder})
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := pipeline.New(reg, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := reg.Global()
	a := g.Child("a")
	w := &world{
		t: t, reg: reg, pipe: pipe, undo: map[string][]func(){},
		scopes: map[string]*registry.Scope{"global": g, "a": a, "b": g.Child("b"), "child": a.Child("child")},
	}
	for name, sec := range map[string]registry.Section{
		"identity": {Name: "harness:identity", Order: registry.OrderIdentity, Text: registry.StaticText("You are a test.")},
		"persona":  {Name: "deployment:persona", Order: registry.OrderPersona, Text: registry.StaticText("")},
	} {
		if _, err := g.AddSection(sec); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return w
}

func (w *world) keep(key string, dispose func(), err error) (any, error) {
	if err != nil {
		return nil, err
	}
	w.undo[key] = append(w.undo[key], dispose)
	return "ok", nil
}

func (w *world) dispose(key string) (any, error) {
	ds := w.undo[key]
	if len(ds) == 0 {
		return nil, fmt.Errorf("the script undoes %q, which was never done", key)
	}
	ds[len(ds)-1]()
	return "ok", nil
}

func text(raw json.RawMessage) string {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		panic(err)
	}
	return s
}

func (w *world) step(raw []json.RawMessage) (any, error) {
	arg := func(i int) string { return text(raw[i]) }
	switch op := arg(0); op {
	case "runtime":
		_, err := w.reg.SetTransport(fakeTransport{arg(1)})
		return "ok", err
	case "raw":
		return "ok", w.raw(arg(1), raw[2])
	}
	s := w.scopes[arg(1)]
	if s == nil {
		return nil, fmt.Errorf("the script names an unknown scope %q", arg(1))
	}
	switch op := arg(0); op {
	case "register":
		d, err := s.Register(textTool(arg(2), arg(2)+"@"+arg(1)))
		return w.keep("tool "+arg(1)+" "+arg(2), d, err)
	case "dispose":
		return w.dispose("tool " + arg(1) + " " + arg(2))
	case "disposeScope":
		s.Close()
		return "ok", nil
	case "restrict":
		var f registry.Restriction
		if err := json.Unmarshal(raw[2], &f); err != nil {
			return nil, err
		}
		d, err := s.Restrict(f)
		return w.keep("restrict "+arg(1), d, err)
	case "lift":
		return w.dispose("restrict " + arg(1))
	case "presentAs":
		d, err := s.PresentAs(registry.Mode(arg(2)))
		return w.keep("mode "+arg(1), d, err)
	case "unpresent":
		return w.dispose("mode " + arg(1))
	case "guard":
		name, reason := arg(2), arg(3)
		d, err := s.Guard(func(e *registry.Execution) (registry.Verdict, error) {
			if e.Name() == name {
				return registry.Veto(reason), nil
			}
			return registry.Pass(), nil
		})
		return w.keep("guard "+arg(1), d, err)
	case "names":
		names := []string{}
		for _, sc := range s.Schemas() {
			names = append(names, sc.Name)
		}
		return names, nil
	case "known":
		return append([]string{}, s.KnownNames()...), nil
	case "get":
		_, ok := s.Get(arg(2))
		return ok, nil
	case "call":
		call := pipeline.Call{ID: "1", Name: arg(2)}
		if !s.IsGlobal() {
			call.Agent = agent{s}
		}
		return w.pipe.Execute(context.Background(), call).Text(), nil
	case "wire":
		p, err := s.Assemble(context.Background())
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, sc := range p.Tools {
			names = append(names, sc.Name)
		}
		return names, nil
	case "sections":
		p, err := s.Assemble(context.Background())
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, sec := range p.Sections {
			if sec.Text == "" {
				sec.Name += " (empty)"
			}
			names = append(names, sec.Name)
		}
		return names, nil
	default:
		return nil, fmt.Errorf("the script has an unknown step %q", op)
	}
}

// raw registers a definition as a plugin would declare it.
func (w *world) raw(name string, decl json.RawMessage) error {
	d, err := jsonvalue.Parse(decl)
	if err != nil {
		return err
	}
	def := textTool(name, "")
	switch out := d.Get("output"); {
	case out.IsUndefined():
		def.Output = registry.Output{}
	case out.GetString("") == "" && out.IsObject():
		def.Output = registry.Output{Schema: out.Get("schema")} // no render in the script
	}
	if ms, ok := d.Get("timeoutMs").Float(); ok {
		if def.Timeout, err = registry.TimeoutFromMilliseconds(name, ms); err != nil {
			return err
		}
	}
	_, err = w.reg.Global().Register(def)
	return err
}

type agent struct{ scope *registry.Scope }

func (a agent) AgentID() string        { return a.scope.Label() }
func (a agent) Scope() *registry.Scope { return a.scope }

// textTool returns a fixed text.
func textTool(name, value string) registry.Definition {
	return registry.Definition{
		Name: name, Description: "the tool " + name,
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
			Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
				s, _ := v.Str()
				return []content.Block{content.Text(s)}, nil
			},
		},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			return jsonvalue.String(value), nil
		},
	}
}

type fakeTransport struct{ language string }

func (f fakeTransport) Language() string                { return f.language }
func (f fakeTransport) Definition() registry.Definition { return textTool(registry.RunCode, "ran") }
func (f fakeTransport) SDK(tools []*registry.Tool) (string, error) {
	out := "The tools in " + f.language + ":"
	for _, t := range tools {
		out += " " + t.Name() + " (" + t.Description() + ")"
	}
	return out, nil
}
