package main

import (
	"context"
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/delegate"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/subagent"
)

// registerSubagents adds the tools that hand work to subagents.
func (a *app) registerSubagents(global *registry.Scope) error {
	m, err := delegate.New(delegate.Options{
		NewLog: a.subagentLog, Opened: a.subagentOpened, Closed: a.subagentClosed, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	a.delegates = m
	return subagent.Register(global, subagent.Options{
		Runner: m,
		// Recordings are bound to sessions in the order of their first requests.
		Alone: a.cfg.Model.Provider == "replay",
	})
}

// subagentLog makes a subagent's log inside the folder of its parent's session:
// it is listed and loaded with nobody, and deleted with the parent.
func (a *app) subagentLog(parent *agent.Session, h session.Header) (*session.Log, error) {
	opts := session.Options{Logger: a.logger}
	path := parent.SessionLogPath()
	if path == "" {
		return session.NewMemory(h, opts), nil
	}
	return session.NewStore(filepath.Join(filepath.Dir(path), "agents"), opts).Create(h)
}

// subagentOpened gives a subagent's scope what belongs to its parent's by name.
func (a *app) subagentOpened(parent *agent.Session, scope *registry.Scope) error {
	if s, ok := a.codeMode.tighter.Load(parent.Scope().Label()); ok {
		a.codeMode.tighter.Store(scope.Label(), s)
	}
	return nil
}

func (a *app) subagentClosed(ctx context.Context, id string) {
	a.SessionClosed(ctx, id)
	a.codeMode.tighter.Delete(id)
}

// beginDelegation lets a session have subagents, as its workspace's configuration
// bounds them.
func (a *app) beginDelegation(cfg *config.Config, id string, scope *registry.Scope) error {
	c := cfg.Agents
	return a.delegates.Begin(id, scope, delegate.Limits{
		MaxDepth: c.MaxDepth, MaxRunning: c.MaxRunning, MaxSteps: c.MaxSteps, Timeout: c.Timeout, Tools: c.Tools, Model: c.Model,
	})
}
