package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

func submits(f func(ctx context.Context) (agent.PromptVerdict, error)) agent.Config {
	return agent.Config{Listeners: []agent.Listener{{}, {
		PromptSubmit: func(ctx context.Context, _ int64, _ []content.Block) (agent.PromptVerdict, error) { return f(ctx) },
	}}}
}

func TestAListenerJudgesThePrompt(t *testing.T) {
	note := registry.Context{Content: []content.Block{content.Text("note")}, Source: session.Data("kind", "plugin", "plugin", "test")}
	for _, tt := range []struct {
		name    string
		verdict agent.PromptVerdict
		err     error
		stop    agent.StopReason
		fails   string
		types   string // the log's
		end     string // the turn's reason
	}{
		{
			name: "passes with context", verdict: agent.PromptVerdict{Contexts: []registry.Context{note}}, stop: agent.EndTurn,
			types: "turn/start user/message context/message session/title step/start request/header assistant/message step/end turn/end", end: `{"kind":"completed"}`,
		},
		{
			name: "blocked", verdict: agent.PromptVerdict{Block: true, Reason: "no"}, stop: agent.Cancelled,
			types: "turn/start prompt/blocked turn/end", end: `{"kind":"rejected","reason":"no"}`,
		},
		{
			name: "blocked by a failure", verdict: agent.PromptVerdict{Block: true, Failed: true, Reason: "broken"}, fails: "broken",
			types: "turn/start prompt/blocked turn/end", end: `{"kind":"error","message":"broken"}`,
		},
		{
			name: "an error", err: errors.New("out of order"), fails: "out of order",
			types: "turn/start prompt/blocked turn/end", end: `{"kind":"error","message":"out of order"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, submits(func(context.Context) (agent.PromptVerdict, error) { return tt.verdict, tt.err }), says("hi"))
			stop, err := w.s.Prompt(t.Context(), []content.Block{content.Text("do it")})
			if stop != tt.stop || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%q, %v", stop, err)
			}
			if got := w.types(); got != tt.types {
				t.Errorf("log\n%s, wanted\n%s", got, tt.types)
			}
			events := w.log.Events()
			if got := events[len(events)-1].Data.Get("reason").String(); got != tt.end {
				t.Errorf("end %s, wanted %s", got, tt.end)
			}
			if asked := len(w.model.requests) > 0; asked != (tt.stop == agent.EndTurn) {
				t.Errorf("the model was asked: %v", asked)
			}
		})
	}
}

// A turn looks at what is in memory: its log's file may be long.
func TestATurnDoesNotReadItsLog(t *testing.T) {
	var logged strings.Builder
	store := session.NewStore(t.TempDir(), session.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	log, err := store.Create(session.Header{Cwd: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := log.Append(session.Draft{Type: session.TypeAssistantChunk}); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, agent.Config{Log: log, Listeners: []agent.Listener{{
		PromptSubmit: func(context.Context, int64, []content.Block) (agent.PromptVerdict, error) {
			return agent.PromptVerdict{Block: true, Reason: "no"}, nil
		},
	}}})
	if stop := w.prompt(t, "do it"); stop != agent.Cancelled {
		t.Error(stop)
	}
	if err := os.Remove(log.Path()); err != nil {
		t.Fatal(err)
	}
	if why, stopped := w.s.StoppedPrompt(); why != "no" || !stopped {
		t.Errorf("%q, %v", why, stopped)
	}
	if logged.Len() > 0 {
		t.Errorf("the file was read: %s", &logged)
	}
}

func TestAPromptThatIsCancelledWhileItIsJudged(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, submits(func(ctx context.Context) (agent.PromptVerdict, error) {
		cancel()
		return agent.PromptVerdict{}, ctx.Err()
	}), says("hi"))
	stop, err := w.s.Prompt(ctx, []content.Block{content.Text("do it")})
	if stop != agent.Cancelled || err != nil || w.types() != "turn/start prompt/blocked turn/end" {
		t.Errorf("%q, %v, %s", stop, err, w.types())
	}
}

func TestAListenerKeepsATurnGoing(t *testing.T) {
	var heard []string
	w := newWorld(t, agent.Config{Listeners: []agent.Listener{{
		Stop: func(_ context.Context, last string) (agent.StopVerdict, error) {
			heard = append(heard, last)
			if len(heard) > 1 {
				return agent.StopVerdict{}, nil
			}
			return agent.StopVerdict{Continue: []content.Block{content.Text("go on")}, Source: session.Data("kind", "plugin", "plugin", "test")}, nil
		},
	}}}, says("first"), says("second"))
	if stop := w.prompt(t, "x"); stop != agent.EndTurn {
		t.Error(stop)
	}
	if strings.Join(heard, ",") != "first,second" || !strings.Contains(w.types(), "step/end steering/message step/start") {
		t.Errorf("heard %q, log %s", heard, w.types())
	}
	messages := w.model.requests[1].Messages
	if last := messages[len(messages)-1]; last.Role != model.RoleUser || len(last.Content) != 1 || last.Content[0].Text != "go on" {
		t.Errorf("the model got %+v", last)
	}
}

func TestAListenerStopsATurnBetweenSteps(t *testing.T) {
	stops := 0
	w := newWorld(t, agent.Config{Listeners: []agent.Listener{{
		AfterStep: func() (string, bool) { return "enough", true },
		Stop: func(context.Context, string) (agent.StopVerdict, error) {
			stops++
			return agent.StopVerdict{Continue: []content.Block{content.Text("more")}}, nil
		},
	}}}, callsTools(model.FinishToolCalls, "c1", "echo", "{}"), says("never"))
	if stop := w.prompt(t, "x"); stop != agent.EndTurn || len(w.model.requests) != 1 || stops != 0 {
		t.Errorf("%s, %d requests, %d stops", stop, len(w.model.requests), stops)
	}
	events := w.log.Events()
	if got := events[len(events)-1].Data.Get("reason").String(); got != `{"kind":"completed","stopped":"enough"}` {
		t.Error(got)
	}
}

func TestAListenerThatFailsAtTheEndFailsTheTurn(t *testing.T) {
	w := newWorld(t, agent.Config{Listeners: []agent.Listener{{
		Stop: func(context.Context, string) (agent.StopVerdict, error) {
			return agent.StopVerdict{}, errors.New("out of order")
		},
	}}}, says("hi"))
	_, err := w.s.Prompt(t.Context(), []content.Block{content.Text("x")})
	if err == nil || !strings.Contains(err.Error(), "out of order") || !strings.HasSuffix(w.types(), "step/end turn/end") {
		t.Errorf("%v, %s", err, w.types())
	}
}
