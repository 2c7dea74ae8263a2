package agent

import (
	"context"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/elicit"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Delegation is a call of a session that has another session do its work.
type Delegation struct {
	// CallID is the call's id, RootID the one of the model's call that it is part
	// of, which is the same unless a program made it.
	CallID, RootID string
	// Title says in a few words what the other session is for; people see it
	// where the session asks for permission.
	Title string
	// Pause stops the clock of the work while a person is asked; the result
	// starts it again. nil: there is none.
	Pause func() (resume func())
}

// CardID is the id by which the parent's log knows a call of the session that
// works for the delegation.
func (d Delegation) CardID(callID string) string { return d.CallID + "/" + callID }

// Delegated is the configuration of a session that works for s during one of its
// calls. It has the model that s has now, and never more than s: what s's person
// allowed and the preset of s hold for it, and its questions go to that person,
// as questions of s.
func (s *Session) Delegated(log *session.Log, scope *registry.Scope, d Delegation) Config {
	s.mu.Lock()
	now := s.set.now
	s.mu.Unlock()
	cfg := Config{
		Log: log, Scope: scope, Pipeline: s.cfg.Pipeline,
		Provider: s.cfg.Catalogue.provider(now.Provider), Model: now.Model, Effort: now.Effort, Catalogue: s.cfg.Catalogue,
		AdditionalDirectories: s.cfg.AdditionalDirectories,
		Grants:                s.cfg.Grants, NeverAsk: s.cfg.NeverAsk,
		News: s.cfg.News, OnClose: s.cfg.OnClose,
		Price: s.cfg.Price, Charge: s.spend,
		Backoff: s.cfg.Backoff, Compaction: s.cfg.Compaction, Logger: s.cfg.Logger,
		Output: func(callID string, chunk []byte) { s.CallOutput(d.CardID(callID), chunk) },
	}
	if len(s.cfg.Listeners) > 0 {
		cfg.Listeners = []Listener{{AfterStep: s.stoppedFor}}
	}
	if cfg.Provider == nil {
		cfg.Provider = s.cfg.Provider
	}
	if s.cfg.Asker != nil {
		cfg.Asker = &askingFor{s: s, d: d}
	}
	if s.cfg.Elicitor != nil {
		cfg.Elicitor = &askingFor{s: s, d: d}
	}
	if s.cfg.Permissions != nil {
		cfg.Permissions = inherited{s.cfg.Permissions}
	}
	return cfg
}

// Provider finds one of the providers by its id; nil when there is none.
func (c *Catalogue) Provider(id string) model.Provider { return c.provider(id) }

// Card is the id of the call whose card the question is about.
func (q Question) Card() string {
	if q.CardID != "" {
		return q.CardID
	}
	return q.Execution.CallID()
}

// askingFor puts the questions of a session to the person of the one that it
// works for.
type askingFor struct {
	s *Session // whose call has the work done
	d Delegation
}

func (a *askingFor) pause() (resume func()) {
	if a.d.Pause == nil {
		return func() {}
	}
	return a.d.Pause()
}

// Ask asks as the parent, naming who wants to know.
func (a *askingFor) Ask(ctx context.Context, q Question) (Answer, error) {
	defer a.pause()()
	q.CardID = a.d.CardID(q.Card())
	q.Session = a.s
	q.Chain = append([]string{a.d.Title}, q.Chain...)
	if _, further := a.s.cfg.Asker.(*askingFor); !further {
		who := "Asked by the subagent " + strings.Join(q.Chain, " › ")
		if q.Reason != "" {
			who += "\n" + q.Reason
		}
		q.Reason = who
	}
	return a.s.cfg.Asker.Ask(ctx, q)
}

// AskUser asks as the parent. A client that does not show the call that asks
// shows the parent's.
func (a *askingFor) AskUser(ctx context.Context, _ *Session, callID, _ string, q elicit.Question) (elicit.Answer, error) {
	defer a.pause()()
	return a.s.cfg.Elicitor.AskUser(ctx, a.s, a.d.CardID(callID), a.d.RootID, q)
}

// inherited are the permissions of another session: they can be seen, and are
// switched there.
type inherited struct{ of Permissions }

func (i inherited) Presets() []Preset      { return i.of.Presets() }
func (i inherited) Preset() string         { return i.of.Preset() }
func (i inherited) SetPreset(string) error { return nil }
func (i inherited) SetPlanning(bool)       {}
func (i inherited) Rules() []string        { return i.of.Rules() }
