package acp

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// A prompt that waits is answered when it is cancelled, and not when what runs
// before it has ended; it leaves nothing in the log.
func TestCancellingAPromptThatWaits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prompt func(session, text string) string
	}{{"queued", promptOf}, {"steering", steering}} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, `{}`)
			asked, let := h.gate()
			s := h.open()
			first := h.request("session/prompt", promptOf(s, "one"))
			<-asked
			second := h.request("session/prompt", tt.prompt(s, "two"))
			third := h.request("session/prompt", tt.prompt(s, "three"))
			h.until(s, func(l *liveSession) bool { return len(l.jobs) == 3 })
			h.notify("$/cancel_request", `{"requestId":`+second+`}`)
			if f := h.reply(second); string(f["result"]) != `{"stopReason":"cancelled"}` {
				t.Errorf("%s %s", f["result"], f["error"])
			}
			h.notify("$/cancel_request", `{"requestId":`+second+`}`) // over: nothing happens
			let <- "first answer"
			<-asked
			let <- "last answer"
			for _, id := range []string{first, third} {
				if f := h.reply(id); string(f["result"]) != `{"stopReason":"end_turn"}` {
					t.Errorf("%s: %s %s", id, f["result"], f["error"])
				}
			}
			for _, line := range h.turns(s) {
				if slices.Contains([]string{"user/message two", "steering/message two"}, line) {
					t.Errorf("%q", h.turns(s))
				}
			}
		})
	}
}

// A client that leaves while it is asked ends the turn: the call is cancelled,
// nobody has refused it, and the model is not asked for more.
func TestLeavingWhileAsked(t *testing.T) {
	synctest.Test(t, leavingWhileAsked) // the bounds of leaving are in real time else
}

func leavingWhileAsked(t *testing.T) {
	h := newHarness(t, `{}`)
	ran := make(chan struct{}, 1)
	_, err := h.backend.reg.Global().Register(registry.Definition{
		Name: "touch", Description: "Touch.", RawParameters: jsonvalue.MustFromGo(map[string]any{"type": "object"}),
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
			Render: func(_, v jsonvalue.Value) ([]content.Block, error) { return []content.Block{content.Text("done")}, nil },
		},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			ran <- struct{}{}
			return jsonvalue.String("done"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.backend.pipe.OnPreExecute(h.backend.reg.Global(), func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
		return pipeline.Ask("may it?"), nil
	}); err != nil {
		t.Fatal(err)
	}
	h.backend.model.answer = func(_ context.Context, _ model.Request, yield func(model.Chunk, error) bool) {
		call := model.Part{Type: model.PartToolCall, ID: "c1", Name: "touch", Arguments: "{}"}
		for _, c := range []model.Chunk{model.StartChunk(0, model.PartToolCall), model.EndChunk(0, call), model.FinishChunk(model.FinishToolCalls)} {
			if !yield(c, nil) {
				return
			}
		}
	}
	s := h.open()
	l, _ := h.server.session(s)
	id := h.request("session/prompt", promptOf(s, "touch it"))
	h.wait("the question", func() bool {
		return slices.ContainsFunc(h.frames, func(f map[string]json.RawMessage) bool { return string(f["method"]) == `"session/request_permission"` })
	})
	if err := h.in.Close(); err != nil {
		t.Fatal(err)
	}
	if f := h.reply(id); string(f["result"]) != `{"stopReason":"cancelled"}` {
		t.Errorf("%s %s", f["result"], f["error"])
	}
	<-l.done
	h.backend.model.mu.Lock()
	defer h.backend.model.mu.Unlock()
	if n := len(h.backend.model.requests); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if len(ran) != 0 {
		t.Error("the tool ran")
	}
}
