package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// A message into a running turn is judged like a prompt.
func TestSteeringIsJudged(t *testing.T) {
	judge := agent.Listener{PromptSubmit: func(_ context.Context, _ int64, prompt []content.Block) (agent.PromptVerdict, error) {
		switch content.JoinText(prompt) {
		case "bad":
			return agent.PromptVerdict{Block: true, Reason: "no such words"}, nil
		case "good":
			return agent.PromptVerdict{Contexts: []registry.Context{{Content: []content.Block{content.Text("mind you")}, Source: session.Data("kind", "plugin")}}}, nil
		}
		return agent.PromptVerdict{}, nil
	}}
	w := newWorld(t, agent.Config{Listeners: []agent.Listener{judge}},
		callsTools(model.FinishToolCalls, "c1", "echo", `{}`), says("done"), says("really done"))
	var told []bool
	waiting := [][]string{{"bad", "good"}, {"one more"}}
	w.s.WatchSteering(func() (out []agent.Steering) {
		if len(waiting) == 0 {
			return nil
		}
		for _, text := range waiting[0] {
			out = append(out, agent.Steering{Content: []content.Block{content.Text(text)}, Shown: []content.Block{content.Text("shown " + text)}, Taken: func(ok bool) { told = append(told, ok) }})
		}
		waiting = waiting[1:]
		return out
	})
	if stop := w.prompt(t, "go"); stop != agent.EndTurn {
		t.Error(stop)
	}
	if len(told) != 3 || told[0] || !told[1] || !told[2] {
		t.Errorf("told %v", told)
	}
	want := "tool/result step/end prompt/blocked steering/message context/message step/start assistant/message step/end " +
		"steering/message step/start assistant/message step/end turn/end"
	if got := w.types(); !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := w.last(session.TypeSteeringMessage).Data.String(); got != `{"turn":1,"content":[{"type":"text","text":"one more"}],"source":{"kind":"user"},"envelope":{"displayContent":[{"type":"text","text":"shown one more"}],"prefixContexts":[]}}` {
		t.Error(got)
	}
	second := w.model.requests[1].Messages
	var texts []string
	for _, m := range second {
		texts = append(texts, m.Text())
	}
	if got := strings.Join(texts, "|"); !strings.HasSuffix(got, "|good|mind you") || strings.Contains(got, "bad") {
		t.Errorf("the model reads %s", got)
	}
}

// However a turn fails, each message that was handed to it is told of.
func TestSteeringIsToldOfWhenTheTurnFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		var w *world
		judge := agent.Listener{PromptSubmit: func(_ context.Context, _ int64, prompt []content.Block) (agent.PromptVerdict, error) {
			if content.JoinText(prompt) != "go" {
				if panics {
					panic("out of order")
				}
				_ = w.log.Close()
			}
			return agent.PromptVerdict{Block: content.JoinText(prompt) == "bad"}, nil
		}}
		for _, first := range []string{"bad", "good"} {
			w = newWorld(t, agent.Config{Listeners: []agent.Listener{judge}}, callsTools(model.FinishToolCalls, "c1", "echo", `{}`), says("done"))
			told := map[string]int{}
			w.s.WatchSteering(func() (out []agent.Steering) {
				for _, text := range []string{first, "second", "third"} {
					out = append(out, agent.Steering{Content: []content.Block{content.Text(text)}, Taken: func(bool) { told[text]++ }})
				}
				return out
			})
			func() {
				defer func() { _ = recover() }()
				if _, err := w.s.Prompt(t.Context(), []content.Block{content.Text("go")}); err == nil {
					t.Error("the turn did not fail")
				}
			}()
			if len(told) != 3 || told[first] != 1 || told["second"] != 1 || told["third"] != 1 {
				t.Errorf("panics %v, first %s: told of %v", panics, first, told)
			}
		}
	}
}

func TestSteeringDoesNotOutlastTheLimit(t *testing.T) {
	w := newWorld(t, agent.Config{MaxSteps: 1}, says("done"))
	asked := 0
	w.s.WatchSteering(func() []agent.Steering { asked++; return nil })
	if stop := w.prompt(t, "go"); stop != agent.EndTurn || asked != 0 {
		t.Errorf("%s, asked %d times though nobody would answer", stop, asked)
	}
}
