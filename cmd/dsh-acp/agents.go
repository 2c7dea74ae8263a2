package main

import (
	"context"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/delegate"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/subagent"
)

// delegation runs the subagents of every session.
type delegation struct {
	*delegate.Manager
	dirs sync.Map // the folder of each subagent's session, by its id
}

// registerSubagents adds the tools that hand work to subagents.
func (a *app) registerSubagents(global *registry.Scope) error {
	m, err := delegate.New(delegate.Options{
		NewLog: a.subagentLog, Opened: a.subagentOpened, Closed: a.subagentClosed, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	a.delegates.Manager = m
	return subagent.Register(global, subagent.Options{
		Runner: m,
		// Recordings are bound to sessions in the order of their first requests.
		Alone: a.cfg.Model.Provider == "replay",
	})
}

// subagentLog makes a subagent's log inside the folder of its parent's session:
// it is listed and loaded with nobody, and deleted with the parent.
func (a *app) subagentLog(parent *agent.Session, h session.Header) (*session.Log, error) {
	opts := a.logOptions()
	path := parent.SessionLogPath()
	if path == "" {
		return session.NewMemory(h, opts), nil
	}
	store := session.AgentsOf(path, opts)
	a.delegates.dirs.Store(h.ID, store.Dir(h.ID))
	return store.Create(h)
}

// openDir is the folder of a session that is open, a subagent's among them.
func (a *app) openDir(id string) string {
	if dir, ok := a.delegates.dirs.Load(id); ok {
		return dir.(string)
	}
	return a.store.Dir(id)
}

// subagentOpened gives a subagent what belongs to its parent by name. A fork
// knows the files that its parent has read.
func (a *app) subagentOpened(parent, child string, scope *registry.Scope, fork bool) {
	if s, ok := a.codeMode.tighter.Load(parent); ok {
		a.codeMode.tighter.Store(scope.Label(), s)
	}
	a.editors.share(parent, child)
	if fork {
		a.observed.Share(parent, child)
	}
}

func (a *app) subagentClosed(ctx context.Context, id string) {
	a.SessionClosed(ctx, id)
	a.delegates.dirs.Delete(id)
}

// beginDelegation lets a session have subagents, as its workspace's configuration
// bounds them.
func (a *app) beginDelegation(cfg *config.Config, id string, scope *registry.Scope) error {
	c := cfg.Agents
	return a.delegates.Begin(id, scope, delegate.Limits{
		MaxDepth: c.MaxDepth, MaxRunning: c.MaxRunning, MaxSteps: c.MaxSteps, Timeout: c.Timeout, Tools: c.Tools, Model: c.Model,
	})
}
