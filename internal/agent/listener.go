package agent

import (
	"context"
	"errors"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Listener watches the turns of a session and may steer them. A function that
// is nil lets everything pass. They run on the turn's goroutine, in order; an
// error that is not that of ctx fails the turn.
type Listener struct {
	// PromptSubmit judges a prompt after its turn has begun and before the
	// prompt is logged or a model sees it.
	PromptSubmit func(ctx context.Context, turn int64, prompt []content.Block) (PromptVerdict, error)
	// AfterStep says after each step whether the turn ends here, and why.
	AfterStep func() (reason string, stop bool)
	// Stop may keep a turn going whose model is done; last is what it said.
	Stop func(ctx context.Context, last string) (StopVerdict, error)
}

// PromptVerdict is what a listener says about a prompt; the zero value lets it
// pass.
type PromptVerdict struct {
	Block  bool
	Reason string
	// Failed says that the block is the listener's own failure: the turn then
	// ends with an error that says so, where a judged prompt ends cancelled.
	Failed   bool
	Contexts []registry.Context // for the model, behind the prompt
}

// StopVerdict is what a listener says about a turn that is about to end; the
// zero value lets it.
type StopVerdict struct {
	Continue []content.Block // for the model; the turn goes on
	Source   jsonvalue.Value // who says so
}

// promptSubmitted asks the listeners about a prompt. The first block counts.
func (s *Session) promptSubmitted(ctx context.Context, prompt []content.Block) (all PromptVerdict, err error) {
	for _, l := range s.cfg.Listeners {
		if l.PromptSubmit == nil {
			continue
		}
		v, err := l.PromptSubmit(ctx, s.turn, prompt)
		if err != nil || v.Block {
			return v, err
		}
		all.Contexts = append(all.Contexts, v.Contexts...)
	}
	return all, nil
}

// refusePrompt ends a turn whose prompt no model sees. told is what the model is
// to know all the same, with the next prompt.
func (s *Session) refusePrompt(ctx context.Context, prompt []content.Block, v PromptVerdict, failure error, told []session.Draft) (StopReason, error) {
	reason := v.Reason
	switch {
	case ctx.Err() != nil:
		reason = "the prompt was cancelled before it had been judged"
	case failure != nil:
		reason = failure.Error()
	}
	blocked := session.Data("content", content.ToValue(prompt), "source", session.Data("kind", "user"), "reason", reason)
	drafts := append([]session.Draft{{Type: session.TypePromptBlocked, Data: blocked}}, told...)
	if _, err := s.cfg.Log.AppendAll(drafts); err != nil {
		return "", logFailure(err)
	}
	switch {
	case ctx.Err() != nil:
		return Cancelled, s.endTurn(session.Data("kind", endKind(ctx)))
	case failure != nil || v.Failed:
		if failure == nil {
			failure = errors.New(reason)
		}
		if err := s.endTurn(session.Data("kind", session.EndError, "message", reason)); err != nil {
			return "", err
		}
		return "", &TurnError{Message: reason, Err: failure}
	}
	return Cancelled, s.endTurn(session.Data("kind", session.EndRejected, "reason", reason))
}

// StoppedPrompt says whether a listener stopped the last prompt, and why. It is
// for the goroutine that runs the turns.
func (s *Session) StoppedPrompt() (reason string, stopped bool) {
	events := s.cfg.Log.Kept()
	if len(events) == 0 || events[len(events)-1].Type != session.TypeTurnEnd {
		return "", false
	}
	end := events[len(events)-1].Data.Get("reason")
	return end.GetString("reason"), end.GetString("kind") == session.EndRejected
}

// stopped asks the listeners whether the turn ends after this step, where they
// have not said so to a session that worked for it.
func (s *Session) stopped() (reason string, stop bool) {
	reason, stop = s.askStopped()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.halt != "" {
		reason, stop, s.halt = s.halt, true, ""
	}
	return reason, stop
}

// stoppedFor asks for a session that works for this one. Listeners say it once,
// so it is kept: the turn of this one ends too.
func (s *Session) stoppedFor() (reason string, stop bool) {
	reason, stop = s.askStopped()
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop && s.halt == "" {
		s.halt = reason
	}
	return s.halt, s.halt != ""
}

func (s *Session) askStopped() (reason string, stop bool) {
	for _, l := range s.cfg.Listeners {
		if l.AfterStep == nil {
			continue
		}
		if why, yes := l.AfterStep(); yes && !stop {
			reason, stop = why, true
		}
	}
	return reason, stop
}

// goesOn asks the listeners whether a turn whose model is done goes on. What the
// first of them says to the model is logged.
func (s *Session) goesOn(ctx context.Context) (bool, error) {
	if len(s.cfg.Listeners) == 0 {
		return false, nil
	}
	last := s.LastText()
	for _, l := range s.cfg.Listeners {
		if l.Stop == nil {
			continue
		}
		v, err := l.Stop(ctx, last)
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err != nil:
			if end := s.endTurn(session.Data("kind", session.EndError, "message", err.Error())); end != nil {
				return false, end
			}
			return false, &TurnError{Message: err.Error(), Err: err}
		case v.Continue != nil:
			if _, err := s.append(session.TypeSteeringMessage, session.Data("turn", s.turn, "content", content.ToValue(v.Continue), "source", v.Source)); err != nil {
				return false, logFailure(err)
			}
			return true, nil
		}
	}
	return false, nil
}

// LastText is the text of the model's last message in the last turn; "" when it
// has said nothing there.
func (s *Session) LastText() string {
	events := s.cfg.Log.Kept()
	for i := len(events) - 1; i >= 0 && events[i].Type != session.TypeTurnStart; i-- {
		if events[i].Type != session.TypeAssistantMessage {
			continue
		}
		text := ""
		for _, part := range events[i].Data.Get("content").Elements() {
			if part.GetString("type") == string(model.PartText) {
				text += part.GetString("text")
			}
		}
		return text
	}
	return ""
}
