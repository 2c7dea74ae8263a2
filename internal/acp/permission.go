package acp

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
)

// The options of a permission request. No two share a kind: clients map keys to
// kinds.
const (
	optionAllowOnce   = "allow-once"
	optionAllowAlways = "allow-always-session"
	optionRejectOnce  = "reject-once"
)

// Ask puts a permission question to the client. The request repeats the card of
// the call, because clients show only what the request itself carries. There is
// no deadline: people may take their time, and only a cancelled turn withdraws
// the question.
func (s *Server) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	l, perr := s.session(q.Session.SessionID())
	if perr != nil {
		return agent.AnswerUnavailable, nil
	}
	call, ok := l.announced(q.Card())
	if !ok {
		return agent.AnswerUnavailable, nil
	}
	options := []protocol.PermissionOption{{OptionID: optionAllowOnce, Name: "Allow once", Kind: protocol.AllowOnce}}
	if q.AlwaysLabel != "" {
		options = append(options, protocol.PermissionOption{OptionID: optionAllowAlways, Name: q.AlwaysLabel, Kind: protocol.AllowAlways})
	}
	options = append(options, protocol.PermissionOption{OptionID: optionRejectOnce, Name: "Reject", Kind: protocol.RejectOnce})
	params := protocol.NewRequestPermission(l.agent.SessionID(), permissionCall(call, q.Execution.Arguments(), q.Reason), options)
	if err := params.Validate(); err != nil {
		return agent.AnswerUnavailable, err
	}
	raw, err := s.conn.Call(ctx, protocol.MethodRequestPermission, params)
	if err != nil {
		return agent.AnswerUnavailable, err
	}
	outcome, err := protocol.DecodePermissionOutcome(raw)
	if err != nil {
		return agent.AnswerUnavailable, err
	}
	if outcome.Cancelled {
		// A client answers so when the person dismissed the question: the turn
		// must not go on as if nothing had been asked.
		l.cancelTurns(errCancelledByClient)
		return agent.AnswerCancelled, nil
	}
	switch outcome.OptionID {
	case optionAllowOnce:
		return agent.AnswerAllowOnce, nil
	case optionAllowAlways:
		if q.AlwaysLabel != "" {
			return agent.AnswerAllowAlways, nil
		}
	case optionRejectOnce:
		return agent.AnswerReject, nil
	}
	s.log.Warn("the client chose a permission option that was not offered; the call is not run", "option", outcome.OptionID)
	return agent.AnswerReject, nil
}
