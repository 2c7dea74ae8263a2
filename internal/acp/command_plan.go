package acp

import (
	"context"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// planCommand enters plan mode, or leaves it with "off".
func planCommand() Command {
	return Command{model.Command{Name: "plan", Description: "Enter or leave plan mode", Hint: "[off|message]"}, runPlan}
}

func runPlan(_ context.Context, s *agent.Session, args string) (CommandAnswer, error) {
	args = strings.TrimSpace(args)
	if args != "off" {
		s.SetPlanning(true)
		return CommandAnswer{"Entering plan mode (applies from the next step). Use /plan off to leave.", args}, nil
	}
	active, next := s.PlanState()
	s.SetPlanning(false)
	switch {
	case active:
		return CommandAnswer{Text: "Leaving plan mode (applies from the next step)."}, nil
	case next:
		return CommandAnswer{Text: "Plan mode entry cancelled."}, nil
	}
	return CommandAnswer{Text: "Plan mode is already inactive."}, nil
}
