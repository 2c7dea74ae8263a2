package pipeline_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

func TestParseArguments(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{text: "", want: "{}"},
		{text: `{"a":1}`, want: `{"a":1}`},
		{text: `{"id":9007199254740993}`, want: `{"id":9007199254740993}`},
		{text: "null", want: "null"},
		{text: "not json {", want: `"not json {"`},
		{text: `{"a":1} trailing`, want: `"{\"a\":1} trailing"`},
		{text: " ", want: `" "`},
		{text: `{"a":1,"a":2}`, err: "tool execution arguments must be losslessly JSON-serializable: "},
		{text: `{"n":-0}`, err: "tool execution arguments must be losslessly JSON-serializable"},
		{text: `{"n":1e400}`, err: "tool execution arguments must be losslessly JSON-serializable"},
	} {
		v, err := pipeline.ParseArguments(c.text)
		switch {
		case c.err == "" && (err != nil || v.String() != c.want):
			t.Errorf("%q: %s, %v; want %s", c.text, v, err, c.want)
		case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)):
			t.Errorf("%q: %v; want %s", c.text, err, c.err)
		}
	}
}

func TestThrownError(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{`"text"`, "text"},
		{`null`, "null"},
		{`true`, "true"},
		{`1e21`, "1e+21"},
		{`{}`, "[object Object]"},
		{`{"message":"m"}`, "m"},
		{`{"message":5}`, "[object Object]"},
		{`[1,null,["a"]]`, "1,,a"},
	} {
		v, err := jsonvalue.ParseString(c.json)
		must(t, err)
		if got := pipeline.ThrownError(v).Error(); got != c.want {
			t.Errorf("%s: %q, want %q", c.json, got, c.want)
		}
	}
	v, _ := jsonvalue.ParseString(`{"message":"m","code":"C","name":"N"}`)
	var coded pipeline.CodedError
	if !errors.As(pipeline.ThrownError(v), &coded) || coded.Code() != "C" || coded.ErrorName() != "N" {
		t.Errorf("the code is lost: %v", pipeline.ThrownError(v))
	}
	if got := pipeline.ThrownError(jsonvalue.Value{}).Error(); got != "undefined" {
		t.Errorf("absent: %q", got)
	}
}

// A panic anywhere is an error result that names the tool, or is contained.
func TestPanicsAreContained(t *testing.T) {
	boom := func() { panic("boom") }
	for _, c := range []struct {
		where string
		setup func(t *testing.T, p *pipeline.Pipeline, def *registry.Definition)
		fails bool
		runs  bool // the body ran
	}{
		{"pre-execute", func(t *testing.T, p *pipeline.Pipeline, _ *registry.Definition) {
			_, err := p.OnPreExecute(p.Registry().Global(), func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
				boom()
				return pipeline.Allow(), nil
			})
			must(t, err)
		}, true, false},
		{"guard", func(t *testing.T, p *pipeline.Pipeline, _ *registry.Definition) {
			_, err := p.Registry().Global().Guard(func(*registry.Execution) (registry.Verdict, error) { boom(); return registry.Pass(), nil })
			must(t, err)
		}, true, false},
		{"wrapper", func(t *testing.T, p *pipeline.Pipeline, _ *registry.Definition) {
			wrap(t, p, func(context.Context, pipeline.ExecNext) (*pipeline.Result, error) { boom(); return nil, nil })
		}, true, false},
		{"wrapper afterwards", func(t *testing.T, p *pipeline.Pipeline, _ *registry.Definition) {
			wrap(t, p, func(ctx context.Context, next pipeline.ExecNext) (*pipeline.Result, error) {
				_, _ = next(ctx)
				boom()
				return nil, nil
			})
		}, true, true},
		{"body", func(_ *testing.T, _ *pipeline.Pipeline, def *registry.Definition) {
			def.Execute = func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
				boom()
				return jsonvalue.Value{}, nil
			}
		}, true, false},
		{"render", func(_ *testing.T, _ *pipeline.Pipeline, def *registry.Definition) {
			def.Output.Render = func(_, _ jsonvalue.Value) ([]content.Block, error) { boom(); return nil, nil }
		}, true, true},
		{"presentation meta", func(_ *testing.T, _ *pipeline.Pipeline, def *registry.Definition) {
			def.Output.PresentationMeta = func(_, _ jsonvalue.Value) (jsonvalue.Value, error) { boom(); return jsonvalue.Value{}, nil }
		}, true, true},
		{"post-execute", func(t *testing.T, p *pipeline.Pipeline, _ *registry.Definition) {
			_, err := p.OnPostExecute(p.Registry().Global(), func(context.Context, *registry.Execution, *pipeline.Result, pipeline.PostNext) (pipeline.PostDecision, error) {
				boom()
				return pipeline.Accept(), nil
			})
			must(t, err)
		}, true, true},
		{"finaliser", func(_ *testing.T, _ *pipeline.Pipeline, def *registry.Definition) {
			def.FinalizeContent = func(*registry.Execution, *registry.Result) ([]content.Block, error) { boom(); return nil, nil }
		}, true, true},
		{"observer", func(t *testing.T, p *pipeline.Pipeline, _ *registry.Definition) {
			_, err := p.OnResult(p.Registry().Global(), func(*registry.Execution, *pipeline.Result) { boom() })
			must(t, err)
		}, false, true},
		{"classifier", func(_ *testing.T, _ *pipeline.Pipeline, def *registry.Definition) {
			def.ConcurrencySafe = func(jsonvalue.Value) bool { boom(); return true }
		}, false, true},
		{"error text", func(_ *testing.T, _ *pipeline.Pipeline, def *registry.Definition) {
			def.Execute = func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
				return jsonvalue.Value{}, hostileError{}
			}
		}, true, false},
	} {
		t.Run(c.where, func(t *testing.T) {
			p, s := newPipe(t, pipeline.Options{})
			def := noop("tool")
			ran := false
			inner := def.Execute
			def.Execute = func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
				ran = true
				return inner(ctx, args, run)
			}
			c.setup(t, p, &def)
			register(t, s, def)
			p.Classify(oneCall)
			r := p.Execute(context.Background(), oneCall)
			if r.IsError() != c.fails || ran != c.runs {
				t.Errorf("failed %v, ran %v: %s", r.IsError(), ran, r.ToValue())
			}
			if m := r.ErrorInfo().Message; c.fails && !(strings.Contains(m, `"tool"`) && strings.Contains(m, "boom")) && m != "<unprintable thrown value>" {
				t.Errorf("the message does not say what panicked: %q", m)
			}
		})
	}
}

type hostileError struct{}

func (hostileError) Error() string { panic("no text for you") }

// A nested call cites a token that is real, of this registry, and still running.
func TestNestedCalls(t *testing.T) {
	p, s := newPipe(t, pipeline.Options{})
	var outer *registry.Execution
	var inner *pipeline.Result
	var nested *registry.Execution
	register(t, s, body(func(ctx context.Context, run registry.Run) (jsonvalue.Value, error) {
		outer = run.Execution()
		inner = p.Execute(ctx, pipeline.Call{ID: "1:code:1", Name: "leaf", Parent: outer.Token(), Arguments: jsonvalue.Object()})
		return jsonvalue.String("x"), nil
	}))
	leaf := body(func(_ context.Context, run registry.Run) (jsonvalue.Value, error) {
		nested = run.Execution()
		return jsonvalue.String("leaf"), nil
	})
	leaf.Name = "leaf"
	leaf.Parameters = nil
	leaf.Output.PresentationMeta = func(_, _ jsonvalue.Value) (jsonvalue.Value, error) { return jsonvalue.Bool(true), nil }
	register(t, s, leaf)
	if r := p.Execute(context.Background(), oneCall); r.IsError() || inner.IsError() {
		t.Fatalf("%s; %s", r.ToValue(), inner.ToValue())
	}
	if !nested.Nested() || nested.RootCallID() != "1" || nested.Parent() != outer.Token() || nested.Token() == outer.Token() {
		t.Error("the nested execution does not know where it belongs")
	}
	if !inner.Meta().IsUndefined() {
		t.Error("a nested call has presentation meta")
	}
	if r := p.Execute(context.Background(), pipeline.Call{ID: "2", Name: "leaf"}); r.Meta().IsUndefined() {
		t.Error("a call of the model has no presentation meta")
	}

	late := p.Execute(context.Background(), pipeline.Call{ID: "3", Name: "leaf", Parent: outer.Token()})
	if !late.IsError() || !strings.HasPrefix(late.ErrorInfo().Message, "tool execution parent has ended") {
		t.Errorf("a parent that has ended: %s", late.ToValue())
	}
	other, otherScope := newPipe(t, pipeline.Options{})
	register(t, otherScope, body(func(ctx context.Context, run registry.Run) (jsonvalue.Value, error) {
		inner = p.Execute(ctx, pipeline.Call{ID: "4", Name: "leaf", Parent: run.Execution().Token()})
		return jsonvalue.String("x"), nil
	}))
	other.Execute(context.Background(), oneCall)
	if inner.ErrorInfo().Message != "tool execution parent must be a registry-minted opaque token" {
		t.Errorf("a foreign parent: %s", inner.ToValue())
	}
}

type codeTransport struct{ def registry.Definition }

func (codeTransport) Language() string                     { return "typescript" }
func (c codeTransport) Definition() registry.Definition    { return c.def }
func (codeTransport) SDK([]*registry.Tool) (string, error) { return "sdk", nil }

// In code mode a direct call is refused before any policy, and a nested one runs.
func TestCodeModeCollapse(t *testing.T) {
	reg, err := registry.New(registry.Options{Mode: registry.ModeCode})
	must(t, err)
	p, err := pipeline.New(reg, pipeline.Options{})
	must(t, err)
	var viaProgram, again *pipeline.Result
	def := body(func(ctx context.Context, run registry.Run) (jsonvalue.Value, error) {
		viaProgram = p.Execute(ctx, pipeline.Call{ID: "1:1", Name: "tool", RawArguments: `{"path":"a"}`, Parent: run.Execution().Token()})
		again = p.Execute(ctx, pipeline.Call{ID: "1:2", Name: "run_code", RawArguments: `{"path":"a"}`, Parent: run.Execution().Token()})
		return jsonvalue.String("x"), nil
	})
	def.Name = registry.RunCode
	_, err = reg.SetTransport(codeTransport{def})
	must(t, err)
	tool := noop("tool")
	tool.ConcurrencySafe = func(jsonvalue.Value) bool { return true }
	finalised := 0
	tool.FinalizeContent = func(*registry.Execution, *registry.Result) ([]content.Block, error) { finalised++; return nil, nil }
	register(t, reg.Global(), tool)
	policy := 0
	_, err = p.OnPreExecute(reg.Global(), func(ctx context.Context, _ *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
		policy++
		return next(ctx)
	})
	must(t, err)

	r := p.Execute(context.Background(), oneCall)
	if want := "Error: unknown tool \"tool\": only `run_code` is callable directly — call `tool` from inside a `run_code` program instead"; r.Text() != want || policy != 0 || finalised != 0 {
		t.Errorf("%q, %d policies, %d finalised", r.Text(), policy, finalised)
	}
	if p.Classify(oneCall) {
		t.Error("a call that will be refused is classified as parallel")
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	wantCode(t, p.Execute(cancelled, oneCall), pipeline.CodeAbortedBeforeDispatch)
	if finalised != 1 {
		t.Error("a call cancelled before it was refused keeps its finaliser")
	}
	outer := oneCall
	outer.Name = registry.RunCode
	if r := p.Execute(context.Background(), outer); r.IsError() || viaProgram.IsError() {
		t.Errorf("%s; %s", r.ToValue(), viaProgram.ToValue())
	}
	if again.Text() != `Error: unknown tool "run_code"` {
		t.Errorf("a program reached run_code: %s", again.ToValue())
	}
	unknown := oneCall
	unknown.Name = "nope"
	if r := p.Execute(context.Background(), unknown); r.Text() != `Error: unknown tool "nope"` {
		t.Errorf("%q", r.Text())
	}
}

// Listeners hear the calls that their scope sees, in the order in which they
// were added, and no more after they end.
func TestListenerScopes(t *testing.T) {
	p, g := newPipe(t, pipeline.Options{})
	register(t, g, noop("tool"))
	a, b := g.Child("a"), g.Child("b")
	child := a.Child("child")
	plugin := registry.NewOwner("plugin")
	var heard []string
	hear := func(s *registry.Scope, name string, opts ...registry.ListenerOption) func() {
		d, err := p.OnPreExecute(s, func(ctx context.Context, _ *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
			heard = append(heard, name)
			return next(ctx)
		}, opts...)
		must(t, err)
		return d
	}
	hear(a, "a1")
	dispose := hear(g, "g1")
	hear(child, "c1")
	hear(a, "a0", registry.Prepend())
	hear(g.OwnedBy(plugin), "p1")
	hear(b, "b1")
	check := func(s *registry.Scope, want ...string) {
		t.Helper()
		heard = nil
		call := oneCall
		if s != nil {
			call.Agent = agent{s}
		}
		p.Execute(context.Background(), call)
		if !slices.Equal(heard, want) {
			t.Errorf("heard %v, want %v", heard, want)
		}
	}
	check(nil, "g1", "p1")
	check(a, "a0", "a1", "g1", "p1")
	check(child, "a0", "a1", "g1", "c1", "p1")
	check(b, "g1", "p1", "b1")
	dispose()
	dispose()
	plugin.Dispose()
	check(child, "a0", "a1", "c1")
	a.Close()
	check(child)
	check(b, "b1")
	if _, err := p.OnResult(a, func(*registry.Execution, *pipeline.Result) {}); err == nil {
		t.Error("a listener was added to a scope that has ended")
	}
	if _, err := p.OnResult(g.OwnedBy(plugin), func(*registry.Execution, *pipeline.Result) {}); err == nil {
		t.Error("a listener was added for an owner that has ended")
	}
}

// A body announces itself when it starts, and its handle works until it ends.
func TestRunHandle(t *testing.T) {
	p, s := newPipe(t, pipeline.Options{})
	var kept registry.Run
	var order []string
	register(t, s, body(func(_ context.Context, run registry.Run) (jsonvalue.Value, error) {
		kept = run
		order = append(order, "body")
		run.Output([]byte("live"))
		run.ConcludeTurn()
		return jsonvalue.String("x"), run.Emit("todo/write", jsonvalue.Int(1))
	}))
	call := oneCall
	call.OnRunning = func(e *registry.Execution) {
		order = append(order, "running "+e.CallID())
		panic("the bridge broke")
	}
	call.Output = func(chunk []byte) { order = append(order, string(chunk)) }
	call.Emit = func(typ string, data jsonvalue.Value) error {
		order = append(order, typ+data.String())
		return nil
	}
	r := p.Execute(context.Background(), call)
	if want := []string{"running 1", "body", "live", "todo/write1"}; !slices.Equal(order, want) || r.IsError() || !r.ConcludesTurn() {
		t.Errorf("%v, %s", order, r.ToValue())
	}
	kept.DeferContext(registry.Context{Content: []content.Block{content.Text("late")}})
	if err := kept.Emit("late", jsonvalue.Null()); err == nil || r.HasContexts() || len(order) != 4 {
		t.Error("the handle works after the call")
	}
	if r := p.Execute(context.Background(), oneCall); !r.IsError() || r.ConcludesTurn() {
		t.Errorf("a call without a session: %s", r.ToValue())
	}
	denied := call
	denied.OnRunning = func(*registry.Execution) { t.Error("a refused call announces that it runs") }
	denied.RawArguments = "{}"
	wantCode(t, p.Execute(context.Background(), denied), pipeline.CodeInvalidArgs)
}

// A value that reaches nobody: invalid, lossy, or absent.
func TestOutputValidation(t *testing.T) {
	minusZero, err := jsonvalue.ParseString("-0")
	must(t, err)
	for _, c := range []struct {
		name  string
		value jsonvalue.Value
		want  string
	}{
		{"valid", jsonvalue.String("x"), "done"},
		{"of another type", jsonvalue.Int(1), `Error: tool "tool" returned invalid output: "value" must be a string`},
		{"absent", jsonvalue.Value{}, `Error: tool "tool" returned invalid output: value is not lossless JSON`},
		{"lossy", minusZero, `Error: tool "tool" returned invalid output: value is not lossless JSON`},
	} {
		p, s := newPipe(t, pipeline.Options{})
		register(t, s, body(func(context.Context, registry.Run) (jsonvalue.Value, error) { return c.value, nil }))
		if r := p.Execute(context.Background(), oneCall); r.Text() != c.want {
			t.Errorf("%s: %q, want %q", c.name, r.Text(), c.want)
		}
	}
	if _, err := jsonvalue.Float(math.NaN()); err == nil {
		t.Error("NaN is a value")
	}
}

type lostAgent struct{ scope func() *registry.Scope }

func (lostAgent) AgentID() string          { return "lost" }
func (a lostAgent) Scope() *registry.Scope { return a.scope() }

// An agent without a scope here can call nothing: what it may not do is unknown.
func TestAgentWithoutScope(t *testing.T) {
	p, g := newPipe(t, pipeline.Options{})
	register(t, g, noop("tool"))
	_, other := newPipe(t, pipeline.Options{})
	register(t, other, noop("tool"))
	closed := g.Child("closed")
	closed.Close()
	for name, scope := range map[string]func() *registry.Scope{
		"none":             func() *registry.Scope { return nil },
		"panics":           func() *registry.Scope { panic("no scope") },
		"another's":        func() *registry.Scope { return other },
		"one that is over": func() *registry.Scope { return closed },
	} {
		call := oneCall
		call.Agent = lostAgent{scope}
		if r := p.Execute(context.Background(), call); r.ErrorInfo().Code != pipeline.CodeUnknownTool {
			t.Errorf("%s: %s", name, r.ToValue())
		}
	}
}
