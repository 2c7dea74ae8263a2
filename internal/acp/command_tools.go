package acp

import (
	"context"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// toolsCommand lists what the model can call.
func toolsCommand() Command {
	return Command{model.Command{Name: "tools", Description: "List the tools that the model can call"}, runTools}
}

func runTools(_ context.Context, s *agent.Session, _ string) (CommandAnswer, error) {
	list := s.Scope().Visible()
	var b strings.Builder
	fmt.Fprintf(&b, "%d tools, offered in the mode `%s`:\n", len(list), s.Settings().ToolMode)
	for _, t := range list {
		fmt.Fprintf(&b, "\n- `%s`: %s", t.Name(), firstSentence(t.Description()))
	}
	return CommandAnswer{Text: b.String()}, nil
}

// firstSentence cuts a description to what fits on a line.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	if r := []rune(text); len(r) > 120 {
		return string(r[:119]) + "…"
	}
	return text
}
