package codemode_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/codemode"
	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// script is an engine whose program is a Go function.
type script func(ctx context.Context, h runner.Host) runner.Outcome

func (s script) Run(ctx context.Context, _ runner.Program, h runner.Host) runner.Outcome {
	return s(ctx, h)
}

// calls submits calls the way a worker does, and collects the replies.
type calls struct {
	h runner.Host
	n int
	// replies are in the order in which the calls ended.
	mu      sync.Mutex
	replies []string
	wg      sync.WaitGroup
}

func (c *calls) submit(name string, args any, more ...func(*runner.Call)) {
	c.n++
	call := runner.Call{N: c.n, Name: name, Arguments: jsonvalue.MustFromGo(args)}
	for _, f := range more {
		f(&call)
	}
	c.wg.Add(1)
	n := c.n
	var settled atomic.Int32
	c.h.Submit(context.Background(), call, func(r runner.Reply) {
		if settled.Add(1) > 1 {
			panic("a call was settled twice")
		}
		text := fmt.Sprintf("%d %s", n, r.Value)
		if r.Failed {
			text = fmt.Sprintf("%d failed: %s", n, r.Message)
		}
		c.mu.Lock()
		c.replies = append(c.replies, text)
		c.mu.Unlock()
		c.wg.Done()
	})
}

func ok(v any) runner.Outcome {
	return runner.Outcome{OK: true, Value: jsonvalue.MustFromGo(v)}
}

// shape is the events without their data.
func shape(log []event) []string {
	var out []string
	for _, e := range log {
		id := e.Data.GetString("subCallId") + e.Data.GetString("callId")
		out = append(out, strings.TrimPrefix(e.Type, "tool/")+" "+strings.TrimPrefix(id, "c1:code:"))
	}
	return out
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func TestCallsRunOneAtATimeInOrder(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess)})
	r := w.run(t.Context(), `return await Promise.all([tools.slow({id: "a", ms: 20}), tools.slow({id: "b", ms: 1}), tools.write({id: "c"})])`)
	if r.IsError() {
		t.Fatal(r.Text())
	}
	equal(t, "bodies", w.bodyOrder(), []string{"start a", "end a", "start b", "end b", "start c", "end c"})
	equal(t, "events", shape(w.log()), []string{
		"code-dispatch-start 1", "start 1", "code-dispatch 1",
		"code-dispatch-start 2", "start 2", "code-dispatch 2",
		"code-dispatch-start 3", "start 3", "code-dispatch 3",
	})
}

func TestLossyArgumentsTakeNoNumber(t *testing.T) {
	var c *calls
	w := newWorld(t, worldOptions{engine: script(func(_ context.Context, h runner.Host) runner.Outcome {
		c = &calls{h: h}
		c.submit("echo", map[string]any{"value": 1}, func(c *runner.Call) { c.Arguments = jsonvalue.Value{} })
		c.submit("echo", map[string]any{"value": 2})
		c.wg.Wait()
		return ok(1)
	})})
	w.run(t.Context(), "")
	equal(t, "replies", c.replies, []string{"1 failed: tool arguments must be lossless JSON: not lossless JSON: there is no value", "2 2"})
	equal(t, "events", shape(w.log()), []string{"code-dispatch-start 1", "start 1", "code-dispatch 1"})
}

func TestValueThatAProgramWouldRoundIsRefused(t *testing.T) {
	big := registry.Definition{
		Name: "big", Parameters: schema.Params{}, Output: registry.Output{Schema: anyJSON(), Render: jsonText},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			return jsonvalue.ParseString("9007199254740993")
		},
	}
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess), tools: []registry.Definition{big}})
	r := w.run(t.Context(), `try { await tools.big({}) } catch (e) { return e.message }`)
	if !strings.Contains(r.Text(), "binding resolution must be lossless JSON") || !strings.Contains(r.Text(), "9007199254740993") {
		t.Error(r.Text())
	}
}

// person answers questions, and remembers them.
type person struct {
	mu      sync.Mutex
	asked   []string
	outcome pipeline.ApprovalOutcome
	wait    time.Duration
	log     func() []event
	seen    []string
}

func (p *person) RequestApproval(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	p.mu.Lock()
	p.asked = append(p.asked, req.Execution.Name()+": "+req.Reason)
	if p.log != nil {
		p.seen = shape(p.log())
	}
	p.mu.Unlock()
	select {
	case <-time.After(p.wait):
	case <-ctx.Done():
		return pipeline.Cancelled, nil
	}
	return p.outcome, nil
}

func guarded() registry.Definition {
	return registry.Definition{
		Name: "guarded", Parameters: schema.Params{}, Output: registry.Output{Schema: anyJSON(), Render: jsonText},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			return jsonvalue.String("done"), nil
		},
	}
}

func TestQuestionNamesTheLineAndStopsTheClock(t *testing.T) {
	for name, mode := range map[string]runner.Mode{"child": runner.Child, "in process": runner.InProcess} {
		t.Run(name, func(t *testing.T) {
			// Where all but the question takes too long already, everything has
			// more time.
			var p *person
			var w *world
			for wall := 300 * time.Millisecond; ; wall *= 3 {
				p = &person{outcome: pipeline.AllowedOnce, wait: wall + 100*time.Millisecond}
				w = newWorld(t, worldOptions{
					engine: sharedRunner(mode), approver: p, tools: []registry.Definition{guarded()},
					limits: runner.Limits{Wall: wall},
				})
				p.log = w.log
				r := w.run(t.Context(), "// a comment\nconst path: string = 'x';\n  return await tools.guarded({});\n")
				if !r.IsError() && r.Text() == "done" {
					break
				}
				if wall > 10*time.Second {
					t.Fatalf("the wall clock ran while a person was asked: %s", r.Text())
				}
			}
			equal(t, "questions", p.asked, []string{"guarded: Asked by line 3 of the program: return await tools.guarded({});\nwrites outside"})
			equal(t, "events before the question", p.seen, []string{"code-dispatch-start 1"})
			if line, _ := w.log()[0].Data.Get("line").Int64(); line != 3 {
				t.Errorf("the event names line %d: %s", line, w.log()[0].Data)
			}
		})
	}
}

func TestRefusalRejectsTheCall(t *testing.T) {
	p := &person{outcome: pipeline.Rejected}
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess), approver: p, tools: []registry.Definition{guarded()}})
	r := w.run(t.Context(), `try { await tools.guarded({}) } catch (e) { return [e.name, e.toolName, e.message] }`)
	if want := `["ToolCallError","guarded","the user rejected tool \"guarded\""]`; r.Value().Get("result").String() != want {
		t.Errorf("%s, want %s", r.Value(), want)
	}
}

func TestOtherQuestionsPassThrough(t *testing.T) {
	p := &person{outcome: pipeline.AllowedOnce}
	w := newWorld(t, worldOptions{engine: script(nil), approver: p, mode: registry.ModeNative, tools: []registry.Definition{guarded()}})
	w.pipe.Execute(t.Context(), pipeline.Call{ID: "n", Name: "guarded", Agent: w})
	equal(t, "questions", p.asked, []string{"guarded: writes outside"})
}

func TestCancelledRunDrains(t *testing.T) {
	for name, mode := range map[string]runner.Mode{"child": runner.Child, "in process": runner.InProcess} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{engine: sharedRunner(mode)})
			ctx, cancel := context.WithCancelCause(t.Context())
			var begin time.Time
			go func() { // when the first call runs
				for len(w.bodyOrder()) == 0 && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				begin = time.Now()
				cancel(errors.New("the person changed their mind"))
			}()
			r := w.run(ctx, `console.log("before"); await Promise.all([tools.slow({id: "a", ms: 60000}), tools.slow({id: "b", ms: 1})])`)
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("it took %v to end", took)
			}
			want := "Error: code run failed (abort): the person changed their mind"
			if got, _, _ := strings.Cut(r.Text(), "\n"); got != want || r.ErrorInfo().Code != codemode.CodeRunFailed {
				t.Errorf("%s %+v", r.Text(), r.ErrorInfo())
			}
			if !strings.HasSuffix(r.Text(), "Captured output:\nbefore") {
				t.Errorf("the output is lost: %s", r.Text())
			}
			equal(t, "events", shape(w.log()), []string{"code-dispatch-start 1", "start 1", "code-dispatch 1"})
			if got := w.log()[2].Data.Get("content").At(0).GetString("text"); got != "Error: tool call aborted" {
				t.Errorf("the running call ended with %q", got)
			}
		})
	}
}

// The messages of rule C5.2, as the program would read them.
func TestMessagesOfLateCalls(t *testing.T) {
	var c *calls
	started := make(chan struct{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stubborn := registry.Definition{
		Name: "stubborn", Parameters: schema.Params{}, Output: registry.Output{Schema: anyJSON(), Render: jsonText},
		Execute: func(ctx context.Context, _ jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
			close(started)
			<-ctx.Done()
			return jsonvalue.Int(1), nil
		},
	}
	w := newWorld(t, worldOptions{tools: []registry.Definition{stubborn}, engine: script(func(ctx context.Context, h runner.Host) runner.Outcome {
		c = &calls{h: h}
		c.submit("stubborn", map[string]any{})
		c.submit("echo", map[string]any{"value": 1})
		<-started
		cancel(errors.New("stop"))
		<-ctx.Done()
		for { // the bridge closes beside the engine
			c.mu.Lock()
			n := len(c.replies)
			c.mu.Unlock()
			if n == 2 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		c.submit("fail", map[string]any{"message": "x"})
		return runner.Outcome{Failure: &runner.Failure{Kind: runner.KindAbort, Message: "stop"}}
	})})
	w.run(ctx, "")
	slices.Sort(c.replies)
	equal(t, "replies", c.replies, []string{
		"1 failed: run_code run is over (stop); stubborn result discarded",
		"2 failed: run_code run is over (stop); echo tool call abandoned",
		"3 failed: run_code run is over (stop); fail not dispatched",
	})
}

func TestUnwritableLogEndsTheRun(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess)})
	w.failLog = 4 // the start of the second call
	r := w.run(t.Context(), `await tools.write({id: "a"}); await tools.write({id: "b"}).catch(() => {}); for (;;) {}`)
	if !r.IsError() || !strings.Contains(r.Text(), "the session log cannot be written: no space left on device") {
		t.Error(r.Text())
	}
	equal(t, "bodies", w.bodyOrder(), []string{"start a", "end a"})
}

func TestContextsAreDeferredInOrder(t *testing.T) {
	adds := registry.Definition{
		Name: "adds", Parameters: schema.Params{str("text")}, Output: registry.Output{Schema: anyJSON(), Render: jsonText},
		Execute: func(_ context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			run.DeferContext(registry.Context{Content: []content.Block{content.Text(args.GetString("text"))}, Source: jsonvalue.String("adds")})
			return jsonvalue.Null(), nil
		},
	}
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess), tools: []registry.Definition{adds}})
	r := w.run(t.Context(), `await tools.adds({text: "1"}); await tools.picture({}); await tools.adds({text: "2"}); throw new Error("later")`)
	var got []string
	for _, c := range r.Contexts() {
		got = append(got, content.JoinText(c.Content))
	}
	equal(t, "contexts of a failed run", got, []string{"1", "a picture", "2"})
}

func TestWithoutAnAgentNothingIsLogged(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess), bare: true})
	if _, err := w.reg.Global().Register(guarded()); err != nil {
		t.Fatal(err)
	}
	r := w.pipe.Execute(t.Context(), pipeline.Call{ID: "c1", Name: registry.RunCode, RawArguments: `{"code": "return await tools.guarded({})"}`})
	if r.Text() != "done" || len(w.log()) != 0 {
		t.Errorf("%s %v", r.Text(), w.log())
	}
}

func TestForgottenAwaitIsExplained(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess)})
	r := w.run(t.Context(), "async function main() {\n  console.log(await tools.slow({id: 'a', ms: 1000}));\n}\nmain();")
	for _, want := range []string{"nothing awaited", `tools["slow"] in line 2`} {
		if r.IsError() || !strings.Contains(r.Text(), want) {
			t.Errorf("no %q in %q", want, r.Text())
		}
	}
}

// A call that was to change something and was cut short must not pass for done,
// also when the program returned a value; one that only reads may.
func TestLostChangeIsReported(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess)})
	r := w.run(t.Context(), "tools.write({id: 'a', ms: 60000});\ntools.write({id: 'b'});\nreturn 'done'")
	for _, want := range []string{"nothing awaited", `tools["write"] in line 1`, `tools["write"] in line 2`, "\ndone"} {
		if r.IsError() || !strings.Contains(r.Text(), want) {
			t.Errorf("no %q in %q", want, r.Text())
		}
	}
	for _, program := range []string{
		"tools.slow({id: 'a', ms: 60000}); return 'done'",
		"await tools.write({id: 'a'}); return 'done'",
		"tools.fail({message: 'no'}).catch(() => {}); await tools.echo({value: 1}); return 'done'",
	} {
		if r := w.run(t.Context(), program); r.Text() != "done" {
			t.Errorf("%s: %q", program, r.Text())
		}
	}
}

func TestIndexedToolsCanBeSearchedAndDescribed(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess), maxChars: 300})
	r := w.run(t.Context(), `
		const found = await tools.$search("picture");
		const text = await tools.$describe(found[0].name);
		const wrong = await tools.$describe("pictur").catch(e => e.message);
		return [found[0].name, text.includes("picture"), wrong, Object.keys(tools).slice(-2)]`)
	want := `["picture",true,"there is no tool named \"pictur\"; did you mean \"picture\"?",["$search","$describe"]]`
	if got := r.Value().Get("result").String(); got != want {
		t.Errorf("%s %s\nwant %s", got, r.Text(), want)
	}
	if len(w.log()) != 0 {
		t.Errorf("looking something up is no call: %v", shape(w.log()))
	}
	p, err := w.scope.Assemble(t.Context())
	if err != nil || !strings.Contains(p.System, "$search") {
		t.Errorf("%v: the prompt has no index", err)
	}
	plain := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess)})
	if r := plain.run(t.Context(), `return typeof tools.$search`); r.Text() != "undefined" {
		t.Errorf("$search is %s where the prompt declares every tool", r.Text())
	}
}

func TestSubCallsLookLikeTheToolsOwn(t *testing.T) {
	meta := registry.Definition{
		Name: "meta", Parameters: schema.Params{}, Output: registry.Output{
			Schema: anyJSON(), Render: jsonText,
			PresentationMeta: func(_, v jsonvalue.Value) (jsonvalue.Value, error) {
				return jsonvalue.MustFromGo(map[string]any{"lines": v}), nil
			},
		},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			return jsonvalue.Int(7), nil
		},
	}
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess), tools: []registry.Definition{meta}})
	w.run(t.Context(), `await tools.meta({})`)
	log := w.log()
	if got := log[len(log)-1].Data.Get("meta").String(); got != `{"lines":7}` {
		t.Errorf("meta %s in %s", got, log[len(log)-1].Data)
	}
}

func TestPolicyMayReplaceContentOrValue(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess)})
	_, err := w.pipe.OnPostExecute(w.scope, func(ctx context.Context, exec *registry.Execution, r *registry.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
		switch exec.Arguments().GetString("value") {
		case "content":
			return pipeline.Accept().WithContent(content.Text("shortened")), nil
		case "value":
			return pipeline.Accept().WithValue(jsonvalue.String("replaced")), nil
		case "block":
			return pipeline.Block(content.Text("not like this")), nil
		}
		return next(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	r := w.run(t.Context(), `return [await tools.echo({value: "content"}), await tools.echo({value: "value"}), await tools.echo({value: "block"}).catch(e => e.message)]`)
	if got := r.Value().Get("result").String(); got != `["content","replaced","not like this"]` {
		t.Error(got)
	}
	var texts []string
	for _, e := range w.log() {
		if e.Type == "tool/code-dispatch" {
			texts = append(texts, e.Data.Get("content").At(0).GetString("text"))
		}
	}
	equal(t, "logged content", texts, []string{"shortened", "replaced", "not like this"})
}

func TestBrokenEngineIsContained(t *testing.T) {
	var c *calls
	w := newWorld(t, worldOptions{engine: script(func(_ context.Context, h runner.Host) runner.Outcome {
		c = &calls{h: h}
		c.submit("slow", map[string]any{"id": "a", "ms": 60000})
		panic("the engine broke")
	})})
	r := w.run(t.Context(), "")
	if !r.IsError() || !strings.Contains(r.Text(), "the engine broke") {
		t.Error(r.Text())
	}
	c.wg.Wait()
	equal(t, "events", shape(w.log()), []string{"code-dispatch-start 1", "start 1", "code-dispatch 1"})
}

func TestReportHasTheOutcome(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess)})
	var out runner.Outcome
	w.run(codemode.WithReport(t.Context(), &out), "console.log(1);\nthrow new RangeError('no')")
	if f := out.Failure; f == nil || f.Kind != runner.KindException || f.Line != 2 || len(out.Logs) != 1 {
		t.Errorf("%+v %+v", out, out.Failure)
	}
}

func TestDefinition(t *testing.T) {
	w := newWorld(t, worldOptions{engine: script(nil)})
	var tool *registry.Tool
	for _, s := range w.scope.Visible() {
		if s.IsTransport() {
			tool = s
		}
	}
	if tool == nil {
		t.Fatal("no run_code")
	}
	if got := tool.Parameters().Get("required").String(); got != `["code"]` {
		t.Errorf("required %s", got)
	}
	program := "const x = 1;\nreturn x"
	for _, tt := range []struct{ args, title string }{
		{`{"code": "const x = 1;\nreturn x"}`, program},
		{`{"code": "const x = 1;\nreturn x", "description": " \n"}`, program},
		{`{"code": "const x = 1;\nreturn x", "description": " Return one "}`, "Return one"},
	} {
		args, err := jsonvalue.ParseString(tt.args)
		if err != nil {
			t.Fatal(err)
		}
		card := tool.PresentCall(args)
		if card.Title != tt.title || card.Kind != cards.KindExecute || card.RawInput.String() != jsonvalue.String(program).String() ||
			content.JoinText(card.Content) != "```ts\n"+program+"\n```" {
			t.Errorf("%+v", card)
		}
	}
	if tool.ConcurrencySafe(jsonvalue.MustFromGo(map[string]any{"code": "1"})) {
		t.Error("run_code is exclusive")
	}
	if v := tool.ValidateOutput(jsonvalue.MustFromGo(map[string]any{"logs": []any{}, "more": 1})); len(v) == 0 {
		t.Error("the output schema is open")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	w := newWorld(t, worldOptions{engine: script(nil)})
	for _, o := range []codemode.Options{
		{},
		{Pipeline: w.pipe},
		{Engine: script(nil)},
		{Pipeline: w.pipe, Engine: script(nil), Settings: codemode.Settings{MaxParallelCalls: -1}},
	} {
		if _, err := codemode.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestAgentsMayHaveStricterSettings(t *testing.T) {
	var seen runner.Program
	w := newWorld(t, worldOptions{engine: engineFunc(func(p runner.Program) runner.Outcome { seen = p; return ok(1) })})
	strict, err := codemode.New(codemode.Options{
		Pipeline: w.pipe, Engine: engineFunc(func(p runner.Program) runner.Outcome { seen = p; return ok(1) }),
		SettingsOf: func(a registry.Agent) (codemode.Settings, bool) {
			return codemode.Settings{Limits: runner.Limits{Compute: time.Second}}, a.AgentID() == "agent"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.reg.SetTransport(strict); err != nil {
		t.Fatal(err)
	}
	w.run(t.Context(), "the program")
	if seen.Limits.Compute != time.Second || seen.Source != "the program" {
		t.Errorf("%+v", seen)
	}
}

type engineFunc func(runner.Program) runner.Outcome

func (f engineFunc) Run(_ context.Context, p runner.Program, _ runner.Host) runner.Outcome {
	return f(p)
}
