package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/jobs"
)

// jobsEndGrace is how long a closing session waits for what it runs in the
// background: the kill ladder's three seconds, and some.
const jobsEndGrace = 4 * time.Second

// registerJobs adds what keeps commands in the background, and its tools. nil
// when the configuration switches them off.
func (a *app) registerJobs(global *registry.Scope) (*jobs.Manager, error) {
	if a.cfg.Tools.MaxBackgroundTasks == 0 {
		return nil, nil
	}
	a.jobs = jobs.New(jobs.Options{
		MaxRunning: a.cfg.Tools.MaxBackgroundTasks, Logger: a.logger,
		Dir: a.jobsDir, Conceal: a.guard.Stream,
	})
	return a.jobs, jobs.Register(global, a.jobs)
}

// jobsDir is where the output of a session's jobs is kept, outputDir that of its
// other commands.
func (a *app) jobsDir(id string) string   { return a.sessionDir(id, "jobs") }
func (a *app) outputDir(id string) string { return a.sessionDir(id, "output") }

// sessionDir is a folder of a session's; "" for an agent that has no session in
// the store.
func (a *app) sessionDir(id, name string) string {
	if id == "" {
		return ""
	}
	dir := a.openDir(id)
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return filepath.Join(dir, name)
}

// keepJobs ties a session's jobs to it: those of its log are known again, the
// model is told of their end, and closing the session ends them.
func (a *app) keepJobs(log *session.Log, cfg *agent.Config) {
	if a.jobs == nil {
		return
	}
	id := log.Header().ID
	a.jobs.Restore(id, func(yield func(jobs.LogEvent) bool) {
		for _, ev := range log.Kept() {
			if !yield(jobs.LogEvent{Type: ev.Type, Time: ev.Time, Data: ev.Data}) {
				return
			}
		}
	})
	cfg.News = a.jobs.News
	cfg.OnClose = func(id string) {
		ctx, cancel := context.WithTimeout(context.Background(), jobsEndGrace)
		defer cancel()
		if err := a.jobs.CloseSession(ctx, id); err != nil {
			a.logger.Warn("a closed session's background tasks did not end", "session", id, "err", err)
		}
	}
}
