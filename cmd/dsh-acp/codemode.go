package main

import (
	"context"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/codemode"
	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// codeMode is what runs programs.
type codeMode struct {
	runner    *runner.Runner
	transport *codemode.Transport
	// tighter holds the limits of scopes whose workspace has stricter ones, by
	// the scope's label.
	tighter sync.Map
}

// setupCodeMode plugs run_code into the registry. No worker is started before a
// session needs one.
func (a *app) setupCodeMode() error {
	a.codeMode.runner = runner.New(runner.Options{Logger: a.logger})
	t, err := codemode.New(codemode.Options{
		Pipeline: a.pipeline, Engine: a.codeMode.runner, Settings: codeSettings(a.cfg), Logger: a.logger,
		SettingsOf: func(who registry.Agent) (codemode.Settings, bool) {
			s, ok := a.codeMode.tighter.Load(who.Scope().Label())
			if !ok {
				return codemode.Settings{}, false
			}
			return s.(codemode.Settings), true
		},
	})
	if err != nil {
		return err
	}
	a.codeMode.transport = t
	_, err = a.registry.SetTransport(t)
	return err
}

func codeSettings(cfg *config.Config) codemode.Settings {
	c := cfg.CodeMode
	return codemode.Settings{
		Limits:           runner.Limits{Compute: c.Compute, Wall: c.Wall, MemoryBytes: c.Memory, MaxOutputBytes: c.MaxOutputBytes},
		MaxParallelCalls: c.MaxParallelCalls,
	}
}

// presentCodeMode gives a session's scope the mode and the limits of its
// workspace, and has a worker ready before the first program comes. What it
// returns switches the mode; one goroutine at a time may call it.
func (a *app) presentCodeMode(cfg *config.Config, scope *registry.Scope) (func(registry.Mode) error, error) {
	if s := codeSettings(cfg); s != codeSettings(a.cfg) {
		a.codeMode.tighter.Store(scope.Label(), s)
	}
	undo := func() {}
	present := func(mode registry.Mode) error {
		if mode != scope.Mode() {
			undo()
			undo = func() {}
		}
		if mode != scope.Mode() {
			dispose, err := scope.PresentAs(mode)
			if err != nil {
				return err
			}
			undo = dispose
		}
		if mode != registry.ModeNative {
			a.warm()
		}
		return nil
	}
	return present, present(registry.Mode(cfg.Tools.Mode))
}

// warm has a worker ready. The runner waits for this when it is closed.
func (a *app) warm() {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := a.codeMode.runner.Warm(ctx); err != nil {
			a.logger.Debug("no Code Mode worker could be started ahead", "err", err)
		}
	}()
}

func (c *codeMode) close() {
	if c.runner != nil {
		c.runner.Close()
	}
}

// approver routes questions: to the session whose call it is, or to an agent
// that answers for itself.
func approver() pipeline.Approver { return codemode.Approver{Next: router{}} }

type router struct{}

func (router) RequestApproval(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	if own, ok := req.Execution.Agent().(pipeline.Approver); ok {
		return own.RequestApproval(ctx, req)
	}
	return agent.Approver{}.RequestApproval(ctx, req)
}
