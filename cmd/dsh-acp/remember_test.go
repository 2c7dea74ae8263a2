package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/policy"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// at is an agent with a working directory and nothing else.
type at struct {
	scope *registry.Scope
	cwd   string
}

func (a at) AgentID() string        { return "a" }
func (a at) Scope() *registry.Scope { return a.scope }
func (a at) Cwd() string            { return a.cwd }

// An agent whose session has ended has nobody to say what it may change.
func TestWithoutASessionNothingIsChanged(t *testing.T) {
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &app{}
	for _, who := range []registry.Agent{nil, at{reg.Global(), "/work"}} {
		exec, err := reg.Begin(registry.ExecutionSpec{CallID: "c", Name: "write", Arguments: jsonvalue.Object(), Agent: who})
		if err != nil {
			t.Fatal(err)
		}
		if mode, ok := a.mayChange(exec, "/work/x"); ok != (who == nil) || mode != "read-only" {
			t.Errorf("%v: %s %v", who, mode, ok)
		}
		reg.End(exec)
	}
}

// A command that runs meanwhile may turn a link while the person reads the
// question. What is remembered is what the option said.
func TestWhatIsRememberedIsWhatWasOffered(t *testing.T) {
	base := t.TempDir()
	inside, outside := filepath.Join(base, "work"), filepath.Join(base, "elsewhere")
	for _, dir := range []string{filepath.Join(inside, "sub"), outside} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(inside, "link")
	turn := func(to string) {
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := sessionPolicy{Policy: p}
	exec, err := reg.Begin(registry.ExecutionSpec{
		CallID: "c", Name: "write", Agent: at{reg.Global(), inside},
		Arguments: jsonvalue.MustFromGo(map[string]any{"file_path": "link/x"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.End(exec)
	for _, c := range []struct{ from, to string }{{"sub", outside}, {outside, "sub"}} {
		turn(c.from)
		offered := s.Offer(exec)
		i := slices.IndexFunc(offered, func(l agent.Lasting) bool { return l.Answer == agent.AnswerAllowSession })
		if i < 0 {
			t.Fatalf("%+v", offered)
		}
		turn(c.to)
		if err := s.Remember(exec, offered[i]); err != nil {
			t.Fatal(err)
		}
		if !p.Decide(t.Context(), exec).IsAsk() {
			t.Errorf("offered %q while the link led to %s; now that it leads to %s nothing is asked", offered[i].Label, c.from, c.to)
		}
		list, _ := p.Grants().List()
		for _, x := range list {
			_ = p.Grants().Revoke(x)
		}
	}
}
