package acp

import (
	"context"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// A session that goes on shows its calls as a replay would: with what its log
// said before about their names.
func TestASessionThatGoesOnKnowsItsLog(t *testing.T) {
	const name = "mcp__far__weather_today_now_c8e64b31bc"
	h := newHarness(t, `{}`)
	h.backend.before = []session.Draft{
		{Type: "mcp/tools", Data: session.Data("server", "far", "tools", []any{session.Data("name", name, "tool", "weather.today/now")})},
	}
	asked := false
	h.backend.model.answer = func(_ context.Context, _ model.Request, yield func(model.Chunk, error) bool) {
		if asked {
			says("ok", yield)
			return
		}
		asked = true
		for _, c := range []model.Chunk{
			model.StartChunk(0, model.PartToolCall), model.EndChunk(0, model.Part{Type: model.PartToolCall, ID: "c1", Name: name, Arguments: "{}"}),
			model.FinishChunk(model.FinishToolCalls),
		} {
			if !yield(c, nil) {
				return
			}
		}
	}
	s := h.open()
	h.call("session/prompt", `{"sessionId":"`+s+`","prompt":[{"type":"text","text":"hi"}]}`)
	if got := h.updates("tool_call"); len(got) != 1 || !strings.Contains(got[0], `"title":"far: weather.today/now"`) {
		t.Errorf("got %s", got)
	}
}
