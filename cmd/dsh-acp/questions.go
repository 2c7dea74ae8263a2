package main

import (
	"context"
	"encoding/json"

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

// AskForm asks next.
func (p pausing) AskForm(ctx context.Context, s *agent.Session, callID, rootID string, f elicit.Form) (map[string]json.RawMessage, error) {
	asker, ok := p.next.(agent.FormElicitor)
	if !ok {
		return nil, elicit.ErrNoChannel
	}
	defer codemode.PauseWall(ctx)()
	return asker.AskForm(ctx, s, callID, rootID, f)
}
