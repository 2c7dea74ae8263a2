package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

func newPipe(t testing.TB, o pipeline.Options) (*pipeline.Pipeline, *registry.Scope) {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	must(t, err)
	p, err := pipeline.New(reg, o)
	must(t, err)
	return p, reg.Global()
}

func register(t testing.TB, s *registry.Scope, def registry.Definition) {
	t.Helper()
	_, err := s.Register(def)
	must(t, err)
}

// body is a tool with the given body.
func body(f func(ctx context.Context, run registry.Run) (jsonvalue.Value, error)) registry.Definition {
	def := noop("tool")
	def.Execute = func(ctx context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
		return f(ctx, run)
	}
	return def
}

var oneCall = pipeline.Call{ID: "1", Name: "tool", RawArguments: `{"path":"a"}`}

func wrap(t testing.TB, p *pipeline.Pipeline, f func(ctx context.Context, next pipeline.ExecNext) (*pipeline.Result, error)) {
	t.Helper()
	_, err := p.OnExecute(p.Registry().Global(), func(ctx context.Context, _ *registry.Execution, next pipeline.ExecNext) (*pipeline.Result, error) {
		return f(ctx, next)
	})
	must(t, err)
}

func wantCode(t *testing.T, r *pipeline.Result, code string) {
	t.Helper()
	if got := r.ErrorInfo().Code; got != code || !r.IsError() && code != "" {
		t.Errorf("code %q, want %q; result %s", got, code, r.ToValue())
	}
}

// A wrapper cannot take a call out of its caller's reach, and its own values and
// cancellation reach the body.
func TestWrapperOnlyTightens(t *testing.T) {
	type key struct{}
	cause := errors.New("the editor went away")
	for _, who := range []string{"caller", "wrapper", "caller's deadline"} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, s := newPipe(t, pipeline.Options{})
				var got error
				register(t, s, body(func(ctx context.Context, _ registry.Run) (jsonvalue.Value, error) {
					if ctx.Value(key{}) != "kept" {
						t.Error("the wrapper's values are lost")
					}
					<-ctx.Done()
					got = context.Cause(ctx)
					return jsonvalue.String("late"), nil
				}))
				caller, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				if who == "caller's deadline" {
					var stop context.CancelFunc
					caller, stop = context.WithTimeoutCause(caller, time.Second, cause)
					defer stop()
				}
				wrap(t, p, func(ctx context.Context, next pipeline.ExecNext) (*pipeline.Result, error) {
					inner, stop := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), key{}, "kept"))
					defer stop(nil)
					if who == "wrapper" {
						time.AfterFunc(time.Second, func() { stop(cause) })
					}
					return next(inner)
				})
				if who == "caller" {
					time.AfterFunc(time.Second, func() { cancel(cause) })
				}
				wantCode(t, p.Execute(caller, oneCall), pipeline.CodeAborted)
				if got != cause {
					t.Errorf("cause %v, want %v", got, cause)
				}
			})
		})
	}
}

func TestTimeout(t *testing.T) {
	wait := func(d time.Duration) func(context.Context, registry.Run) (jsonvalue.Value, error) {
		return func(ctx context.Context, _ registry.Run) (jsonvalue.Value, error) {
			select {
			case <-ctx.Done():
				return jsonvalue.Value{}, ctx.Err()
			case <-time.After(d):
				return jsonvalue.String("in time"), nil
			}
		}
	}
	uncooperative := func(context.Context, registry.Run) (jsonvalue.Value, error) {
		time.Sleep(5 * time.Second)
		return jsonvalue.String("late"), nil
	}
	for _, c := range []struct {
		name    string
		body    func(context.Context, registry.Run) (jsonvalue.Value, error)
		budget  time.Duration
		cancel  time.Duration // of the caller; 0 never
		code    string
		text    string
		elapsed time.Duration
	}{
		{name: "in time", body: wait(time.Second), budget: 2 * time.Second, text: "done", elapsed: time.Second},
		{name: "too late", body: wait(9 * time.Second), budget: 1500 * time.Millisecond, code: pipeline.CodeToolTimeout, text: "Error: tool call timed out after 1500ms", elapsed: 1500 * time.Millisecond},
		{name: "waits for the body", body: uncooperative, budget: time.Second, code: pipeline.CodeToolTimeout, text: "Error: tool call timed out after 1000ms", elapsed: 5 * time.Second},
		{name: "caller first", body: wait(9 * time.Second), budget: 2 * time.Second, cancel: time.Second, code: pipeline.CodeAborted, text: "Error: tool call aborted", elapsed: time.Second},
		{name: "no budget", body: wait(time.Hour), text: "done", elapsed: time.Hour},
		{name: "beyond the longest", body: wait(time.Hour), budget: 1<<63 - 1, text: "done", elapsed: time.Hour},
		{name: "part of a millisecond", body: wait(time.Hour), budget: 500 * time.Microsecond, code: pipeline.CodeToolTimeout, text: "Error: tool call timed out after 0.5ms", elapsed: 500 * time.Microsecond},
	} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/own wrapper %v", c.name, own), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, s := newPipe(t, pipeline.Options{NoTimeouts: own})
					if own {
						_, err := p.OnExecute(s, p.TimeoutWrapper())
						must(t, err)
					}
					posts := 0
					_, err := p.OnPostExecute(s, func(ctx context.Context, _ *registry.Execution, r *pipeline.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
						posts++
						if r.ErrorInfo().Code != c.code {
							t.Errorf("post-execute sees %s", r.ToValue())
						}
						return next(ctx)
					})
					must(t, err)
					def := body(c.body)
					def.Timeout = c.budget
					register(t, s, def)
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if c.cancel > 0 {
						time.AfterFunc(c.cancel, cancel)
					}
					start := time.Now()
					r := p.Execute(ctx, oneCall)
					wantCode(t, r, c.code)
					if r.Text() != c.text || posts != 1 {
						t.Errorf("%q after %d post-executes, want %q", r.Text(), posts, c.text)
					}
					if d := time.Since(start); d != c.elapsed {
						t.Errorf("took %v, want %v", d, c.elapsed)
					}
				})
			})
		}
	}
}

// A wrapper that goes away does not take the result with it: the pipeline waits
// for the body, and a next kept for later does nothing.
func TestWrapperRacesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newPipe(t, pipeline.Options{})
		ended := 0
		register(t, s, body(func(context.Context, registry.Run) (jsonvalue.Value, error) {
			time.Sleep(time.Second)
			ended++
			return jsonvalue.String("x"), nil
		}))
		var kept pipeline.ExecNext
		wrap(t, p, func(ctx context.Context, next pipeline.ExecNext) (*pipeline.Result, error) {
			kept = next
			go func() { _, _ = next(ctx) }()
			time.Sleep(time.Millisecond)
			return registry.Success(jsonvalue.String("raced")), nil
		})
		r := p.Execute(context.Background(), oneCall)
		if ended != 1 || r.IsError() {
			t.Fatalf("the body ended %d times before the call did; %s", ended, r.ToValue())
		}
		late, err := kept(context.Background())
		must(t, err)
		wantCode(t, late, pipeline.CodeAbortedBeforeDispatch)
		if ended != 1 {
			t.Error("a kept next ran the body after the call")
		}
	})
}

// A cancelled tool that only passes on the news is aborted; one with something
// of its own to say is not.
func TestCancelledBodyErrors(t *testing.T) {
	cause := errors.New("stopped by the user")
	for _, c := range []struct {
		name string
		err  func(ctx context.Context) error
		code string
	}{
		{"its context's error", func(ctx context.Context) error { return ctx.Err() }, pipeline.CodeAborted},
		{"wrapped", func(ctx context.Context) error { return fmt.Errorf("read: %w", ctx.Err()) }, pipeline.CodeAborted},
		{"the cause", func(context.Context) error { return cause }, pipeline.CodeAborted},
		{"a coded error", func(ctx context.Context) error { return pipeline.NewError("OwnError", "OWN", "half done") }, "OWN"},
		{"another error", func(context.Context) error { return errors.New("disk full") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, s := newPipe(t, pipeline.Options{})
			ctx, cancel := context.WithCancelCause(context.Background())
			register(t, s, body(func(ctx context.Context, _ registry.Run) (jsonvalue.Value, error) {
				cancel(cause)
				return jsonvalue.Value{}, c.err(ctx)
			}))
			r := p.Execute(ctx, oneCall)
			if !r.IsError() || r.ErrorInfo().Code != c.code {
				t.Errorf("%s", r.ToValue())
			}
		})
	}
	t.Run("not cancelled", func(t *testing.T) {
		p, s := newPipe(t, pipeline.Options{})
		register(t, s, body(func(context.Context, registry.Run) (jsonvalue.Value, error) {
			return jsonvalue.Value{}, context.DeadlineExceeded // of a request of its own
		}))
		wantCode(t, p.Execute(context.Background(), oneCall), "")
	})
}
