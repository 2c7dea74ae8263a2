package pipeline_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// failingSink breaks at one place and notices whether it is used afterwards.
type failingSink struct {
	recorder
	at     string
	panics bool
	broken bool
	after  int
}

func (s *failingSink) reach(where string) error {
	if s.broken {
		s.after++
	}
	if where != s.at {
		return nil
	}
	s.broken = true
	if s.panics {
		panic("disk full")
	}
	return errors.New("disk full")
}

func (s *failingSink) AppendCall(ctx context.Context, i int, c pipeline.Call) error {
	time.Sleep(time.Nanosecond) // until bodies launched before this one run
	if err := s.reach("call " + c.ID); err != nil {
		return err
	}
	return s.recorder.AppendCall(ctx, i, c)
}

func (s *failingSink) AppendResult(ctx context.Context, i int, c pipeline.Call, e *registry.Execution, r *pipeline.Result) error {
	if ctx.Err() != nil {
		s.wrong = "the log is written under a context that has ended"
	}
	if err := s.reach("result " + c.ID); err != nil {
		return err
	}
	return s.recorder.AppendResult(ctx, i, c, e, r)
}

func (s *failingSink) AppendContexts(ctx context.Context, cs []registry.Context) error {
	if err := s.reach("contexts"); err != nil {
		return err
	}
	return s.recorder.AppendContexts(ctx, cs)
}

// When the log breaks, what runs is ended and waited for, nothing is invented,
// and the error says what could not be logged (rule R13.8).
func TestBatchSinkFails(t *testing.T) {
	for _, at := range []string{"call 1", "call 2", "result 1", "result 2", "contexts"} {
		for _, panics := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p, s := newPipe(t, pipeline.Options{})
				var running atomic.Int32
				def := body(func(ctx context.Context, run registry.Run) (jsonvalue.Value, error) {
					running.Add(1)
					defer running.Add(-1)
					run.DeferContext(registry.Context{Content: []content.Block{content.Text("c")}})
					select {
					case <-ctx.Done():
						time.Sleep(time.Second) // ends in its own time
					case <-time.After(time.Hour):
					}
					return jsonvalue.String("x"), nil
				})
				def.ConcurrencySafe = func(jsonvalue.Value) bool { return true }
				register(t, s, def)
				sink := &failingSink{at: at, panics: panics}
				var calls []pipeline.Call
				for _, id := range []string{"1", "2"} {
					calls = append(calls, pipeline.Call{ID: id, Name: "tool", RawArguments: `{"path":"a"}`})
				}
				start := time.Now()
				_, err := p.RunBatch(context.Background(), calls, sink)
				if d := time.Since(start); at != "result 1" && at != "result 2" && at != "contexts" && d > time.Minute {
					t.Errorf("%s: what ran was not cancelled: %v", at, d)
				}
				if err == nil || !strings.Contains(err.Error(), "disk full") || !strings.Contains(err.Error(), strings.Fields(at)[0]) {
					t.Errorf("%s: %v", at, err)
				}
				if running.Load() != 0 || sink.after != 0 || sink.wrong != "" {
					t.Errorf("%s: %d bodies still run, the sink was used %d times more; %s", at, running.Load(), sink.after, sink.wrong)
				}
			})
		}
	}
}

// Calls that may overlap are all announced before the first of their results,
// however fast a body is: what an editor is shown does not depend on the load of
// the machine.
func TestBatchOrderDoesNotDependOnSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newPipe(t, pipeline.Options{})
		def := body(func(context.Context, registry.Run) (jsonvalue.Value, error) { return jsonvalue.String("x"), nil })
		def.ConcurrencySafe = func(jsonvalue.Value) bool {
			synctest.Wait() // until every body that was launched has ended
			return true
		}
		register(t, s, def)
		sink := &orderSink{}
		calls := make([]pipeline.Call, 3)
		for i := range calls {
			calls[i] = pipeline.Call{ID: strconv.Itoa(i), Name: "tool", RawArguments: `{"path":"a"}`}
		}
		if _, err := p.RunBatch(context.Background(), calls, sink); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(sink.seen, " "); got != "call0 call1 call2 result0 result1 result2" {
			t.Error(got)
		}
	})
}

// orderSink keeps what is logged, in order.
type orderSink struct{ seen []string }

func (s *orderSink) AppendCall(_ context.Context, _ int, c pipeline.Call) error {
	s.seen = append(s.seen, "call"+c.ID)
	return nil
}

func (s *orderSink) AppendResult(_ context.Context, _ int, c pipeline.Call, _ *registry.Execution, _ *pipeline.Result) error {
	s.seen = append(s.seen, "result"+c.ID)
	return nil
}

func (s *orderSink) AppendContexts(context.Context, []registry.Context) error { return nil }

// A cancelled batch parks its contexts, logs under a context that lives, and
// says that it was cancelled (rules R13.6, R13.7).
func TestBatchCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newPipe(t, pipeline.Options{})
		register(t, s, body(func(ctx context.Context, run registry.Run) (jsonvalue.Value, error) {
			run.DeferContext(registry.Context{Content: []content.Block{content.Text("kept")}})
			<-ctx.Done()
			return jsonvalue.String("x"), nil
		}))
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		sink := &failingSink{}
		outcome, err := p.RunBatch(ctx, []pipeline.Call{oneCall, oneCall}, sink)
		must(t, err)
		if !outcome.Cancelled || len(outcome.Parked) != 1 || content.JoinText(outcome.Parked[0].Content) != "kept" || sink.ctxs != 0 {
			t.Errorf("%+v, %d contexts logged", outcome, sink.ctxs)
		}
		if sink.wrong != "" {
			t.Error(sink.wrong)
		}
		wantCode(t, sink.results[0], pipeline.CodeAborted)
		wantCode(t, sink.results[1], pipeline.CodeAbortedBeforeDispatch)
	})
}

// The turn ends after the whole batch when one success says so; a failure
// cannot (rules R5.26, R13.9).
func TestBatchConcludes(t *testing.T) {
	for _, fails := range []bool{false, true} {
		p, s := newPipe(t, pipeline.Options{})
		bodies := 0
		register(t, s, body(func(_ context.Context, run registry.Run) (jsonvalue.Value, error) {
			if bodies++; bodies == 1 {
				run.ConcludeTurn()
				if fails {
					return jsonvalue.Value{}, errors.New("no")
				}
			}
			return jsonvalue.String("x"), nil
		}))
		outcome, err := p.RunBatch(context.Background(), []pipeline.Call{oneCall, oneCall}, &recorder{})
		must(t, err)
		if bodies != 2 || outcome.ConcludesTurn == fails {
			t.Errorf("fails %v: %d bodies, %+v", fails, bodies, outcome)
		}
	}
}

// Contexts of several calls reach the log together, after all results.
func TestBatchContexts(t *testing.T) {
	p, s := newPipe(t, pipeline.Options{})
	register(t, s, body(func(_ context.Context, run registry.Run) (jsonvalue.Value, error) {
		run.DeferContext(registry.Context{Content: []content.Block{content.Text("c")}})
		return jsonvalue.String("x"), nil
	}))
	sink := &recorder{}
	_, err := p.RunBatch(context.Background(), []pipeline.Call{oneCall, oneCall, oneCall}, sink)
	must(t, err)
	if sink.ctxs != 3 {
		t.Errorf("%d contexts", sink.ctxs)
	}
}

// Nobody is asked about a call that cannot run, whether a listener says that it
// wants an answer, asks by itself, or the question could be put ahead.
func TestNobodyIsAskedAboutWhatCannotRun(t *testing.T) {
	for _, how := range []string{"decided", "asked by the listener", "ahead"} {
		for _, c := range []struct{ name, args, code, text string }{
			{"nothing", `{}`, pipeline.CodeUnknownTool, `Error: unknown tool "nothing"`},
			{"tool", `{}`, pipeline.CodeInvalidArgs, `Error: invalid arguments: missing required property "path"`},
			{"tool", `{"path":5}`, pipeline.CodeInvalidArgs, `Error: invalid arguments: "path" must be a string`},
			{"tool", `not an object`, pipeline.CodeInvalidArgs, `Error: invalid arguments: "arguments" must be an object`},
		} {
			reg, err := registry.New(registry.Options{})
			must(t, err)
			asked := 0
			p, err := pipeline.New(reg, pipeline.Options{Approver: approveFunc(func(pipeline.ApprovalRequest) { asked++ })})
			must(t, err)
			register(t, reg.Global(), noop("tool"))
			_, err = p.OnPreExecute(reg.Global(), func(ctx context.Context, exec *registry.Execution, _ pipeline.PreNext) (pipeline.Decision, error) {
				if how != "asked by the listener" {
					return pipeline.Ask("why"), nil
				}
				if _, err := p.RequestApproval(ctx, pipeline.ApprovalRequest{Execution: exec, Reason: "why"}); err != nil {
					return pipeline.Decision{}, err
				}
				return pipeline.Allow(), nil
			})
			must(t, err)
			_, err = p.OnForesee(reg.Global(), func(*registry.Execution) pipeline.Decision { return pipeline.Ask("why") })
			must(t, err)
			call := oneCall
			call.Name, call.RawArguments = c.name, c.args
			call.Agent = agent{reg.Global().Child("a")}
			calls := []pipeline.Call{call}
			if how == "ahead" {
				calls = append(calls, call)
			}
			sink := &recorder{}
			_, err = p.RunBatch(context.Background(), calls, sink)
			must(t, err)
			for _, r := range sink.results {
				if r.Text() != c.text {
					t.Errorf("%s: %s %s: %q", how, c.name, c.args, r.Text())
				}
				wantCode(t, r, c.code)
			}
			if asked != 0 || len(sink.results) != len(calls) {
				t.Errorf("%s: %s %s: asked %d times, %d results", how, c.name, c.args, asked, len(sink.results))
			}
		}
	}
}

// What the approver gets is the call as it will run; its error and its panic
// fail the call.
func TestApprovalRequest(t *testing.T) {
	reg, err := registry.New(registry.Options{})
	must(t, err)
	var got pipeline.ApprovalRequest
	p, err := pipeline.New(reg, pipeline.Options{Approver: approveFunc(func(req pipeline.ApprovalRequest) { got = req })})
	must(t, err)
	register(t, reg.Global(), noop("tool"))
	_, err = p.OnPreExecute(reg.Global(), func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
		return pipeline.Ask("it is risky"), nil
	})
	must(t, err)
	call := oneCall
	call.Agent = agent{reg.Global().Child("a")}
	if r := p.Execute(context.Background(), call); r.IsError() {
		t.Fatal(r.Text())
	}
	if got.Reason != "it is risky" || got.Execution.Arguments().GetString("path") != "a" || got.Tool.Name() != "tool" || got.Execution.Agent().AgentID() != "a" {
		t.Errorf("%+v", got)
	}
}
