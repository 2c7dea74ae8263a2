package search

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

type agent struct {
	scope *registry.Scope
	cwd   string
}

func (a *agent) AgentID() string        { return "a" }
func (a *agent) Scope() *registry.Scope { return a.scope }
func (a *agent) Cwd() string            { return a.cwd }

type fakeRun struct{ exec *registry.Execution }

func (r fakeRun) Execution() *registry.Execution     { return r.exec }
func (r fakeRun) DeferContext(registry.Context)      {}
func (r fakeRun) ConcludeTurn()                      {}
func (r fakeRun) Emit(string, jsonvalue.Value) error { return errors.New("no session") }
func (r fakeRun) Output([]byte)                      {}

// fixture calls the tools as the pipeline does: arguments and values checked.
type fixture struct {
	t     testing.TB
	reg   *registry.Registry
	agent registry.Agent
	dir   string
}

func setup(t testing.TB) *fixture {
	// Whoever runs the tests may have rules of their own.
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	return setupIn(t, t.TempDir(), Options{})
}

func setupIn(t testing.TB, dir string, opts Options) *fixture {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Register(reg.Global(), opts); err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return &fixture{t: t, reg: reg, dir: dir, agent: &agent{scope: reg.Global().Child("s"), cwd: dir}}
}

// supervisor is one that ends with the test.
func supervisor(t testing.TB) *proc.Supervisor {
	s := proc.NewSupervisor()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) put(name, data string) string {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(data), 0o644); err != nil {
		f.t.Fatal(err)
	}
	return f.path(name)
}

type args = map[string]any

type result struct {
	value, meta jsonvalue.Value
	text        string
	call        *cards.Call
	card        *cards.Result
	err         error
}

func (f *fixture) do(name string, a args) result {
	f.t.Helper()
	return f.doCtx(context.Background(), name, a)
}

func (f *fixture) doCtx(ctx context.Context, name string, given args) (r result) {
	f.t.Helper()
	tool, ok := f.reg.Global().Get(name)
	if !ok {
		f.t.Fatalf("no tool %s", name)
	}
	a := jsonvalue.MustFromGo(given)
	if bad := tool.ValidateArgs(a); bad != nil {
		f.t.Fatalf("%s arguments: %v", name, bad)
	}
	exec, err := f.reg.Begin(registry.ExecutionSpec{CallID: "c", Name: name, Arguments: a, Agent: f.agent})
	if err != nil {
		f.t.Fatal(err)
	}
	r.call = tool.PresentCall(a)
	r.value, r.err = tool.Execute(ctx, a, fakeRun{exec})
	if r.err != nil {
		r.text = "Error: " + r.err.Error()
	} else {
		if bad := tool.ValidateOutput(r.value); bad != nil {
			f.t.Fatalf("%s value: %v", name, bad)
		}
		blocks, err := tool.Render(a, r.value)
		if err != nil {
			f.t.Fatal(err)
		}
		r.text = content.JoinText(blocks)
		if r.meta, err = tool.PresentationMeta(a, r.value); err != nil {
			f.t.Fatal(err)
		}
	}
	r.card = tool.PresentResult(a, cards.ResultInput{Content: []content.Block{content.Text(r.text)}, IsError: r.err != nil, Meta: r.meta})
	return r
}

// ok fails the test when the call did.
func (f *fixture) ok(name string, a args) result {
	f.t.Helper()
	r := f.do(name, a)
	if r.err != nil {
		f.t.Fatalf("%s %v: %v", name, a, r.err)
	}
	return r
}
