package acp

import (
	"context"
	"errors"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
)

// permissionOptions are the answers to a permission question, in the order in
// which they are offered.
var permissionOptions = []struct {
	answer agent.Answer
	id     string
	name   string // "" for those whose name says what they cover
	kind   protocol.OptionKind
}{
	{agent.AnswerAllowOnce, "allow-once", "Allow once", protocol.AllowOnce},
	{agent.AnswerAllowSession, "allow-always-session", "", protocol.AllowAlways},
	{agent.AnswerAllowProject, "allow-always-project", "", protocol.AllowAlways},
	{agent.AnswerReject, "reject-once", "Reject", protocol.RejectOnce},
	{agent.AnswerRejectSession, "reject-always-session", "", protocol.RejectAlways},
}

// offer chooses the options of a question. Editors bind keys and buttons to
// kinds, so no two share one, unless the client said under _meta that it tells
// options apart by more than that (permission_scopes): of several lasting
// answers of one kind the first, which is the preferred one, is offered.
func offer(q agent.Question, scopes bool) []protocol.PermissionOption {
	labels := map[agent.Answer]string{}
	taken := map[protocol.OptionKind]bool{}
	for _, l := range q.Lasting {
		if kind := kindOf(l.Answer); scopes || !taken[kind] {
			taken[kind], labels[l.Answer] = true, l.Label
		}
	}
	var options []protocol.PermissionOption
	for _, o := range permissionOptions {
		name := o.name
		if name == "" {
			name = labels[o.answer]
		}
		if name != "" {
			options = append(options, protocol.NewPermissionOption(o.id, name, o.kind))
		}
	}
	return options
}

func kindOf(a agent.Answer) protocol.OptionKind {
	for _, o := range permissionOptions {
		if o.answer == a {
			return o.kind
		}
	}
	return ""
}

// Ask puts a permission question to the client. The request repeats the card of
// the call, because clients show only what the request itself carries. There is
// no deadline: people may take their time, and only a cancelled turn, or an
// answer to a sibling that covers this question too, withdraws it.
func (s *Server) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	l, perr := s.session(q.Session.SessionID())
	if perr != nil {
		return agent.AnswerUnavailable, nil
	}
	call, ok := l.announced(q.Card())
	if !ok {
		return agent.AnswerUnavailable, nil
	}
	options := offer(q, l.scopes)
	params := protocol.NewRequestPermission(l.agent.SessionID(), permissionCall(call, q.Execution.Arguments(), q.Reason), options)
	params.KindsRepeat = l.scopes
	if err := params.Validate(); err != nil {
		return agent.AnswerUnavailable, err
	}
	raw, err := s.call(ctx, protocol.MethodRequestPermission, params, q.Sent)
	if err != nil {
		return agent.AnswerUnavailable, err
	}
	outcome, err := protocol.DecodePermissionOutcome(raw)
	if err != nil {
		return agent.AnswerUnavailable, badAnswer(err)
	}
	if outcome.Cancelled {
		// A client answers so when the person dismissed the question: the turn
		// must not go on as if nothing had been asked.
		l.cancelTurns(errCancelledByClient)
		return agent.AnswerCancelled, nil
	}
	for _, offered := range options {
		if offered.OptionID != outcome.OptionID {
			continue
		}
		for _, o := range permissionOptions {
			if o.id == outcome.OptionID {
				return o.answer, nil
			}
		}
	}
	return agent.AnswerUnavailable, &agent.BadAnswerError{Why: "it chose the option " + quoted(outcome.OptionID) + ", which was not offered"}
}

// badAnswer is an answer that the protocol does not know, in words.
func badAnswer(err error) error {
	var fault *protocol.Error
	if errors.As(err, &fault) {
		return &agent.BadAnswerError{Why: fault.Message}
	}
	return &agent.BadAnswerError{Why: err.Error()}
}
