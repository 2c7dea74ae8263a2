package delegate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/delegate"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

var limits = delegate.Limits{MaxDepth: 1, MaxRunning: 4, MaxSteps: 10}

// The parent gets the last message; its log tells what the subagent did; the
// subagent's own log says whose it is and holds the whole conversation.
func TestATaskIsDone(t *testing.T) {
	w := newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			return calls("subagent", task("look"))
		case text == "go":
			return says("done")
		case n == 0:
			return reply{text: "Let me see.", calls: []string{"echo", `{"x": 1}`}}
		default:
			return says("it is " + lastResult(req))
		}
	})
	if stop := w.prompt("go"); stop != agent.EndTurn {
		t.Error(stop)
	}
	if text, isError := w.result(); isError || text != `it is echo{"x":1}` {
		t.Errorf("%v %q", isError, text)
	}
	expect(t, w.told(),
		"start call1-1 thinker/big",
		"said Let me see. by call1-1",
		`call call1-1/call2-1 echo {"x":1} by call1-1`,
		"result call1-1/call2-1 false",
		"end call1-1 end_turn 2 1")
	if len(w.logs) != 1 {
		t.Fatal(len(w.logs))
	}
	h := w.logs[0].Header()
	if h.ParentSession != "root" || h.DelegationDepth != 1 || h.SeedLength != 0 || h.Cwd != "/work" {
		t.Errorf("%+v", h)
	}
	if got := session.Messages(w.logs[0].Events()); len(got) != 4 || got[0].Text() != "look" {
		t.Errorf("%+v", got)
	}
	if len(w.closed) != 1 || w.closed[0] != h.ID || len(w.opened) != 1 || w.opened[0] != "root true false" {
		t.Errorf("opened: %q, closed: %q", w.opened, w.closed)
	}
	if w.logs[0].Err() != session.ErrClosed {
		t.Error("the log is open")
	}
}

// A subagent has neither the tools that speak with the user nor, at the bound,
// those that hand work on; and it is told what it is.
func TestWhatASubagentHas(t *testing.T) {
	var seen model.Request
	w := newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			return calls("subagent", task("look"))
		case text == "look" && n == 0:
			seen = req
			return calls("subagent", task("deeper"))
		case text == "look":
			return says(lastResult(req))
		}
		return says("done")
	})
	w.prompt("go")
	for name, want := range map[string]bool{"echo": true, "danger": true, "subagent": false, "subagent_fork": false, "ask_user_question": false, "exit_plan_mode": false, "final_answer": false} {
		if hasTool(seen, name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
	if !strings.Contains(seen.System, "You are a subagent") {
		t.Error(seen.System)
	}
	if text, _ := w.result(); text != `Error: unknown tool "subagent"` {
		t.Error(text)
	}
}

func TestAConfiguredListOfTools(t *testing.T) {
	l := limits
	l.Tools = []string{"ec*", "subagent", "nothing", "ask_*"}
	l.MaxDepth = 2
	var seen model.Request
	w := newWorld(t, l, agent.Config{}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			return calls("subagent", task("look"))
		case text == "look":
			seen = req
		}
		return says("done")
	})
	w.prompt("go")
	for name, want := range map[string]bool{"echo": true, "danger": false, "subagent": true, "subagent_fork": false, "ask_user_question": false} {
		if hasTool(seen, name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

// Questions are those of the session that has a person, about a card of its log,
// and say who asks, however deep.
func TestQuestionsGoToTheRoot(t *testing.T) {
	var asked []agent.Question
	var root *agent.Session
	asker := askFunc(func(_ context.Context, q agent.Question) (agent.Answer, error) {
		if q.Session != root {
			t.Error("the question is another session's")
		}
		asked = append(asked, q)
		return agent.AnswerAllowOnce, nil
	})
	l := limits
	l.MaxDepth = 2
	w := newWorld(t, l, agent.Config{Asker: asker}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			return calls("subagent", `{"description": "Outer", "prompt": "one"}`)
		case text == "one" && n == 0:
			return calls("subagent", `{"description": "Inner", "prompt": "two"}`)
		case text == "two" && n == 0:
			return calls("danger", "{}")
		default:
			return says(lastResult(req))
		}
	})
	root = w.s
	w.prompt("go")
	if text, isError := w.result(); isError || text != "danger{}" {
		t.Error(text)
	}
	if len(asked) != 1 {
		t.Fatal(len(asked))
	}
	q := asked[0]
	if q.Card() != "call1-1/call2-1/call3-1" || q.Reason != "Asked by the subagent \"Outer\" › \"Inner\"\nit is dangerous" || q.Execution.Name() != "danger" {
		t.Errorf("%q %q", q.Card(), q.Reason)
	}
	expect(t, w.told(),
		"start call1-1 thinker/big",
		`call call1-1/call2-1 subagent {"description":"Inner","prompt":"two"} by call1-1`,
		"call call1-1/call2-1/call3-1 danger {} by call1-1/call2-1",
		"asked call1-1/call2-1/call3-1",
		"decided allowed-once",
		"result call1-1/call2-1/call3-1 false",
		"result call1-1/call2-1 false",
		"end call1-1 end_turn 2 1")
}

func TestNobodyToAsk(t *testing.T) {
	w := newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			return calls("subagent", task("one"))
		case text == "one" && n == 0:
			return calls("danger", "{}")
		default:
			return says(lastResult(req))
		}
	})
	w.prompt("go")
	if text, _ := w.result(); text != `Error: tool "danger" requires approval, but no approval channel is available` {
		t.Error(text)
	}
}

// An answer for good is remembered where the parent's are.
func TestGrantsAreShared(t *testing.T) {
	g := &grants{}
	w := newWorld(t, limits, agent.Config{
		Grants: g,
		Asker:  askFunc(func(context.Context, agent.Question) (agent.Answer, error) { return agent.AnswerAllowSession, nil }),
	}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			return calls("subagent", task("one"))
		case text == "one" && n == 0:
			return calls("danger", "{}")
		default:
			return says("done")
		}
	})
	w.prompt("go")
	if g.remembered != "danger" {
		t.Errorf("%q", g.remembered)
	}
}

type grants struct {
	agent.Grants
	remembered string
}

func (g *grants) Offer(*registry.Execution) []agent.Lasting {
	return []agent.Lasting{{Answer: agent.AnswerAllowSession, Label: "Always"}}
}

func (g *grants) Remember(exec *registry.Execution, _ agent.Lasting) error {
	g.remembered = exec.Name()
	return nil
}

func (g *grants) Changed() <-chan struct{} { return nil }

// A fork knows the conversation up to the step with its call; a fresh subagent
// knows its task alone.
func TestForksKnowTheConversation(t *testing.T) {
	var seen []model.Request
	w := newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "remember plum":
			return says("noted")
		case text == "go" && n == 0:
			return calls("echo", `{"first":true}`)
		case text == "go" && n == 1:
			return calls("subagent_fork", task("say it"), "echo", `{"second":true}`)
		case text == "say it":
			seen = append(seen, req)
			return says("plum")
		}
		return says("done")
	})
	w.prompt("remember plum")
	w.prompt("go")
	if len(seen) != 1 {
		t.Fatal(len(seen))
	}
	var got []string
	for _, m := range seen[0].Messages {
		got = append(got, string(m.Role)+": "+m.Text())
	}
	expect(t, got, "user: remember plum", "assistant: noted", "user: go", "assistant: ", `tool: echo{"first":true}`, "user: say it")
	if !strings.Contains(seen[0].System, "a copy of the agent") {
		t.Error(seen[0].System)
	}
	log := w.logs[0]
	n := log.Header().SeedLength
	for i, ev := range log.Events()[:n] {
		if of := w.s.Log().Events()[i]; of.Type != ev.Type || !of.Data.Equal(ev.Data) || !of.Time.Equal(ev.Time) {
			t.Fatalf("event %d is %s, not %s", i, ev.Type, of.Type)
		}
	}
	if rest := log.Events()[n:]; rest[0].Type != session.TypeTurnEnd || rest[1].Type != session.TypeTurnStart || rest[1].Turn() != 3 {
		t.Errorf("%s, %s", rest[0].Type, rest[1].Type)
	}
	if session.Repair(log.Events()) != nil {
		t.Error("the log is not whole")
	}
}

// What the parent's model changed to meanwhile, a subagent has; a configured
// model answers fresh ones only.
func TestTheModelOfASubagent(t *testing.T) {
	for _, tt := range []struct{ configured, tool, want string }{
		{"", "subagent", "thinker/big"},
		{"small", "subagent", "thinker/small"},
		{"thinker/tiny", "subagent", "thinker/tiny"},
		{"org/name", "subagent", "thinker/org/name"},
		{"small", "subagent_fork", "thinker/big"},
	} {
		l := limits
		l.Model = tt.configured
		w := newWorld(t, l, agent.Config{}, func(_ context.Context, req model.Request) reply {
			if text, n := prompt(req); text == "go" && n == 0 {
				return calls(tt.tool, task("one"))
			}
			return says(req.Model)
		})
		w.prompt("go")
		if text, _ := w.result(); "thinker/"+text != tt.want || w.told()[0] != "start call1-1 "+tt.want {
			t.Errorf("%+v: %s, %s", tt, text, w.told()[0])
		}
	}
}

// Every way to end that is no end has its words, with what was said last.
func TestHowARunEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(n int) reply
		want string
	}{
		{"token limit", func(int) reply { return reply{text: "I was", kind: model.FinishMaxTokens} }, "Error: subagent run hit its token limit before finishing\nIts last words: I was"},
		{"refusal", func(int) reply { return reply{kind: "content-filter"} }, "Error: subagent declined the task"},
		{"provider", func(int) reply { return reply{err: &model.Error{Message: "no such model"}} }, "Error: subagent run failed: no such model"},
		{"steps", func(n int) reply { return calls("echo", fmt.Sprint(n)) }, "Error: subagent run ended abnormally (limit of model requests: 10)"},
		{"silence", func(int) reply { return reply{} }, "(the subagent ended without a message)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
				switch text, n := prompt(req); {
				case text == "go" && n == 0:
					return calls("subagent", task("one"))
				case text == "go":
					return says("done")
				default:
					return tt.do(n)
				}
			})
			w.prompt("go")
			if text, _ := w.result(); text != tt.want {
				t.Errorf("%q", text)
			}
		})
	}
}

// The time that a person takes is not the subagent's.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limits
		l.Timeout = time.Minute
		w := newWorld(t, l, agent.Config{Asker: askFunc(func(ctx context.Context, _ agent.Question) (agent.Answer, error) {
			time.Sleep(time.Hour)
			return agent.AnswerAllowOnce, ctx.Err()
		})}, func(ctx context.Context, req model.Request) reply {
			switch text, n := prompt(req); {
			case text == "go" && n == 0:
				return calls("subagent", task("patient"))
			case text == "go" && n == 1:
				return calls("subagent", task("slow"))
			case text == "patient" && n == 0:
				time.Sleep(50 * time.Second)
				return calls("danger", "{}")
			case text == "patient":
				time.Sleep(9 * time.Second)
				return says("in time")
			case text == "slow":
				select {
				case <-time.After(61 * time.Second):
				case <-ctx.Done():
				}
			}
			return says("done")
		})
		if stop := w.prompt("go"); stop != agent.EndTurn {
			t.Error(stop)
		}
		if text, _ := w.result(); text != "Error: subagent run ended abnormally (no end after 1m0s)" {
			t.Error(text)
		}
		var results []string
		for _, ev := range w.s.Log().Events() {
			if ev.Type == session.TypeToolResult {
				results = append(results, ev.Data.Get("content").At(0).GetString("text"))
			}
		}
		if results[0] != "in time" {
			t.Error(results)
		}
	})
}

// Cancelling the turn ends the subagents and awaits them.
func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, limits, agent.Config{}, func(inner context.Context, req model.Request) reply {
		if text, n := prompt(req); text == "go" && n == 0 {
			return calls("subagent", task("one"))
		}
		cancel()
		<-inner.Done()
		return reply{err: inner.Err()}
	})
	stop, err := w.s.Prompt(ctx, []content.Block{content.Text("go")})
	if stop != agent.Cancelled || err != nil {
		t.Error(stop, err)
	}
	if text, isError := w.result(); !isError || text != "Error: tool call aborted" {
		t.Error(text)
	}
	if w.logs[0].Err() != session.ErrClosed || len(w.closed) != 1 {
		t.Error("the subagent was not awaited")
	}
	if session.Repair(w.s.Log().Events()) != nil {
		t.Error("the parent's log is not whole")
	}
}

// Calls of one step overlap, as many as may; none is lost.
func TestSubagentsOverlap(t *testing.T) {
	const n, most = 7, 3
	var running, peak atomic.Int64
	var meet sync.WaitGroup
	meet.Add(most)
	l := limits
	l.MaxRunning = most
	w := newWorld(t, l, agent.Config{}, func(_ context.Context, req model.Request) reply {
		text, answers := prompt(req)
		switch {
		case text == "go" && answers == 0:
			var all []string
			for i := range n {
				all = append(all, "subagent", task(fmt.Sprint(i)))
			}
			return calls(all...)
		case text == "go":
			return says("done")
		}
		now := running.Add(1)
		defer running.Add(-1)
		for p := peak.Load(); now > p && !peak.CompareAndSwap(p, now); p = peak.Load() {
		}
		if text < fmt.Sprint(most) {
			meet.Done()
			meet.Wait() // as many as may are here at once
		}
		return says("result " + text)
	})
	if stop := w.prompt("go"); stop != agent.EndTurn {
		t.Error(stop)
	}
	if peak.Load() != most {
		t.Errorf("%d at a time", peak.Load())
	}
	i := 0
	for _, ev := range w.s.Log().Events() {
		if ev.Type == session.TypeToolResult {
			if got := ev.Data.Get("content").At(0).GetString("text"); got != fmt.Sprint("result ", i) {
				t.Errorf("result %d: %q", i, got)
			}
			i++
		}
	}
	if i != n {
		t.Errorf("%d results", i)
	}
}

// One that waits for its own subagents keeps no place from them.
func TestWaitingForEachOtherStopsNobody(t *testing.T) {
	l := delegate.Limits{MaxDepth: 3, MaxRunning: 1, MaxSteps: 10}
	w := newWorld(t, l, agent.Config{}, func(_ context.Context, req model.Request) reply {
		text, n := prompt(req)
		switch {
		case len(text) < 4 && n == 0:
			return calls("subagent", task(text+"a"), "subagent", task(text+"b"))
		case len(text) < 4:
			return says(fmt.Sprint(len(session.Messages(nil)), text))
		}
		return says("leaf " + text)
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.prompt("x")
	}()
	select {
	case <-done:
	case <-time.After(100 * time.Second):
		t.Fatal("they wait for each other")
	}
	if len(w.logs) != 2+4+8 {
		t.Errorf("%d subagents", len(w.logs))
	}
}

// A result of a demanded shape is taken as data; one that does not fit is
// refused with what is wrong, a few times.
func TestStructuredResults(t *testing.T) {
	const shape = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	with := func(shape string) string {
		return `{"description":"Count","prompt":"count","outputSchema":` + shape + `}`
	}
	for _, tt := range []struct {
		name, shape string
		do          func(n int) reply
		want        string
		requests    int // of the subagent
	}{
		{"at once", shape, func(int) reply { return calls("final_answer", `{"n":7}`) }, `{"n":7}`, 1},
		{"after a correction", shape, func(n int) reply {
			return calls("final_answer", []string{`{"n":"seven"}`, `{"n":7}`}[n])
		}, `{"n":7}`, 2},
		{
			"never right", shape, func(n int) reply { return calls("final_answer", fmt.Sprintf(`{"m":%d}`, n)) },
			`Error: subagent run ended without a result that fits outputSchema, after 4 attempts; the last one: missing required property "result.n"; "result.m" is not a declared property (additionalProperties: false)`, 4,
		},
		{"only words, then reminded", shape, func(n int) reply {
			if n == 0 {
				return says("it is seven")
			}
			return calls("final_answer", `{"n":7}`)
		}, `{"n":7}`, 2},
		{
			"only words", shape, func(int) reply { return says("it is seven") },
			"Error: subagent run ended without the result that outputSchema demands: it never called final_answer", 3,
		},
		{"a schema that is not enforced", `{"type":"object","minProperties":1}`, nil, `Error: unsupported JSON schema: `, 0},
		{"a root that is no object", `{"type":"string"}`, nil, `Error: unsupported JSON schema: schema.type must be "object" (structured output is object-rooted)`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tool model.ToolSchema
			w := newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
				switch text, n := prompt(req); {
				case text == "go" && n == 0:
					return calls("subagent", with(tt.shape))
				case text == "go":
					return says("done")
				default:
					tool, _ = req.Tool("final_answer")
					return tt.do(n)
				}
			})
			w.prompt("go")
			if text, _ := w.result(); !strings.HasPrefix(text, tt.want) {
				t.Errorf("%q", text)
			}
			if tt.requests > 0 && tool.Parameters.String() != tt.shape {
				t.Errorf("the schema is not shown as it was given: %s", tool.Parameters)
			}
			if got := len(w.model.requests) - 2; got != tt.requests {
				t.Errorf("%d requests", got)
			}
		})
	}
}

// A parent's log that cannot be written ends the subagent.
func TestAParentsLogThatBreaks(t *testing.T) {
	var w *world
	w = newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
		if text, n := prompt(req); text == "go" && n == 0 {
			return calls("subagent", task("one"))
		}
		_ = w.s.Log().Close()
		return calls("echo", "{}")
	})
	_, err := w.s.Prompt(t.Context(), []content.Block{content.Text("go")})
	if !errors.Is(err, session.ErrClosed) {
		t.Error(err)
	}
	if len(w.closed) != 1 || len(w.model.requests) > 2 {
		t.Errorf("%d requests", len(w.model.requests))
	}
}

// Plan mode holds for subagents, and they know.
func TestPlanModeHolds(t *testing.T) {
	perm := &permissions{}
	var seen model.Request
	w := newWorld(t, limits, agent.Config{Permissions: perm, PlanPrompt: "PLAN FOR THE USER"}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			return calls("subagent", task("one"))
		case text == "one":
			seen = req
		}
		return says("done")
	})
	w.s.SetPlanning(true)
	w.prompt("go")
	if !strings.Contains(seen.System, "plan mode") || strings.Contains(seen.System, "PLAN FOR THE USER") {
		t.Error(seen.System)
	}
	if !perm.planning || perm.preset != "careful" {
		t.Errorf("the subagent changed its parent's permissions: %+v", perm)
	}
}

type permissions struct {
	planning bool
	preset   string
}

func (p *permissions) Rules() []string { return nil }
func (p *permissions) Presets() []agent.Preset {
	return []agent.Preset{{Name: "careful", Sandbox: "s", Approval: "ask"}, {Name: "free", Sandbox: "f", Approval: "never"}}
}

func (p *permissions) Preset() string {
	if p.preset == "" {
		return "careful"
	}
	return p.preset
}
func (p *permissions) SetPreset(name string) error { p.preset = name; return nil }
func (p *permissions) SetPlanning(on bool)         { p.planning = on }

func TestNoDepthMeansNoTool(t *testing.T) {
	w := newWorld(t, delegate.Limits{}, agent.Config{}, func(_ context.Context, req model.Request) reply {
		return says(fmt.Sprint(hasTool(req, "subagent"), hasTool(req, "subagent_fork"), hasTool(req, "echo")))
	})
	w.prompt("go")
	events := w.s.Log().Events()
	for _, ev := range events {
		if ev.Type == session.TypeAssistantMessage && ev.Data.Get("content").At(0).GetString("text") != "false false true" {
			t.Error(ev.Data)
		}
	}
}

func TestBlankArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{"description":" ","prompt":"x"}`:  "Error: invalid description: expected a non-empty string",
		`{"description":"x","prompt":"\n"}`: "Error: invalid prompt: expected a non-empty string",
	} {
		w := newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
			if _, n := prompt(req); n == 0 {
				return calls("subagent", args)
			}
			return says("done")
		})
		w.prompt("go")
		if text, _ := w.result(); text != want {
			t.Errorf("%q", text)
		}
		if len(w.logs) != 0 {
			t.Error("a subagent was made")
		}
	}
}

// A call that no session of a model makes has nobody to work for.
func TestACallWithoutASession(t *testing.T) {
	w := newWorld(t, limits, agent.Config{}, func(context.Context, model.Request) reply { return says("done") })
	args, _ := jsonvalue.ParseString(task("x"))
	r := w.pipe.Execute(t.Context(), pipelineCall(args, w))
	if !r.IsError() || !strings.Contains(r.Text(), "belongs to none") {
		t.Error(r.Text())
	}
}

// A program of a subagent can make any number of calls: the parent's log stays
// small, and a question still finds its card.
func TestManyCallsAreNotAllTold(t *testing.T) {
	var asked string
	l := limits
	l.MaxSteps = 1000
	w := newWorld(t, l, agent.Config{Asker: askFunc(func(_ context.Context, q agent.Question) (agent.Answer, error) {
		asked = q.Card()
		return agent.AnswerAllowOnce, nil
	})}, func(_ context.Context, req model.Request) reply {
		switch text, n := prompt(req); {
		case text == "go" && n == 0:
			return calls("subagent", task("one"))
		case text == "one" && n < 450:
			return calls("echo", fmt.Sprint(n))
		case text == "one" && n == 450:
			return calls("danger", "{}")
		}
		return says("done")
	})
	w.prompt("go")
	told := w.told()
	if n := strings.Count(strings.Join(told, "\n"), "call call1-1/"); n != 401 {
		t.Errorf("%d calls are told", n)
	}
	if last := told[len(told)-5:]; !strings.HasPrefix(last[0], "call "+asked+" danger") || last[3] != "result "+asked+" false" || last[4] != "end call1-1 end_turn 452 451" {
		t.Errorf("%q %q", asked, last)
	}
}

// A listener of the session that stops the turn in a subagent's step stops both.
func TestAListenerThatStopsTheTurn(t *testing.T) {
	var halt string
	cfg := agent.Config{Listeners: []agent.Listener{{AfterStep: func() (string, bool) {
		why := halt
		halt = "" // it says so once
		return why, why != ""
	}}}}
	requests := map[string]int{}
	w := newWorld(t, limits, cfg, func(_ context.Context, req model.Request) reply {
		text, _ := prompt(req)
		requests[text]++
		if text == "go" {
			return calls("subagent", task("one"))
		}
		halt = "that is enough"
		return reply{text: "half way", calls: []string{"echo", "{}"}}
	})
	if stop := w.prompt("go"); stop != agent.EndTurn {
		t.Error(stop)
	}
	if requests["go"] != 1 || requests["one"] != 1 {
		t.Errorf("%v", requests)
	}
	events := w.s.Log().Events()
	if last := events[len(events)-1]; last.Data.Get("reason").GetString("stopped") != "that is enough" {
		t.Errorf("%s %s", last.Type, last.Data)
	}
	if text, _ := w.result(); text != "half way" {
		t.Error(text)
	}
}

// What a subagent costs, the session has cost.
func TestASubagentIsCharged(t *testing.T) {
	cfg := agent.Config{Price: func(_, id string) (agent.Price, bool) {
		return agent.Price{Input: 1, Currency: "EUR"}, id == "big"
	}}
	w := newWorld(t, limits, cfg, func(_ context.Context, req model.Request) reply {
		r := says("done")
		if text, n := prompt(req); text == "go" && n == 0 {
			r = calls("subagent", task("one"), "subagent", task("two"))
		}
		r.usage = &model.Usage{InputTokens: 1_000_000}
		return r
	})
	w.prompt("go")
	cost := ""
	for _, ev := range w.s.Log().Events() {
		switch ev.Type {
		case agent.TypeUsage:
			cost = ev.Data.Get("cost").String()
		case delegate.TypeEnd:
			if got := ev.Data.Get("usage").String(); got != `{"inputTokens":1000000,"outputTokens":0}` {
				t.Error(got)
			}
		}
	}
	if cost != `{"amount":4,"currency":"EUR"}` {
		t.Error(cost)
	}
}
