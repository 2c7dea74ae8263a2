package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// A hundred agents register, restrict, guard, listen, present, call, nest,
// cancel and end at once. Every call has its result, a restricted tool is never
// reached, and a cancelled call never succeeds.
func TestHundredAgentsAtOnce(t *testing.T) {
	reg, err := registry.New(registry.Options{Mode: registry.ModeNative})
	must(t, err)
	p, err := pipeline.New(reg, pipeline.Options{MaxParallel: 4, Approver: approveFunc(func(pipeline.ApprovalRequest) {})})
	must(t, err)
	g := reg.Global()
	for i := range 20 {
		register(t, g, sleepy(p, fmt.Sprintf("shared_%d", i)))
	}
	def := sleepy(p, registry.RunCode)
	_, err = reg.SetTransport(codeTransport{def})
	must(t, err)
	reg.OnChange(func(registry.Change) error { return nil })
	_, err = p.OnResult(g, func(e *registry.Execution, r *pipeline.Result) { _ = r.ToValue() })
	must(t, err)

	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	var wg sync.WaitGroup
	for n := range 100 {
		wg.Go(func() { liveAsAgent(t, p, g, n, rounds) })
	}
	wg.Wait()
	if n := len(g.KnownNames()); n != 20 {
		t.Errorf("%d global tools are left, want 20", n)
	}
}

// sleepy is a tool that takes a moment and sometimes calls another.
func sleepy(p *pipeline.Pipeline, name string) registry.Definition {
	def := noop(name)
	def.ConcurrencySafe = func(args jsonvalue.Value) bool { return args.GetString("path") != "alone" }
	def.Execute = func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
		run.DeferContext(registry.Context{})
		run.Output([]byte("."))
		if rand.IntN(4) == 0 && !run.Execution().Nested() {
			p.Execute(ctx, pipeline.Call{
				ID: run.Execution().CallID() + ":1", Name: "shared_1", Arguments: args,
				Agent: run.Execution().Agent(), Parent: run.Execution().Token(),
			})
		}
		select {
		case <-ctx.Done():
			return jsonvalue.Value{}, ctx.Err()
		case <-time.After(time.Duration(rand.IntN(200)) * time.Microsecond):
			return jsonvalue.String("x"), nil
		}
	}
	return def
}

func liveAsAgent(t *testing.T, p *pipeline.Pipeline, g *registry.Scope, n, rounds int) {
	for round := range rounds {
		s := g.Child(fmt.Sprint("agent ", n))
		owner := registry.NewOwner("plugin")
		own := fmt.Sprintf("own_%d", n)
		if _, err := s.OwnedBy(owner).Register(sleepy(p, own)); err != nil {
			t.Error(err)
			return
		}
		temporary, err := g.Register(sleepy(p, fmt.Sprintf("temporary_%d", n)))
		if err != nil {
			t.Error(err)
			return
		}
		lift, err := s.Restrict(registry.Restriction{Deny: []string{"shared_0"}})
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = s.Guard(func(e *registry.Execution) (registry.Verdict, error) {
			if e.Name() == "shared_2" {
				return registry.Veto("no"), nil
			}
			return registry.Pass(), nil
		})
		_, _ = p.OnPreExecute(s, func(ctx context.Context, e *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
			if e.Name() == "shared_3" {
				return pipeline.Ask("look"), nil
			}
			return next(ctx)
		})
		_, _ = p.OnExecute(s, func(ctx context.Context, _ *registry.Execution, next pipeline.ExecNext) (*pipeline.Result, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return next(ctx)
		})
		if round%3 == 0 {
			_, _ = s.PresentAs(registry.ModeBoth)
		}
		if round%5 == 0 {
			_, _ = s.PresentAs(registry.ModeCode)
		}
		_, _ = s.Assemble(context.Background())
		_ = s.Schemas()
		callAsAgent(t, p, s, n, own)
		lift()
		temporary()
		owner.Dispose()
		s.Close()
	}
}

func callAsAgent(t *testing.T, p *pipeline.Pipeline, s *registry.Scope, n int, own string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rand.IntN(2) == 0 {
		time.AfterFunc(time.Duration(rand.IntN(600))*time.Microsecond, cancel)
	}
	var calls []pipeline.Call
	for i, name := range []string{own, "shared_0", "shared_1", "shared_2", "shared_3", "shared_4", registry.RunCode, "nobody", fmt.Sprintf("temporary_%d", (n+1)%100)} {
		path := "a"
		if i%4 == 3 {
			path = "alone"
		}
		calls = append(calls, pipeline.Call{ID: fmt.Sprint(i), Name: name, RawArguments: `{"path":"` + path + `"}`, Agent: agent{s}})
	}
	sink := &recorder{}
	if _, err := p.RunBatch(ctx, calls, sink); err != nil {
		t.Error(err)
		return
	}
	if sink.wrong != "" || len(sink.results) != len(calls) {
		t.Errorf("%d results for %d calls; %s", len(sink.results), len(calls), sink.wrong)
		return
	}
	for i, r := range sink.results {
		switch name := calls[i].Name; {
		case name == "shared_0" || name == "shared_2" || name == "nobody":
			if !r.IsError() {
				t.Errorf("%s succeeded: %s", name, r.ToValue())
			}
		}
	}
	done, stop := context.WithCancel(context.Background())
	stop()
	if r := p.Execute(done, calls[0]); !r.IsError() {
		t.Error("a cancelled call succeeded")
	}
}
