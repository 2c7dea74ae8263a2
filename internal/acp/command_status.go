package acp

import (
	"context"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// statusCommand tells what the session is set to.
func statusCommand() Command {
	return Command{model.Command{Name: "status", Description: "Show the session's settings, folders and use of context"}, runStatus}
}

func runStatus(_ context.Context, s *agent.Session, _ string) (CommandAnswer, error) {
	set := s.Settings()
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "- %s: %s\n", name, fmt.Sprintf(format, args...))
	}
	line("Model", "`%s`", modelRef{set.Provider, model.Info{ID: set.Model}})
	if set.Effort != "" {
		line("Thought level", "`%s`", set.Effort)
	}
	line("Mode", "`%s`", modeID(set.Planning))
	if set.Preset != "" {
		line("Permissions", "`%s`", set.Preset)
	}
	line("Tools", "%d, mode `%s`", len(s.Scope().Visible()), set.ToolMode)
	for _, u := range lastUsage(s.Log().Kept()) {
		if u, ok := u.(cards.Usage); ok {
			line("Context", "%d of %d tokens (%d %%)", u.Used, u.Size, u.Used*100/u.Size)
			if u.Currency != "" {
				line("Cost so far", "%.4f %s", u.Cost, u.Currency)
			}
		}
	}
	line("Working directory", "`%s`", s.Cwd())
	for _, dir := range s.AdditionalDirectories() {
		line("Additional directory", "`%s`", dir)
	}
	line("Session", "`%s`", s.SessionID())
	return CommandAnswer{Text: strings.TrimSuffix(b.String(), "\n")}, nil
}
