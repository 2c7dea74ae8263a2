package agent

import (
	"context"
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// StopReason says why a turn ended well. The values are ACP's.
type StopReason string

// The stop reasons of a turn.
const (
	EndTurn         StopReason = "end_turn"
	MaxTokens       StopReason = "max_tokens"
	MaxTurnRequests StopReason = "max_turn_requests"
	Refusal         StopReason = "refusal"
	Cancelled       StopReason = "cancelled"
)

// Turn ends that the recorded vocabulary has no word for.
const (
	endMaxSteps = "max-steps"
	endRefusal  = "refusal"
)

// TurnError is a turn that failed: the provider or the log did. The session can
// be prompted again unless its log is broken.
type TurnError struct {
	Message string
	Code    string // the provider's code, if any
	Err     error
}

// Error is the message; it says what to do next where somebody can.
func (e *TurnError) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *TurnError) Unwrap() error { return e.Err }

// Prompt runs one turn and returns why it ended. When ctx ends, the turn is
// cancelled: what runs is stopped and awaited, every call gets its result, and
// the reason is Cancelled. A failure is a *TurnError.
func (s *Session) Prompt(ctx context.Context, prompt []content.Block) (StopReason, error) {
	return s.PromptShown(ctx, prompt, nil)
}

// PromptShown is Prompt for a prompt that the person sees in another form than
// the model: shown is what they sent, and what a replay shows. nil means that
// both are the same, an empty list that nothing is to be shown.
func (s *Session) PromptShown(ctx context.Context, prompt, shown []content.Block) (StopReason, error) {
	s.turn++
	if end, err := s.openTurn(ctx, prompt, shown); err != nil || end != "" {
		return end, err
	}
	for step := int64(1); ; step++ {
		if step > int64(s.cfg.MaxSteps) {
			return MaxTurnRequests, s.endTurn(session.Data("kind", endMaxSteps, "limit", s.cfg.MaxSteps))
		}
		if ctx.Err() != nil {
			return Cancelled, s.endTurn(session.Data("kind", endKind(ctx)))
		}
		if step > 1 {
			if _, err := s.steer(ctx); err != nil {
				return "", err
			}
		}
		out, err := s.step(ctx, step)
		if err != nil {
			return "", err
		}
		if out == stepContinue || out == stepDone {
			if why, stop := s.stopped(); stop && ctx.Err() == nil {
				return EndTurn, s.endTurn(session.Data("kind", session.EndCompleted, "stopped", why))
			}
		}
		switch out {
		case stepContinue:
		case stepDone:
			more, err := false, error(nil)
			if step < int64(s.cfg.MaxSteps) { // else nobody would answer
				more, err = s.steer(ctx)
			}
			if !more && err == nil {
				more, err = s.goesOn(ctx)
			}
			switch {
			case err != nil:
				return "", err
			case more:
				continue
			case ctx.Err() != nil && len(s.cfg.Listeners) > 0:
				return Cancelled, s.endTurn(session.Data("kind", endKind(ctx)))
			}
			return EndTurn, s.endTurn(session.Data("kind", session.EndCompleted))
		case stepMaxTokens:
			return MaxTokens, s.endTurn(session.Data("kind", session.EndMaxTokens))
		case stepRefused:
			return Refusal, s.endTurn(session.Data("kind", endRefusal))
		case stepCancelled:
			return Cancelled, s.endTurn(session.Data("kind", endKind(ctx)))
		}
	}
}

// envelope is what a message has besides what the model reads: what was sent.
func envelope(shown []content.Block) jsonvalue.Value {
	return session.Data("displayContent", content.ToValue(shown), "prefixContexts", []any{})
}

// openTurn logs the prompt: turn/start, what was chosen since the turn before,
// user/message, context parked by that turn and added by listeners, and the
// session's title on the first prompt. A stop reason says that a listener has
// ended the turn; the error is the turn's.
func (s *Session) openTurn(ctx context.Context, prompt, shown []content.Block) (StopReason, error) {
	user := session.Data("kind", "user")
	chosen, told, err := s.settle()
	if err != nil {
		return "", &TurnError{Message: err.Error(), Err: err}
	}
	s.mu.Lock()
	s.set.turnOpen = true
	s.mu.Unlock()
	drafts := append([]session.Draft{
		{Type: session.TypeTurnStart, Data: session.Data("turn", s.turn, "trigger", session.Data("kind", "message", "source", user))},
	}, chosen...)
	var added []registry.Context
	if len(s.cfg.Listeners) > 0 {
		// What listeners write belongs into a turn that has begun.
		if _, err := s.cfg.Log.AppendAll(drafts); err != nil {
			return "", logFailure(err)
		}
		drafts = nil
		v, err := s.promptSubmitted(ctx, prompt)
		if err != nil || v.Block || ctx.Err() != nil {
			return s.refusePrompt(ctx, prompt, v, err, told)
		}
		added = v.Contexts
	}
	message := len(drafts)
	data := session.Data("content", content.ToValue(prompt), "source", user)
	if shown != nil {
		data = data.With("envelope", envelope(shown))
	}
	drafts = append(drafts, session.Draft{Type: session.TypeUserMessage, Data: data})
	drafts = append(drafts, told...)
	for _, c := range append(s.parked, added...) {
		drafts = append(drafts, contextDraft(c))
	}
	s.parked = nil
	drafts = append(drafts, s.news()...)
	events, err := s.cfg.Log.AppendAll(drafts)
	if err != nil {
		return "", logFailure(err)
	}
	title := titleFrom(content.JoinText(shown))
	if title == "" {
		title = titleFrom(content.JoinText(prompt))
	}
	s.mu.Lock()
	titled := s.titled || title == ""
	s.titled = s.titled || title != ""
	s.mu.Unlock()
	if titled {
		return "", nil
	}
	_, err = s.append(session.TypeTitle, session.Data("title", title, "messageSeqs", []any{events[message].Seq}, "source", session.Data("kind", "fallback")))
	if err != nil {
		return "", logFailure(err)
	}
	return "", nil
}

// endTurn logs the end. Its error is the turn's.
func (s *Session) endTurn(reason jsonvalue.Value) error {
	drafts := append(s.approvedExit(), session.Draft{Type: session.TypeTurnEnd, Data: session.Data("turn", s.turn, "reason", reason)})
	if _, err := s.cfg.Log.AppendAll(drafts); err != nil {
		return logFailure(err)
	}
	return nil
}

// failTurn ends step and turn because of the provider.
func (s *Session) failTurn(step int64, cause error) error {
	failure := model.AsError(cause)
	if err := s.endStep(step); err != nil {
		return err
	}
	if err := s.endTurn(session.Data("kind", session.EndError, "step", step, "failure", failure.Value())); err != nil {
		return err
	}
	return &TurnError{Message: failure.Message, Code: failure.Code, Err: cause}
}

func (s *Session) endStep(step int64) error {
	if _, err := s.append(session.TypeStepEnd, session.Data("turn", s.turn, "step", step)); err != nil {
		return logFailure(err)
	}
	return nil
}

// logFailure is the turn's error when the session log cannot be written.
func logFailure(err error) error {
	return &TurnError{Message: fmt.Sprintf("the session log could not be written: %v", err), Code: "SESSION_LOG", Err: err}
}
