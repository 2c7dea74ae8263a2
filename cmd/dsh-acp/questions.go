package main

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/codemode"
	"github.com/dsh-acp/dsh-acp/internal/elicit"
)

// pausing asks the user while the clock of the program that asks stands still.
type pausing struct{ next agent.Elicitor }

// AskUser asks next.
func (p pausing) AskUser(ctx context.Context, s *agent.Session, callID, rootID string, q elicit.Question) (elicit.Answer, error) {
	if p.next == nil {
		return elicit.Answer{}, elicit.ErrNoChannel
	}
	defer codemode.PauseWall(ctx)()
	return p.next.AskUser(ctx, s, callID, rootID, q)
}
