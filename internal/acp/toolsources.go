package acp

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/agent"
)

// ToolSourceBackend is implemented by a Backend whose sessions get tools from
// elsewhere, such as MCP servers.
type ToolSourceBackend interface {
	// ToolSources tells where they come from and what is wrong with that, in
	// Markdown; "" when there is nothing to tell.
	ToolSources(s *agent.Session) string
}

// withSources lets /tools tell where tools come from.
func (s *Server) withSources(list []Command) []Command {
	b, ok := s.opt.Backend.(ToolSourceBackend)
	if !ok {
		return list
	}
	for i, c := range list {
		if c.Name != "tools" {
			continue
		}
		list[i].Run = func(ctx context.Context, a *agent.Session, args string) (CommandAnswer, error) {
			answer, err := c.Run(ctx, a, args)
			if text := b.ToolSources(a); err == nil && text != "" {
				answer.Text += "\n\n" + text
			}
			return answer, err
		}
	}
	return list
}
