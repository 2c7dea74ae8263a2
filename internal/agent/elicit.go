package agent

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/elicit"
)

// Elicitor puts a tool's question to the person behind a session. It returns
// when there is an answer or ctx ends; its errors are those of the package
// elicit.
type Elicitor interface {
	AskUser(ctx context.Context, s *Session, callID, rootID string, q elicit.Question) (elicit.Answer, error)
}

// Elicit puts a tool's question to the person behind the session. A session is
// the [elicit.Elicitor] of its calls.
func (s *Session) Elicit(ctx context.Context, callID, rootID string, q elicit.Question) (elicit.Answer, error) {
	if s.cfg.Elicitor == nil {
		return elicit.Answer{}, elicit.ErrNoChannel
	}
	return s.cfg.Elicitor.AskUser(ctx, s, callID, rootID, q)
}
