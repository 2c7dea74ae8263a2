package policy

import (
	"context"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

type agent struct{ scope *registry.Scope }

func (a agent) AgentID() string        { return "a" }
func (a agent) Scope() *registry.Scope { return a.scope }
func (a agent) Cwd() string            { return "/work" }

type approver struct{ reasons []string }

func (a *approver) RequestApproval(_ context.Context, r pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	a.reasons = append(a.reasons, r.Reason)
	return pipeline.AllowedOnce, nil
}

func TestInstalled(t *testing.T) {
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := &approver{}
	pipe, err := pipeline.New(reg, pipeline.Options{Approver: asked})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	_, err = reg.Global().Register(registry.Definition{
		Name: "bash", Description: "Run.",
		Parameters: schema.Params{{Name: "command", Required: true, Spec: schema.Spec{Type: "string"}}},
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
			Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
				s, _ := v.Str()
				return []content.Block{content.Text(s)}, nil
			},
		},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			ran++
			return jsonvalue.String("done"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	scope := reg.Global().Child("session")
	defer scope.Close()
	// A listener in front of the policy that allows everything, as a hook might.
	allowAll, err := pipe.OnPreExecute(scope, func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
		return pipeline.Allow(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p := newPolicy(t, WorkspaceWrite, "deny bash: rm *", "allow bash: ls *")
	dispose, err := p.Install(pipe, scope)
	if err != nil {
		t.Fatal(err)
	}
	run := func(command string) *pipeline.Result {
		return pipe.Execute(context.Background(), pipeline.Call{ID: "c", Name: "bash", Arguments: bash(command).Arguments, Agent: agent{scope}})
	}

	if r := run("env rm x"); !r.IsError() || ran != 0 || r.Text() != `Error: "rm x" is denied by the permission rule "bash: rm *"` {
		t.Errorf("the guard did not hold: ran %d, %q", ran, r.Text())
	}
	allowAll()
	if r := run("rm x"); !r.IsError() || ran != 0 {
		t.Errorf("ran %d, %q", ran, r.Text())
	}
	if r := run("ls -l"); r.IsError() || ran != 1 || len(asked.reasons) != 0 {
		t.Errorf("ran %d, asked %v, %q", ran, asked.reasons, r.Text())
	}
	if r := run("make"); r.IsError() || ran != 2 || len(asked.reasons) != 1 || asked.reasons[0] != "bash runs a command (preset workspace-write)" {
		t.Errorf("ran %d, asked %v, %q", ran, asked.reasons, r.Text())
	}
	// A listener behind the policy still has its say.
	later, err := pipe.OnPreExecute(scope, func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
		return pipeline.Deny("no"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := run("ls"); !r.IsError() || r.Text() != "Error: no" {
		t.Errorf("%q", r.Text())
	}
	later()
	dispose()
	if r := run("rm x"); r.IsError() || ran != 3 {
		t.Errorf("after disposal: ran %d, %q", ran, r.Text())
	}
}

func BenchmarkDecide(b *testing.B) {
	p := newPolicy(b, WorkspaceWrite, "deny bash: rm *", "ask bash: git push*", "allow bash: git *", "allow bash: go test *")
	call := bash("cd internal && go test ./... 2>&1 | head -50 && git status")
	b.ReportAllocs()
	for b.Loop() {
		p.DecideCall(call)
	}
}
