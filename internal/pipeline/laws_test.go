package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// lab is a pipeline with one tool and whatever listeners are drawn for it.
type lab struct {
	rt     *rapid.T
	reg    *registry.Registry
	pipe   *pipeline.Pipeline
	agent  agent
	ctx    context.Context
	cancel context.CancelFunc
	bodies int
	at     string // where the caller is cancelled
}

type drawnApprover struct{ l *lab }

func (a drawnApprover) RequestApproval(context.Context, pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	a.l.reach("approval")
	switch a.l.draw("approval", "allowed-once", "rejected", "cancelled", "unavailable", "rogue", "error", "panic") {
	case "allowed-once":
		return pipeline.AllowedOnce, nil
	case "rejected":
		return pipeline.Rejected, nil
	case "cancelled":
		return pipeline.Cancelled, nil
	case "unavailable":
		return pipeline.Unavailable, nil
	case "error":
		return pipeline.AllowedOnce, errors.New("the channel broke")
	case "panic":
		panic("the approver broke")
	}
	return "maybe", nil
}

func (l *lab) draw(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(l.rt, what)
}

func (l *lab) reach(where string) {
	if l.at == where {
		l.cancel()
	}
}

func newLab(rt *rapid.T) *lab {
	l := &lab{rt: rt}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	rt.Cleanup(l.cancel)
	reg, err := registry.New(registry.Options{})
	if err != nil {
		rt.Fatal(err)
	}
	var o pipeline.Options
	if rapid.Bool().Draw(rt, "approver") {
		o.Approver = drawnApprover{l}
	}
	l.reg = reg
	if l.pipe, err = pipeline.New(reg, o); err != nil {
		rt.Fatal(err)
	}
	l.agent = agent{reg.Global().Child("agent")}
	def := noop("tool")
	inner := def.Execute
	def.Execute = func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
		l.bodies++
		l.reach("body")
		run.DeferContext(registry.Context{Content: []content.Block{content.Text("deferred")}})
		switch l.draw("body", "ok", "ok", "error", "panic", "invalid", "ctx") {
		case "error":
			return jsonvalue.Value{}, errors.New("body broke")
		case "panic":
			panic("body broke")
		case "invalid":
			return jsonvalue.Int(1), nil
		case "ctx":
			if err := ctx.Err(); err != nil {
				return jsonvalue.Value{}, err
			}
		}
		return inner(ctx, args, run)
	}
	if _, err := reg.Global().Register(def); err != nil {
		rt.Fatal(err)
	}
	l.listen()
	return l
}

// listen adds drawn listeners at drawn scopes, some of them in front.
func (l *lab) listen() {
	for i := range rapid.IntRange(0, 6).Draw(l.rt, "listeners") {
		s := l.reg.Global()
		if rapid.Bool().Draw(l.rt, "scoped") {
			s = l.agent.scope
		}
		var opts []registry.ListenerOption
		if rapid.Bool().Draw(l.rt, "prepend") {
			opts = append(opts, registry.Prepend())
		}
		var err error
		switch l.draw(fmt.Sprintf("listener %d", i), "pre", "pre", "around", "post") {
		case "pre":
			_, err = l.pipe.OnPreExecute(s, l.pre(), opts...)
		case "around":
			_, err = l.pipe.OnExecute(s, l.around(), opts...)
		case "post":
			_, err = l.pipe.OnPostExecute(s, l.post(), opts...)
		}
		if err != nil {
			l.rt.Fatal(err)
		}
	}
}

func (l *lab) pre() pipeline.PreFunc {
	does := l.draw("pre does", "next", "next", "allow", "deny", "ask", "zero", "error", "panic", "override", "twice")
	return func(ctx context.Context, _ *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
		l.reach("pre")
		switch does {
		case "allow":
			return pipeline.Allow(), nil
		case "deny":
			return pipeline.Deny("policy"), nil
		case "ask":
			return pipeline.Ask("risky"), nil
		case "zero":
			return pipeline.Decision{}, nil
		case "error":
			return pipeline.Allow(), errors.New("pre broke")
		case "panic":
			panic("pre broke")
		case "override":
			_, _ = next(ctx)
			return pipeline.Allow(), nil
		case "twice":
			_, _ = next(ctx)
		}
		return next(ctx)
	}
}

func (l *lab) around() pipeline.ExecFunc {
	does := l.draw("around does", "next", "next", "detached", "cancelled", "success", "invalid", "content", "failure", "nil", "error", "panic", "retry", "after")
	return func(ctx context.Context, _ *registry.Execution, next pipeline.ExecNext) (*pipeline.Result, error) {
		l.reach("around")
		switch does {
		case "detached":
			return next(context.WithoutCancel(ctx))
		case "cancelled":
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return next(ctx)
		case "success":
			return registry.Success(jsonvalue.String("short")), nil
		case "invalid":
			return registry.Success(jsonvalue.Int(1)), nil
		case "content":
			return registry.NewResult(registry.ResultSpec{Content: []content.Block{content.Text("short")}}), nil
		case "failure":
			return registry.Failure(registry.ErrorInfo{Message: "short"}), nil
		case "nil":
			return nil, nil
		case "error":
			return nil, errors.New("around broke")
		case "panic":
			panic("around broke")
		case "retry":
			_, _ = next(ctx)
		case "after":
			_, err := next(ctx)
			l.reach("after")
			return registry.Success(jsonvalue.String("covered up")), err
		}
		return next(ctx)
	}
}

func (l *lab) post() pipeline.PostFunc {
	does := l.draw("post does", "next", "next", "accept", "content", "value", "both", "block", "empty block", "zero", "error", "panic")
	return func(ctx context.Context, _ *registry.Execution, _ *pipeline.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
		l.reach("post")
		text := content.Text("posted")
		switch does {
		case "accept":
			return pipeline.Accept(), nil
		case "content":
			return pipeline.Accept().WithContent(text), nil
		case "value":
			return pipeline.Accept().WithValue(jsonvalue.String("posted")), nil
		case "both":
			return pipeline.Accept().WithContent(text).WithValue(jsonvalue.String("posted")), nil
		case "block":
			return pipeline.Block(text), nil
		case "empty block":
			return pipeline.Block(), nil
		case "zero":
			return pipeline.PostDecision{}, nil
		case "error":
			return pipeline.Accept(), errors.New("post broke")
		case "panic":
			panic("post broke")
		}
		return next(ctx)
	}
}

func (l *lab) call() pipeline.Call {
	return pipeline.Call{ID: "c1", Name: "tool", RawArguments: `{"path":"a"}`, Agent: l.agent}
}

// Whatever listeners there are, in whatever order, a guard's denial stands.
func TestLawGuardDenialStands(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(rt)
		place := rapid.IntRange(0, 3).Draw(rt, "denying guard")
		for i := range 4 {
			s := l.reg.Global()
			if rapid.Bool().Draw(rt, "scoped guard") {
				s = l.agent.scope
			}
			if _, err := s.Guard(func(*registry.Execution) (registry.Verdict, error) {
				if i == place {
					return registry.Veto("never"), nil
				}
				return registry.Pass(), nil
			}); err != nil {
				rt.Fatal(err)
			}
		}
		l.listen() // and more, after the guards
		r := l.pipe.Execute(l.ctx, l.call())
		if l.bodies != 0 || !r.IsError() {
			rt.Fatalf("the body ran %d times; result %s", l.bodies, r.ToValue())
		}
	})
}

// A call whose caller is cancelled before its result is final never reports success.
func TestLawCancelledNeverSucceeds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(rt)
		l.at = l.draw("cancel at", "before", "pre", "approval", "around", "body", "after", "post", "guard")
		if _, err := l.reg.Global().Guard(func(*registry.Execution) (registry.Verdict, error) {
			l.reach("guard")
			return registry.Pass(), nil
		}); err != nil {
			rt.Fatal(err)
		}
		l.reach("before")
		r := l.pipe.Execute(l.ctx, l.call())
		if l.ctx.Err() != nil && !r.IsError() {
			rt.Fatalf("cancelled at %s, and still a success: %s", l.at, r.ToValue())
		}
		if l.at == "before" && l.bodies > 0 {
			rt.Fatal("the body of a call that was never wanted ran")
		}
	})
}

// One result for every call, seen once by every observer, and the same
// afterwards whatever they do to what they can reach.
func TestLawFrozenResult(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(rt)
		seen := []string{}
		for range 3 {
			if _, err := l.pipe.OnResult(l.reg.Global(), func(e *registry.Execution, r *pipeline.Result) {
				seen = append(seen, r.ToValue().String()+e.Arguments().String())
				spoil(r)
				panic("observer broke")
			}); err != nil {
				rt.Fatal(err)
			}
		}
		r := l.pipe.Execute(l.ctx, l.call())
		if len(seen) != 3 {
			rt.Fatalf("%d of 3 observers ran", len(seen))
		}
		spoil(r)
		seen = append(seen, r.ToValue().String()+`{"path":"a"}`)
		for _, s := range seen {
			if s != seen[0] {
				rt.Fatalf("observers saw different results:\n%s\n%s", seen[0], s)
			}
		}
	})
}

// spoil changes everything that can be reached from a result.
func spoil(r *pipeline.Result) {
	blocks := r.Content()
	for i := range blocks {
		blocks[i] = content.Text("spoiled")
	}
	_ = append(blocks[:0:len(blocks)], content.Text("spoiled"))
	cs := r.Contexts()
	for i := range cs {
		for j := range cs[i].Content {
			cs[i].Content[j] = content.Text("spoiled")
		}
		cs[i] = registry.Context{}
	}
	sp := r.Spec()
	clear(sp.Content)
	clear(sp.Contexts)
	_ = r.WithContent(nil).WithContexts(registry.Context{Content: blocks})
}

// The arguments that reach the body are those that the log, the policy, the
// person and the card see: the parsed text.
func TestLawOneArguments(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 4).Draw(rt, "members")
		obj := jsonvalue.Object(jsonvalue.Member{Key: "path", Value: jsonvalue.String(rapid.String().Draw(rt, "path"))})
		for i := range n {
			obj = obj.With(rapid.String().Draw(rt, "key"), jsonvalue.Int(rapid.Int64().Draw(rt, "value")+int64(i)))
		}
		obj = obj.With("path", jsonvalue.String("p"))
		raw := obj.String()
		var seen []jsonvalue.Value
		see := func(v jsonvalue.Value) { seen = append(seen, v) }

		reg, _ := registry.New(registry.Options{})
		pipe, _ := pipeline.New(reg, pipeline.Options{Approver: approveFunc(func(req pipeline.ApprovalRequest) {
			see(req.Execution.Arguments())
			req.Tool.PresentCall(req.Execution.Arguments())
		})})
		def := noop("tool")
		def.PresentCall = func(args jsonvalue.Value) *cards.Call { see(args); return nil }
		def.ConcurrencySafe = func(args jsonvalue.Value) bool { see(args); return true }
		def.Execute = func(_ context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			see(args)
			see(run.Execution().Arguments())
			return jsonvalue.String("x"), nil
		}
		def.Output.Render = func(args, _ jsonvalue.Value) ([]content.Block, error) { see(args); return nil, nil }
		_, _ = reg.Global().Register(def)
		_, _ = pipe.OnPreExecute(reg.Global(), func(_ context.Context, e *registry.Execution, _ pipeline.PreNext) (pipeline.Decision, error) {
			see(e.Arguments())
			return pipeline.Ask("look"), nil
		})
		_, _ = pipe.OnResult(reg.Global(), func(e *registry.Execution, _ *pipeline.Result) { see(e.Arguments()) })
		sink := &recorder{}
		if _, err := pipe.RunBatch(context.Background(), []pipeline.Call{
			{ID: "1", Name: "tool", RawArguments: raw, Agent: agent{reg.Global().Child("a")}},
		}, sink); err != nil {
			rt.Fatal(err)
		}
		logged, err := pipeline.ParseArguments(sink.calls[0].RawArguments)
		if err != nil || sink.calls[0].RawArguments != raw {
			rt.Fatalf("logged %q: %v", sink.calls[0].RawArguments, err)
		}
		if len(seen) != 8 {
			rt.Fatalf("seen %d times, result %s", len(seen), sink.results[0].ToValue())
		}
		for i, v := range seen {
			if !v.Equal(logged) || v.String() != logged.String() {
				rt.Fatalf("sight %d: %s, logged %s", i, v, logged)
			}
		}
	})
}

type approveFunc func(pipeline.ApprovalRequest)

func (f approveFunc) RequestApproval(_ context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	f(req)
	return pipeline.AllowedOnce, nil
}

// recorder is a sink that keeps everything, and notices what must not be.
type recorder struct {
	mu      sync.Mutex
	calls   []pipeline.Call
	order   []int // places of results
	results []*pipeline.Result
	open    map[int]bool
	wrong   string
	ctxs    int
}

func (s *recorder) AppendCall(_ context.Context, i int, c pipeline.Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i != len(s.calls) {
		s.wrong = fmt.Sprintf("call %d announced in place %d", i, len(s.calls))
	}
	s.calls = append(s.calls, c)
	if s.open == nil {
		s.open = map[int]bool{}
	}
	s.open[i] = true
	return nil
}

func (s *recorder) AppendResult(_ context.Context, i int, _ pipeline.Call, _ *registry.Execution, r *pipeline.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open[i] {
		s.wrong = fmt.Sprintf("result %d without an open call", i)
	}
	delete(s.open, i)
	s.order = append(s.order, i)
	s.results = append(s.results, r)
	return nil
}

func (s *recorder) AppendContexts(_ context.Context, cs []registry.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctxs += len(cs)
	return nil
}

// Results come in the order of the message whatever ends first, and every
// announced call ends exactly once, cancelled or not; exclusive bodies run alone
// and the cap holds.
func TestLawBatchOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 14).Draw(rt, "calls")
		limit := rapid.IntRange(1, 4).Draw(rt, "cap")
		cancelAfter := time.Duration(rapid.IntRange(-200, 60).Draw(rt, "cancel after")) * time.Millisecond
		delays := rapid.SliceOfN(rapid.IntRange(0, 30), n, n).Draw(rt, "delays")
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"parallel", "parallel", "exclusive", "unknown", "deny", "exit"}), n, n).Draw(rt, "kinds")
		fault := ""
		synctest.Test(t, func(t *testing.T) {
			fault = runDrawnBatch(limit, cancelAfter, delays, kinds)
		})
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

func runDrawnBatch(limit int, cancelAfter time.Duration, delays []int, kinds []string) string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reg, _ := registry.New(registry.Options{})
	pipe, _ := pipeline.New(reg, pipeline.Options{MaxParallel: limit})
	var mu sync.Mutex
	running, exclusive, fault := 0, 0, ""
	for _, kind := range []string{"parallel", "exclusive", "deny", "exit"} {
		def := noop(kind)
		def.ConcurrencySafe = func(jsonvalue.Value) bool { return kind != "exclusive" }
		def.Execute = func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
			mu.Lock()
			running++
			if kind == "exclusive" {
				exclusive++
			}
			if running > limit || exclusive > 0 && running > 1 {
				fault = fmt.Sprintf("%d bodies at once, %d of them exclusive, the cap is %d", running, exclusive, limit)
			}
			mu.Unlock()
			ms, _ := args.Get("ms").Int64()
			time.Sleep(time.Duration(ms) * time.Millisecond)
			mu.Lock()
			running--
			if kind == "exclusive" {
				exclusive--
			}
			mu.Unlock()
			if kind == "exit" {
				runtime.Goexit() // as a misused t.FailNow would
			}
			return jsonvalue.String("x"), nil
		}
		_, _ = reg.Global().Register(def)
	}
	_, _ = pipe.OnPreExecute(reg.Global(), func(ctx context.Context, e *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
		if e.Name() == "deny" {
			return pipeline.Deny("no"), nil
		}
		return next(ctx)
	})
	var calls []pipeline.Call
	for i, k := range kinds {
		calls = append(calls, pipeline.Call{ID: fmt.Sprint(i), Name: k, RawArguments: fmt.Sprintf(`{"path":"a","ms":%d}`, delays[i])})
	}
	if cancelAfter >= 0 {
		time.AfterFunc(cancelAfter, cancel)
	}
	sink := &recorder{}
	outcome, err := pipe.RunBatch(ctx, calls, sink)
	switch {
	case err != nil:
		return err.Error()
	case fault != "":
		return fault
	case sink.wrong != "":
		return sink.wrong
	case len(sink.open) > 0 || len(sink.results) != len(calls):
		return fmt.Sprintf("%d results for %d calls", len(sink.results), len(calls))
	case !slices.IsSorted(sink.order):
		return fmt.Sprintf("results in the order %v", sink.order)
	case running != 0:
		return "a body outlived its batch"
	case outcome.Cancelled != (ctx.Err() != nil) && cancelAfter < 0:
		return "a batch that nobody cancelled says it was"
	}
	return ""
}
