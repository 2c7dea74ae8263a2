package agent

import (
	"context"
	"encoding/json"

	"github.com/dsh-acp/dsh-acp/internal/elicit"
)

// FormElicitor is an [Elicitor] that can also show whole forms.
type FormElicitor interface {
	AskForm(ctx context.Context, s *Session, callID, rootID string, f elicit.Form) (map[string]json.RawMessage, error)
}

// ElicitForm puts a form to the person behind the session. A session is the
// [elicit.FormElicitor] of its calls.
func (s *Session) ElicitForm(ctx context.Context, callID, rootID string, f elicit.Form) (map[string]json.RawMessage, error) {
	asker, ok := s.cfg.Elicitor.(FormElicitor)
	if !ok {
		return nil, elicit.ErrNoChannel
	}
	return asker.AskForm(ctx, s, callID, rootID, f)
}
