package acp

import (
	"context"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Consenter asks the person whether what a workspace brings by itself may run.
type Consenter interface {
	// AskConsent puts the question whose card an event consent/asked has announced
	// under this id, and returns one of the answers of consent/answered. What is
	// not answered, dismissed or cannot be asked is [session.ConsentLater]; the
	// error is that of ctx.
	AskConsent(ctx context.Context, sessionID, id string) (string, error)
}

// ConsentBackend is implemented by a Backend whose sessions use what a workspace
// brings by itself, once the person has allowed it.
type ConsentBackend interface {
	// Brought tells what the workspace of a session brings and does not run, in
	// Markdown; "" when there is nothing to tell.
	Brought(s *agent.Session) string
	// AskBrought asks about it, whatever was answered before, and tells what came
	// of it. It is called between turns.
	AskBrought(ctx context.Context, s *agent.Session) (string, error)
}

// consentOptions are the answers to a question of consent, in the order in which
// they are offered. What is allowed stays allowed: no "once" is among them.
var consentOptions = []struct{ answer, id, name string }{
	{session.ConsentAllowed, "allow-content", "Allow this content"},
	{session.ConsentLater, "not-now", "Not now"},
	{session.ConsentNever, "never-content", "Never for this content"},
}

// AskConsent asks with a permission request, which every client knows. It is
// withdrawn when nobody has answered within Options.QuestionTimeout, which counts
// as "not now".
func (s *Server) AskConsent(ctx context.Context, sessionID, id string) (string, error) {
	l, perr := s.session(sessionID)
	if perr != nil {
		return session.ConsentLater, nil
	}
	call, ok := l.announced(id)
	if !ok {
		return session.ConsentLater, nil
	}
	kinds := []protocol.OptionKind{protocol.AllowAlways, protocol.RejectOnce, protocol.RejectAlways}
	var options []protocol.PermissionOption
	for i, o := range consentOptions {
		options = append(options, protocol.NewPermissionOption(o.id, o.name, kinds[i]))
	}
	shown := toolCall(call).Change()
	limited := ctx
	if limit := s.opt.QuestionTimeout; limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	raw, err := s.call(limited, protocol.MethodRequestPermission, protocol.NewRequestPermission(sessionID, shown, options), sentNothing)
	if ctx.Err() != nil {
		return session.ConsentLater, ctx.Err()
	}
	var outcome protocol.PermissionOutcome
	if err == nil {
		outcome, err = protocol.DecodePermissionOutcome(raw)
	}
	if err != nil {
		s.log.Warn("nobody answered whether what the workspace brings may run; it does not", "session", sessionID, "err", err)
		return session.ConsentLater, nil
	}
	for _, o := range consentOptions {
		if !outcome.Cancelled && o.id == outcome.OptionID {
			return o.answer, nil
		}
	}
	return session.ConsentLater, nil
}

// withConsents lets /permissions tell what the workspace brings, and ask about it.
func (s *Server) withConsents(list []Command) []Command {
	b, ok := s.opt.Backend.(ConsentBackend)
	if !ok {
		return list
	}
	for i, c := range list {
		if c.Name != "permissions" {
			continue
		}
		list[i].Run = func(ctx context.Context, a *agent.Session, args string) (CommandAnswer, error) {
			words := strings.Fields(args)
			if len(words) == 1 && words[0] == "workspace" {
				text, err := b.AskBrought(ctx, a)
				return CommandAnswer{Text: text}, err
			}
			answer, err := c.Run(ctx, a, args)
			if text := b.Brought(a); err == nil && text != "" && len(words) == 0 {
				answer.Text = strings.TrimSpace(answer.Text + "\n\n" + text)
			}
			return answer, err
		}
	}
	return list
}
