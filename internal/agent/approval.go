package agent

import (
	"context"
	"errors"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Answer is what a person said to a permission question.
type Answer int

// The answers. The zero value grants nothing.
const (
	AnswerUnavailable Answer = iota // nobody could be asked
	AnswerReject
	AnswerAllowOnce
	AnswerAllowAlways
	AnswerCancelled
)

// Question is one permission question.
type Question struct {
	Session   *Session
	Execution *registry.Execution
	Reason    string // for the person only; may be empty
	// AlwaysLabel says what an "always" answer would cover; empty when that
	// cannot be offered.
	AlwaysLabel string
	// CardID is the call whose card the question is about, where that is not the
	// execution's own id; see Card.
	CardID string
	// Chain names the subagents between Session and the call, the outermost first.
	Chain []string
}

// Asker puts a question to the person. It returns when there is an answer or ctx
// ends. An error means that the question could not be put.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Grants remembers what a person allowed for good.
type Grants interface {
	// Offer says what an "always" answer to this call would cover.
	Offer(exec *registry.Execution) (label string, ok bool)
	// Remember records the "always" answer.
	Remember(exec *registry.Execution)
}

// Approver routes the pipeline's questions to the session whose call it is. It
// is the pipeline.Approver of the whole program.
type Approver struct{}

// RequestApproval asks the person behind the call's session and records question
// and decision in the log (rule R5.12). A call without a session of this program
// has no channel.
func (Approver) RequestApproval(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	s, ok := req.Execution.Agent().(*Session)
	if !ok {
		return pipeline.Unavailable, nil
	}
	return s.approve(ctx, req)
}

func (s *Session) approve(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	id := session.NewID()
	asked := session.Data("id", id, "toolName", req.Execution.Name(), "callId", req.Execution.CallID())
	if req.Reason != "" {
		asked = asked.With("reason", jsonvalue.String(req.Reason))
	}
	if _, err := s.append(session.TypeApprovalAsked, asked); err != nil {
		return "", err
	}
	outcome := s.ask(ctx, req)
	if _, err := s.append(session.TypeApprovalDecided, session.Data("id", id, "outcome", string(outcome))); err != nil {
		return "", err
	}
	return outcome, nil
}

func (s *Session) ask(ctx context.Context, req pipeline.ApprovalRequest) pipeline.ApprovalOutcome {
	switch {
	case ctx.Err() != nil:
		return pipeline.Cancelled
	case s.cfg.NeverAsk != nil && s.cfg.NeverAsk():
		return pipeline.Rejected
	case s.cfg.Asker == nil:
		return pipeline.Unavailable
	}
	q := Question{Session: s, Execution: req.Execution, Reason: req.Reason}
	if s.cfg.Grants != nil {
		q.AlwaysLabel, _ = s.cfg.Grants.Offer(req.Execution)
	}
	answer, err := s.cfg.Asker.Ask(ctx, q)
	// A late answer changes nothing: the cancellation came first.
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return pipeline.Cancelled
	}
	if err != nil {
		s.cfg.Logger.Warn("a permission question could not be asked", "tool", req.Execution.Name(), "err", err)
		return pipeline.Unavailable
	}
	switch answer {
	case AnswerAllowAlways:
		if s.cfg.Grants != nil && q.AlwaysLabel != "" {
			s.cfg.Grants.Remember(req.Execution)
		}
		return pipeline.AllowedOnce
	case AnswerAllowOnce:
		return pipeline.AllowedOnce
	case AnswerReject:
		return pipeline.Rejected
	case AnswerCancelled:
		return pipeline.Cancelled
	default:
		return pipeline.Unavailable
	}
}
