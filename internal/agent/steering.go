package agent

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Steering is a message that the person sends into a running turn. The model
// reads it with its next request.
type Steering struct {
	// Content is what the model reads; Shown is what the person sent, nil when that
	// is the same.
	Content, Shown []content.Block
	// Taken is told whether the message became part of the turn; false says that a
	// listener has refused it.
	Taken func(bool)
}

// WatchSteering sets where a running turn looks for messages before each of its
// requests, and before it ends. take hands over what there is; it must not block.
func (s *Session) WatchSteering(take func() []Steering) { s.steering.Store(&take) }

// steer takes what the person has said meanwhile into the turn and says whether
// there was anything for the model. Each message is judged like a prompt.
func (s *Session) steer(ctx context.Context) (more bool, err error) {
	take := s.steering.Load()
	if take == nil || ctx.Err() != nil {
		return false, nil
	}
	waiting := (*take)()
	defer func() {
		// Where the turn fails, those that are left end with it.
		for _, m := range waiting {
			m.Taken(true)
		}
	}()
	for len(waiting) > 0 {
		m := waiting[0]
		v, failure := s.promptSubmitted(ctx, m.Content)
		waiting = waiting[1:]
		if failure != nil || v.Block || ctx.Err() != nil {
			reason := v.Reason
			switch {
			case ctx.Err() != nil:
				reason = "the turn was cancelled before the message had been judged"
			case failure != nil:
				reason = failure.Error()
			}
			_, err := s.append(session.TypePromptBlocked, session.Data("content", content.ToValue(m.Content), "source", session.Data("kind", "user"), "reason", reason))
			m.Taken(false)
			if err != nil {
				return more, logFailure(err)
			}
			continue
		}
		data := session.Data("turn", s.turn, "content", content.ToValue(m.Content), "source", session.Data("kind", "user"))
		if m.Shown != nil {
			data = data.With("envelope", envelope(m.Shown))
		}
		drafts := []session.Draft{{Type: session.TypeSteeringMessage, Data: data}}
		for _, c := range v.Contexts {
			drafts = append(drafts, contextDraft(c))
		}
		m.Taken(true)
		if _, err := s.cfg.Log.AppendAll(drafts); err != nil {
			return more, logFailure(err)
		}
		more = true
	}
	return more, nil
}
