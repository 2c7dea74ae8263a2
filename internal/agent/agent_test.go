package agent_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// scripted is a provider that plays answers in order and keeps the requests.
type scripted struct {
	answers  []answer
	requests []model.Request
}

type answer struct {
	chunks []model.Chunk
	err    error
	hang   bool // stream the chunks, then wait for ctx
}

func (p *scripted) ProviderID() string                           { return "scripted" }
func (p *scripted) Models(context.Context) ([]model.Info, error) { return nil, nil }

func (p *scripted) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	p.requests = append(p.requests, req)
	a := p.answers[min(len(p.requests), len(p.answers))-1]
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range a.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if a.hang {
			<-ctx.Done()
			yield(model.Chunk{}, ctx.Err())
		} else if a.err != nil {
			yield(model.Chunk{}, a.err)
		}
	}
}

func says(text string) answer {
	return answer{chunks: []model.Chunk{
		model.StartChunk(0, model.PartText), model.TextChunk(0, text), model.EndChunk(0, model.Text(text)), model.FinishChunk(model.FinishStop),
	}}
}

// callsTools is an answer with calls given as id, name, arguments triples.
func callsTools(kind model.FinishKind, triples ...string) answer {
	var a answer
	for i := 0; i < len(triples); i += 3 {
		n := i / 3
		a.chunks = append(a.chunks, model.StartChunk(n, model.PartToolCall),
			model.EndChunk(n, model.Part{Type: model.PartToolCall, ID: triples[i], Name: triples[i+1], Arguments: triples[i+2]}))
	}
	a.chunks = append(a.chunks, model.FinishChunk(kind))
	return a
}

// world is a session with a few tools.
type world struct {
	s     *agent.Session
	log   *session.Log
	model *scripted
	ran   []string
	reg   *registry.Registry
	pipe  *pipeline.Pipeline
	waits func() // called by the tool wait; may be nil
}

func newWorld(t *testing.T, cfg agent.Config, answers ...answer) *world {
	t.Helper()
	w := &world{model: &scripted{answers: answers}, log: cfg.Log}
	if w.log == nil {
		w.log = session.NewMemory(session.Header{Cwd: "/work"}, session.Options{})
	}
	var err error
	if w.reg, err = registry.New(registry.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.pipe, err = pipeline.New(w.reg, pipeline.Options{Approver: agent.Approver{}}); err != nil {
		t.Fatal(err)
	}
	text := jsonvalue.MustFromGo(map[string]any{"type": "string"})
	add := func(name string, body func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error)) {
		_, err := w.reg.Global().Register(registry.Definition{
			Name: name, Description: name,
			Output: registry.Output{Schema: text, Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
				s, _ := v.Str()
				return []content.Block{content.Text(s)}, nil
			}},
			Execute: func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
				w.ran = append(w.ran, run.Execution().CallID())
				return body(ctx, args, run)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("echo", func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
		return jsonvalue.String(args.String()), nil
	})
	add("wait", func(ctx context.Context, _ jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
		if w.waits != nil {
			w.waits()
		}
		<-ctx.Done()
		return jsonvalue.Value{}, ctx.Err()
	})
	add("panics", func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) { panic("out of order") })
	add("last", func(_ context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
		run.ConcludeTurn()
		return jsonvalue.String("the end"), nil
	})
	add("hints", func(_ context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
		run.DeferContext(registry.Context{Content: []content.Block{content.Text("mind the gap")}, Source: session.Data("kind", "plugin", "plugin", "test")})
		return jsonvalue.String("ok"), nil
	})
	cfg.Log, cfg.Provider, cfg.Model, cfg.Pipeline = w.log, w.model, "m", w.pipe
	cfg.Scope = w.reg.Global().Child("session")
	if w.s, err = agent.NewSession(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.s.Close() })
	return w
}

func (w *world) prompt(t *testing.T, text string) agent.StopReason {
	t.Helper()
	stop, err := w.s.Prompt(t.Context(), []content.Block{content.Text(text)})
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// types lists the event types of the log, chunks left out.
func (w *world) types() string {
	var out []string
	for _, ev := range w.log.Events() {
		if ev.Type != session.TypeAssistantChunk {
			out = append(out, ev.Type)
		}
	}
	return strings.Join(out, " ")
}

func (w *world) last(typ string) session.Event {
	evs := w.log.Events()
	for _, ev := range slices.Backward(evs) {
		if ev.Type == typ {
			return ev
		}
	}
	return session.Event{}
}

func TestATurnIsLoggedInOrder(t *testing.T) {
	w := newWorld(t, agent.Config{}, callsTools(model.FinishToolCalls, "c1", "echo", `{"a":1}`), says("done"))
	if stop := w.prompt(t, "please"); stop != agent.EndTurn {
		t.Error(stop)
	}
	want := "turn/start user/message session/title step/start request/header assistant/message tool/call tool/start tool/result step/end " +
		"step/start assistant/message step/end turn/end"
	if got := w.types(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	call, result := w.last(session.TypeToolCall), w.last(session.TypeToolResult)
	if len(result.SourceEventSeqs) != 1 || result.SourceEventSeqs[0] != call.Seq {
		t.Errorf("the result refers to %v, its call is %d", result.SourceEventSeqs, call.Seq)
	}
	second := w.model.requests[1].Messages
	if n := len(second); n != 3 || second[2].ToolCallID != "c1" || !strings.Contains(second[2].Text(), `{"a":1}`) {
		t.Errorf("the model was sent %+v", second)
	}
}

func TestTheHeaderIsLoggedAgainOnlyWhenItChanges(t *testing.T) {
	w := newWorld(t, agent.Config{}, says("a"), says("b"), says("c"))
	w.prompt(t, "1")
	w.prompt(t, "2")
	if n := strings.Count(w.types(), session.TypeRequestHeader); n != 1 {
		t.Errorf("%d headers after two equal requests", n)
	}
	if _, err := w.s.Scope().Restrict(registry.Restriction{Deny: []string{"wait"}}); err != nil {
		t.Fatal(err)
	}
	w.prompt(t, "3")
	if got := w.last(session.TypeRequestHeader).Data.GetString("reason"); got != "change" {
		t.Errorf("reason %q", got)
	}
	if strings.Count(w.types(), session.TypeTitle) != 1 {
		t.Error("only the first prompt makes a title")
	}
}

func TestEndsOfATurn(t *testing.T) {
	failed := &model.Error{Message: "no credit", Code: "QUOTA"}
	for _, tt := range []struct {
		name    string
		answers []answer
		stop    agent.StopReason
		fails   string
		reason  string
		ran     int
	}{
		{"words", []answer{says("hi")}, agent.EndTurn, "", `{"kind":"completed"}`, 0},
		{"a tool concludes", []answer{callsTools(model.FinishToolCalls, "c", "last", "")}, agent.EndTurn, "", `{"kind":"completed"}`, 1},
		{"token limit", []answer{callsTools(model.FinishMaxTokens, "c", "echo", `{"a":`)}, agent.MaxTokens, "", `{"kind":"max-tokens"}`, 0},
		{"content filter", []answer{callsTools(model.FinishContentFilter, "c", "echo", `{}`)}, agent.Refusal, "", `{"kind":"refusal"}`, 0},
		{"an unknown reason", []answer{callsTools("tired", "c", "echo", `{}`)}, agent.Refusal, "", `{"kind":"refusal"}`, 0},
		{"step limit", []answer{callsTools(model.FinishToolCalls, "c", "echo", "{}")}, agent.MaxTurnRequests, "", `{"kind":"max-steps","limit":3}`, 3},
		{"provider fails", []answer{{err: failed}}, "", "no credit", `{"kind":"error","step":1,"failure":{"message":"no credit","code":"QUOTA"}}`, 0},
		{"no finish", []answer{{chunks: []model.Chunk{model.TextChunk(0, "half")}}}, "", "without a finish", `"code":"INCOMPLETE"`, 0},
		{"finish with a failure", []answer{{chunks: []model.Chunk{{Type: model.ChunkFinish, Finish: &model.FinishReason{Kind: model.FinishError, Failure: failed}}}}}, "", "no credit", `"code":"QUOTA"`, 0},
		{"chunk after the finish", []answer{{chunks: []model.Chunk{model.FinishChunk(model.FinishStop), model.TextChunk(0, "late")}}}, "", "", `"code":"PROTOCOL"`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, agent.Config{MaxSteps: 3, Backoff: model.Backoff{MaxAttempts: 1}}, tt.answers...)
			stop, err := w.s.Prompt(t.Context(), []content.Block{content.Text("x")})
			var turn *agent.TurnError
			if failing := tt.stop == ""; failing != errors.As(err, &turn) || (err != nil && !strings.Contains(err.Error(), tt.fails)) {
				t.Fatalf("stop %q, error %v", stop, err)
			}
			if stop != tt.stop {
				t.Errorf("stop %q, wanted %q", stop, tt.stop)
			}
			if got := w.last(session.TypeTurnEnd).Data.Get("reason").String(); !strings.Contains(got, tt.reason) {
				t.Errorf("reason %s, wanted %s", got, tt.reason)
			}
			if len(w.ran) != tt.ran {
				t.Errorf("%d bodies ran, wanted %d", len(w.ran), tt.ran)
			}
			if drafts := session.Repair(w.log.Events()); drafts != nil {
				t.Errorf("the log is not whole, repair would append %d events", len(drafts))
			}
		})
	}
}

// Whenever a turn is cancelled, its log is whole and nothing started after it.
func TestCancelAtEveryEvent(t *testing.T) {
	script := []answer{
		callsTools(model.FinishToolCalls, "a", "echo", "{}", "b", "hints", "{}"),
		callsTools(model.FinishToolCalls, "c", "echo", "{}"), says("done"),
	}
	whole := newWorld(t, agent.Config{}, script...)
	whole.prompt(t, "x")
	for at := range whole.log.Len() - 1 {
		w := newWorld(t, agent.Config{}, append(script[:3:3], says("next"))...)
		ctx, cancel := context.WithCancel(t.Context())
		stopAt := w.log.Subscribe(func(ev session.Event) {
			if ev.Seq == int64(at) {
				cancel()
			}
		})
		stop, err := w.s.Prompt(ctx, []content.Block{content.Text("x")})
		stopAt()
		cancel()
		if err != nil || (stop != agent.Cancelled && stop != agent.EndTurn) {
			t.Fatalf("cancelled at event %d: %q %v", at, stop, err)
		}
		if stop == agent.EndTurn && at < whole.log.Len()-4 {
			t.Errorf("cancelled at event %d the turn completed", at)
		}
		if drafts := session.Repair(w.log.Events()); drafts != nil {
			t.Fatalf("cancelled at event %d the log is not whole: %s", at, w.types())
		}
		w.model.requests = w.model.requests[:0]
		w.model.answers = []answer{says("next")}
		w.prompt(t, "still there?")
	}
}

func TestARunningCallIsCancelledAndTheRestAreSkipped(t *testing.T) {
	w := newWorld(t, agent.Config{}, callsTools(model.FinishToolCalls, "a", "wait", "{}", "b", "echo", "{}"))
	ctx, cancel := context.WithCancelCause(t.Context())
	w.waits = func() { cancel(agent.ErrDisposed) }
	stop, err := w.s.Prompt(ctx, []content.Block{content.Text("x")})
	if stop != agent.Cancelled || err != nil {
		t.Fatal(stop, err)
	}
	if got := strings.Join(w.ran, " "); got != "a" {
		t.Errorf("ran %s", got)
	}
	if got := w.last(session.TypeToolResult).Data; got.GetString("callId") != "b" || got.Get("error").GetString("code") != pipeline.CodeAbortedBeforeDispatch {
		t.Errorf("the skipped call's result: %s", got)
	}
	if got := w.last(session.TypeTurnEnd).Data.Get("reason").GetString("kind"); got != session.EndDisposed {
		t.Errorf("reason %s", got)
	}
}

func TestCallIDsAreMadeUnique(t *testing.T) {
	w := newWorld(t, agent.Config{},
		callsTools(model.FinishToolCalls, "same", "echo", "{}", "same", "echo", "{}", "", "echo", "{}"),
		callsTools(model.FinishToolCalls, "same", "echo", "{}", "", "echo", "{}"), says("done"))
	w.prompt(t, "x")
	seen := map[string]bool{}
	for _, ev := range w.log.Events() {
		if ev.Type == session.TypeToolCall {
			id := ev.Data.GetString("callId")
			if id == "" || seen[id] {
				t.Errorf("id %q is empty or used twice", id)
			}
			seen[id] = true
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d calls", len(seen))
	}
	// A session that goes on with the same log knows the old ids.
	again, err := agent.NewSession(agent.Config{Log: w.log, Provider: &scripted{answers: []answer{callsTools(model.FinishToolCalls, "same", "echo", "{}"), says("x")}}, Pipeline: w.pipe, Scope: w.reg.Global().Child("again")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Prompt(t.Context(), []content.Block{content.Text("x")}); err != nil {
		t.Fatal(err)
	}
	if id := w.last(session.TypeToolCall).Data.GetString("callId"); seen[id] {
		t.Errorf("id %q was used before the session was reopened", id)
	}
}

func TestAPanickingToolFailsItsCallOnly(t *testing.T) {
	w := newWorld(t, agent.Config{}, callsTools(model.FinishToolCalls, "a", "panics", "{}", "b", "echo", "{}"), says("done"))
	if stop := w.prompt(t, "x"); stop != agent.EndTurn {
		t.Error(stop)
	}
	if got := strings.Join(w.ran, " "); got != "a b" {
		t.Errorf("ran %s", got)
	}
}

func TestContextOfACancelledStepComesWithTheNextPrompt(t *testing.T) {
	w := newWorld(t, agent.Config{}, callsTools(model.FinishToolCalls, "a", "hints", "{}", "b", "wait", "{}"), says("next"))
	ctx, cancel := context.WithCancel(t.Context())
	w.waits = cancel
	if stop, err := w.s.Prompt(ctx, []content.Block{content.Text("x")}); stop != agent.Cancelled || err != nil {
		t.Fatal(stop, err)
	}
	if strings.Contains(w.types(), session.TypeContextMessage) {
		t.Error("context was added in the middle of a cancelled step")
	}
	w.prompt(t, "next")
	if got := w.last(session.TypeContextMessage).Data.Get("content").At(0).GetString("text"); got != "mind the gap" {
		t.Errorf("%q", got)
	}
}

// asker answers questions and keeps them.
type asker struct {
	answer agent.Answer
	err    error
	asked  []agent.Question
	before func()
}

func (a *asker) Ask(_ context.Context, q agent.Question) (agent.Answer, error) {
	a.asked = append(a.asked, q)
	if a.before != nil {
		a.before()
	}
	return a.answer, a.err
}

type grants struct{ remembered int }

func (g *grants) Offer(*registry.Execution) []agent.Lasting {
	return []agent.Lasting{{Answer: agent.AnswerAllowSession, Label: "always this"}}
}
func (g *grants) Remember(*registry.Execution, agent.Lasting) error { g.remembered++; return nil }
func (g *grants) Changed() <-chan struct{}                          { return nil }
func (g *grants) List() ([]agent.Remembered, error)                 { return nil, nil }
func (g *grants) Revoke(agent.Remembered) error                     { return nil }
func (g *grants) Keep(agent.Remembered) error                       { return nil }
func (g *grants) SavedIn() string                                   { return "" }

func TestApproval(t *testing.T) {
	for _, tt := range []struct {
		name     string
		asker    *asker
		never    bool
		outcome  string
		ran      int
		remember int
	}{
		{"once", &asker{answer: agent.AnswerAllowOnce}, false, "allowed-once", 1, 0},
		{"always", &asker{answer: agent.AnswerAllowSession}, false, "allowed-once", 1, 1},
		{"no", &asker{answer: agent.AnswerReject}, false, "rejected", 0, 0},
		{"dismissed", &asker{answer: agent.AnswerCancelled}, false, "cancelled", 0, 0},
		{"nobody there", &asker{answer: agent.AnswerUnavailable}, false, "unavailable", 0, 0},
		{"broken", &asker{err: errors.New("no dialog")}, false, "unavailable", 0, 0},
		{"unknown answer", &asker{answer: agent.Answer(99)}, false, "unavailable", 0, 0},
		{"policy never", &asker{answer: agent.AnswerAllowOnce}, true, "rejected", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &grants{}
			w := newWorld(t, agent.Config{Asker: tt.asker, Grants: g, NeverAsk: func() bool { return tt.never }},
				callsTools(model.FinishToolCalls, "a", "echo", "{}"), says("done"))
			if _, err := w.pipe.OnPreExecute(w.s.Scope(), func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
				return pipeline.Ask("it might echo").Again(func() pipeline.Decision { return pipeline.Ask("") }), nil
			}); err != nil {
				t.Fatal(err)
			}
			w.prompt(t, "x")
			if got := w.last(session.TypeApprovalDecided).Data.GetString("outcome"); got != tt.outcome {
				t.Errorf("outcome %q, wanted %q", got, tt.outcome)
			}
			asked, decided := w.last(session.TypeApprovalAsked), w.last(session.TypeApprovalDecided)
			if asked.Data.GetString("id") != decided.Data.GetString("id") || asked.Data.GetString("reason") != "it might echo" {
				t.Errorf("asked %s decided %s", asked.Data, decided.Data)
			}
			if len(w.ran) != tt.ran || g.remembered != tt.remember {
				t.Errorf("ran %d remembered %d", len(w.ran), g.remembered)
			}
			if tt.never != (len(tt.asker.asked) == 0) {
				t.Errorf("asked %d times", len(tt.asker.asked))
			}
		})
	}
}

// The person's answer comes too late when the turn was cancelled meanwhile.
func TestALateYesChangesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := &asker{answer: agent.AnswerAllowSession, before: cancel}
	g := &grants{}
	w := newWorld(t, agent.Config{Asker: a, Grants: g}, callsTools(model.FinishToolCalls, "a", "echo", "{}"))
	if _, err := w.pipe.OnPreExecute(w.s.Scope(), func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
		return pipeline.Ask("").Again(func() pipeline.Decision { return pipeline.Ask("") }), nil
	}); err != nil {
		t.Fatal(err)
	}
	if stop, err := w.s.Prompt(ctx, []content.Block{content.Text("x")}); stop != agent.Cancelled || err != nil {
		t.Fatal(stop, err)
	}
	if len(w.ran) != 0 || g.remembered != 0 {
		t.Errorf("ran %d, remembered %d", len(w.ran), g.remembered)
	}
}

func TestARequestThatMayHealIsRepeatedWithANote(t *testing.T) {
	busy := &model.Error{Message: "overloaded", Code: "OVERLOADED", Retryable: true}
	half := answer{chunks: []model.Chunk{model.StartChunk(0, model.PartToolCall), model.ToolCallChunk(0, "a", "echo", `{"half`)}, err: busy}
	backoff := model.Backoff{MaxAttempts: 3, Base: time.Millisecond}
	w := newWorld(t, agent.Config{Backoff: backoff}, half, answer{err: busy}, callsTools(model.FinishToolCalls, "a", "echo", "{}"), says("done"))
	if stop := w.prompt(t, "x"); stop != agent.EndTurn {
		t.Error(stop)
	}
	if got := strings.Join(w.ran, " "); got != "a" {
		t.Errorf("ran %q, wanted the call of the whole answer once", got)
	}
	if n := strings.Count(w.types(), session.TypeRetry); n != 2 {
		t.Errorf("%d retries in %s", n, w.types())
	}
	if d := w.last(session.TypeRetry).Data; d.Get("attempt").String() != "3" || d.Get("maxAttempts").String() != "3" || d.Get("failure").GetString("message") != "overloaded" {
		t.Errorf("%s", d)
	}
	for _, seq := range w.last(session.TypeAssistantMessage).SourceEventSeqs {
		if seq < w.last(session.TypeRetry).Seq && w.log.Events()[seq].Step() == 1 {
			t.Errorf("the message cites chunk %d of a failed attempt", seq)
		}
	}

	w = newWorld(t, agent.Config{Backoff: backoff}, answer{err: busy})
	_, err := w.s.Prompt(t.Context(), []content.Block{content.Text("x")})
	if err == nil || !strings.Contains(err.Error(), "tried 3 times") || len(w.model.requests) != 3 {
		t.Errorf("%d requests, %v", len(w.model.requests), err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	w = newWorld(t, agent.Config{Backoff: model.Backoff{Base: time.Hour, Max: time.Hour}}, answer{err: busy})
	w.log.Subscribe(func(ev session.Event) {
		if ev.Type == session.TypeRetry {
			cancel()
		}
	})
	if stop, err := w.s.Prompt(ctx, []content.Block{content.Text("x")}); stop != agent.Cancelled || err != nil {
		t.Errorf("cancelled while waiting: %q %v", stop, err)
	}
}
