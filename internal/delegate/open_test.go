package delegate_test

import (
	"context"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// What a subagent was given is taken back when it is cancelled before it begins.
func TestASubagentThatCannotBeginLeavesNothing(t *testing.T) {
	w := newWorld(t, limits, agent.Config{}, func(_ context.Context, req model.Request) reply {
		if _, n := prompt(req); n == 0 {
			return calls("subagent", task("do it"))
		}
		return says("done")
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.open = cancel
	_, _ = w.s.Prompt(ctx, []content.Block{content.Text("go")})
	if len(w.opened) != 1 || len(w.closed) != 1 || len(w.logs) != 1 || w.closed[0] != w.logs[0].Header().ID {
		t.Errorf("opened %q, closed %q", w.opened, w.closed)
	}
}
