package policy

import (
	"context"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// nobody is an agent and a log that keeps nothing.
type nobody struct{ scope *registry.Scope }

func (nobody) AgentID() string          { return "a" }
func (n nobody) Scope() *registry.Scope { return n.scope }
func (nobody) Cwd() string              { return "/work" }

func (nobody) AppendCall(context.Context, int, pipeline.Call) error { return nil }

func (nobody) AppendResult(context.Context, int, pipeline.Call, *registry.Execution, *registry.Result) error {
	return nil
}
func (nobody) AppendContexts(context.Context, []registry.Context) error { return nil }

type yes struct{}

func (yes) RequestApproval(context.Context, pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	return pipeline.AllowedOnce, nil
}

// BenchmarkBatch is a step of four calls: what looking ahead for questions costs
// where nothing asks, and where all do.
func BenchmarkBatch(b *testing.B) {
	for name, tool := range map[string]string{"nothing asks": "read", "all ask": "write"} {
		for _, ahead := range []bool{true, false} {
			label := name + "/one by one"
			if ahead {
				label = name + "/together"
			}
			b.Run(label, func(b *testing.B) {
				reg, err := registry.New(registry.Options{})
				if err != nil {
					b.Fatal(err)
				}
				pipe, err := pipeline.New(reg, pipeline.Options{Approver: yes{}})
				if err != nil {
					b.Fatal(err)
				}
				for _, name := range []string{"read", "write"} {
					_, err := reg.Global().Register(registry.Definition{
						Name: name, Description: name,
						Output: registry.Output{
							Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
							Render: func(_, _ jsonvalue.Value) ([]content.Block, error) { return []content.Block{content.Text("x")}, nil },
						},
						Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
							return jsonvalue.String("x"), nil
						},
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				scope := reg.Global().Child("s")
				p := newPolicy(b, WorkspaceWrite)
				if _, err := p.Install(pipe, scope); err != nil {
					b.Fatal(err)
				}
				if !ahead { // as it is without foresight: batches of one
					for b.Loop() {
						for range 4 {
							_, _ = pipe.RunBatch(b.Context(), calls(scope, tool, 1), nobody{scope})
						}
					}
					return
				}
				for b.Loop() {
					_, _ = pipe.RunBatch(b.Context(), calls(scope, tool, 4), nobody{scope})
				}
			})
		}
	}
}

func calls(scope *registry.Scope, tool string, n int) []pipeline.Call {
	out := make([]pipeline.Call, n)
	for i := range out {
		out[i] = pipeline.Call{ID: "c", Name: tool, RawArguments: `{"file_path":"a.txt","content":"x"}`, Agent: nobody{scope}}
	}
	return out
}
