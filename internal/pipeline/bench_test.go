package pipeline_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// noop is a typed tool whose body does nothing.
func noop(name string) registry.Definition {
	blocks := []content.Block{content.Text("done")}
	value := jsonvalue.String("done")
	return registry.Definition{
		Name: name, Description: "does nothing",
		Parameters: schema.Params{schema.Required("path", schema.String("a path"))},
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
			Render: func(_, _ jsonvalue.Value) ([]content.Block, error) { return blocks, nil },
		},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) { return value, nil },
	}
}

func benchPipeline(b *testing.B, others, listeners int) (*pipeline.Pipeline, pipeline.Call) {
	reg, err := registry.New(registry.Options{})
	must(b, err)
	p, err := pipeline.New(reg, pipeline.Options{})
	must(b, err)
	for i := range others {
		_, err := reg.Global().Register(noop(fmt.Sprintf("other_%d", i)))
		must(b, err)
	}
	_, err = reg.Global().Register(noop("noop"))
	must(b, err)
	scope := reg.Global().Child("agent")
	for i := range listeners {
		switch i % 5 {
		case 0, 1:
			_, err = p.OnPreExecute(scope, func(ctx context.Context, _ *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
				return next(ctx)
			})
		case 2:
			_, err = p.OnExecute(scope, func(ctx context.Context, _ *registry.Execution, next pipeline.ExecNext) (*pipeline.Result, error) {
				return next(ctx)
			})
		case 3:
			_, err = p.OnPostExecute(scope, func(ctx context.Context, _ *registry.Execution, _ *pipeline.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
				return next(ctx)
			})
		case 4:
			_, err = p.OnResult(scope, func(*registry.Execution, *pipeline.Result) {})
		}
		must(b, err)
	}
	return p, pipeline.Call{ID: "1", Name: "noop", RawArguments: `{"path":"a"}`, Agent: agent{scope}}
}

// BenchmarkCall is a no-op call through all stages.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct{ others, listeners int }{{0, 0}, {0, 5}, {1000, 0}, {1000, 5}} {
		b.Run(fmt.Sprintf("tools=%d/listeners=%d", c.others+1, c.listeners), func(b *testing.B) {
			p, call := benchPipeline(b, c.others, c.listeners)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			b.ReportAllocs()
			before := threadTime(b)
			for b.Loop() {
				if r := p.Execute(ctx, call); r.IsError() {
					b.Fatal(r.Text())
				}
			}
			b.ReportMetric(float64(threadTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkBatch is a message of ten no-op calls.
func BenchmarkBatch(b *testing.B) {
	p, call := benchPipeline(b, 0, 0)
	calls := make([]pipeline.Call, 10)
	for i := range calls {
		calls[i] = call
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.RunBatch(context.Background(), calls, nullSink{}); err != nil {
			b.Fatal(err)
		}
	}
}

type nullSink struct{}

func (nullSink) AppendCall(context.Context, int, pipeline.Call) error { return nil }
func (nullSink) AppendResult(context.Context, int, pipeline.Call, *registry.Execution, *pipeline.Result) error {
	return nil
}
func (nullSink) AppendContexts(context.Context, []registry.Context) error { return nil }
