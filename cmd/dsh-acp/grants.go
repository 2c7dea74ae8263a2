package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/policy"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Events of the session log by which the answers that were to be remembered for
// the session are there again when it is loaded: {key, decision, at} and
// {key, decision}. They are this program's own addition to the recorded
// vocabulary.
const (
	typeRemembered = "permission/remembered"
	typeRevoked    = "permission/revoked"
)

// projects are the grants of projects, one for all sessions of a project.
type projects struct {
	mu   sync.Mutex
	open map[string]*policy.Project
}

// of gives the grants of the project that a directory is.
func (p *projects) of(cfg *config.Config, cwd string, log *slog.Logger) *policy.Project {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := policy.CanonicalDir(cwd)
	if p.open == nil {
		p.open = map[string]*policy.Project{}
	}
	if p.open[dir] == nil {
		p.open[dir] = openProject(cfg, dir, log)
	}
	return p.open[dir]
}

// openProject finds the grants of a project. They are kept among the sessions:
// that folder is ours alone, and no command may write to it.
func openProject(cfg *config.Config, dir string, log *slog.Logger) *policy.Project {
	return policy.OpenProject(filepath.Join(cfg.Sessions.Dir, ".grants"), dir, log)
}

// grantsOf gives what was answered in a session for longer than once, as far as
// its log and its project have it. A session that another one starts shares
// that one's instead.
func (a *app) grantsOf(cfg *config.Config, log *session.Log) *policy.Grants {
	g := policy.NewSessionGrants(policy.GrantsOptions{
		Session: log.Header().ID,
		Project: a.projects.of(cfg, log.Header().Cwd, a.logger),
		Record: func(x policy.Granted, forgotten bool) error {
			draft := session.Draft{Type: typeRemembered, Data: grantData(x)}
			if forgotten {
				draft.Type = typeRevoked
			}
			_, err := log.Append(draft)
			return err
		},
	})
	for _, ev := range log.Kept() {
		if ev.Seq < int64(log.Header().SeedLength) {
			continue // answered in the session that this one was made from
		}
		switch ev.Type {
		case typeRemembered, typeRevoked:
			g.Restore(grantFrom(ev.Data), ev.Type == typeRevoked)
		}
	}
	return g
}

func grantData(x policy.Granted) jsonvalue.Value {
	decision := "allow"
	if x.Rejected {
		decision = "reject"
	}
	return session.Data("key", x.Key, "decision", decision, "at", x.At.UTC().Format(time.RFC3339Nano))
}

func grantFrom(data jsonvalue.Value) policy.Granted {
	at, _ := time.Parse(time.RFC3339Nano, data.GetString("at")) // the zero time says that it is not known
	return policy.Granted{Key: data.GetString("key"), Rejected: data.GetString("decision") != "allow", At: at}
}

// Offer gives the answers to a question that can be remembered.
func (p sessionPolicy) Offer(exec *registry.Execution) []agent.Lasting {
	o := p.OfferFor(exec)
	all := []agent.Lasting{
		{Answer: agent.AnswerAllowSession, Label: o.AllowSession.Label, Key: o.AllowSession.Key},
		{Answer: agent.AnswerAllowProject, Label: o.AllowProject.Label, Key: o.AllowProject.Key},
		{Answer: agent.AnswerRejectSession, Label: o.RejectSession.Label, Key: o.RejectSession.Key},
	}
	if p.preferProject {
		all[0], all[1] = all[1], all[0]
	}
	offered := all[:0]
	for _, l := range all {
		if l.Label != "" {
			offered = append(offered, l)
		}
	}
	return offered
}

// Remember records an answer. What it covers is what was offered, even where a
// link leads elsewhere by now or another tool has the name.
func (p sessionPolicy) Remember(_ *registry.Execution, l agent.Lasting) error {
	what := policy.Grant{Key: l.Key, Label: l.Label}
	switch l.Answer {
	case agent.AnswerAllowSession:
		return p.Grants().Allow(what, policy.ThisSession)
	case agent.AnswerAllowProject:
		return p.Grants().Allow(what, policy.ThisProject)
	case agent.AnswerRejectSession:
		return p.Grants().Reject(what)
	}
	return errors.New("this answer is not one to remember")
}

// Changed is closed when what is remembered changes the next time.
func (p sessionPolicy) Changed() <-chan struct{} { return p.Grants().Changed() }

// List gives what is remembered.
func (p sessionPolicy) List() ([]agent.Remembered, error) {
	list, err := p.Grants().List()
	out := make([]agent.Remembered, len(list))
	for i, x := range list {
		out[i] = agent.Remembered{
			Number: x.Number, Key: x.Key, Label: x.Label, Rejected: x.Rejected, Project: x.Lifetime == policy.ThisProject, At: x.At, Session: x.Session,
		}
	}
	return out, err
}

// Revoke takes back an entry of List.
func (p sessionPolicy) Revoke(x agent.Remembered) error { return p.Grants().Revoke(granted(x)) }

// Keep makes what was allowed for the session last for the project.
func (p sessionPolicy) Keep(x agent.Remembered) error { return p.Grants().Keep(granted(x)) }

// SavedIn is the file of what is remembered for the project.
func (p sessionPolicy) SavedIn() string {
	if project := p.Grants().Project(); project != nil {
		return project.File()
	}
	return ""
}

func granted(x agent.Remembered) policy.Granted {
	g := policy.Granted{Key: x.Key, Label: x.Label, Rejected: x.Rejected, Lifetime: policy.ThisSession, At: x.At, Session: x.Session}
	if x.Project {
		g.Lifetime = policy.ThisProject
	}
	return g
}

// checkGrants mentions what is saved for the project in the current folder.
func checkGrants(r *report, cfg *config.Config) {
	dir, err := os.Getwd()
	if err != nil {
		r.note("grants", "the current folder is not known: %v", err)
		return
	}
	project := openProject(cfg, dir, slog.New(slog.DiscardHandler))
	list, err := project.List()
	switch {
	case err != nil:
		r.bad("grants", "what was allowed for %s cannot be used, and is asked about again: %v", project.Dir(), err)
	case len(list) == 0:
		r.ok("grants", "nothing is saved for %s", project.Dir())
	default:
		r.ok("grants", "%d saved for %s in %s; /permissions lists them", len(list), project.Dir(), project.File())
	}
}
