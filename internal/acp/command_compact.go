package acp

import (
	"context"
	"errors"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// compactCommand replaces the older part of the conversation by a summary.
func compactCommand() Command {
	return Command{model.Command{
		Name: "compact", Description: "Replace the older part of the conversation by a summary", Hint: "[what the summary should heed]",
	}, runCompact}
}

// runCompact shows nothing itself where the events of the compaction do.
func runCompact(ctx context.Context, s *agent.Session, args string) (CommandAnswer, error) {
	err := s.Compact(ctx, strings.TrimSpace(args))
	var broken *agent.TurnError
	switch {
	case errors.Is(err, agent.ErrNothingToCompact):
		return CommandAnswer{Text: "There is nothing to compact yet: the conversation is too short."}, nil
	case errors.As(err, &broken), ctx.Err() != nil:
		return CommandAnswer{}, err
	}
	return CommandAnswer{}, nil
}
