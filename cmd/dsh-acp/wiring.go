package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/credentials"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/ask"
	"github.com/dsh-acp/dsh-acp/internal/tools/fs"
	"github.com/dsh-acp/dsh-acp/internal/tools/jobs"
	"github.com/dsh-acp/dsh-acp/internal/tools/plan"
	"github.com/dsh-acp/dsh-acp/internal/tools/search"
	"github.com/dsh-acp/dsh-acp/internal/tools/shell"
	"github.com/dsh-acp/dsh-acp/internal/tools/skill"
	"github.com/dsh-acp/dsh-acp/internal/tools/todo"
	"github.com/dsh-acp/dsh-acp/internal/tools/web"
)

// app is the program put together: one registry, one pipeline and one store for
// every session. It is the acp.Backend.
type app struct {
	cfg       *config.Config
	logger    *slog.Logger
	registry  *registry.Registry
	pipeline  *pipeline.Pipeline
	procs     *proc.Supervisor
	shell     *shell.Shell
	jobs      *jobs.Manager // nil when there are none
	store     *session.Store
	observed  *fs.Observations // which files each session has seen, and how
	editors   editors          // how each session's editor takes part in files
	skills    *skill.Catalogue
	delegates delegation
	web       *web.Web
	codeMode  codeMode
	mcp       mcpSessions
	consents  consentSessions // to what workspaces bring
	projects  projects        // what was allowed for each project
	boxes     boxes           // how the commands of each session are confined

	key         *credentials.Source // of the model's key
	guard       credentials.Guard   // keeps keys out of logs, cards and requests
	provider    model.Provider
	model       string
	catalogue   *agent.Catalogue
	gateway     atomic.Bool // requests go through a gateway that the editor named
	providerErr error       // why there is no provider; shown when a session is opened
}

// newApp registers the tools. It touches no file and no network, because it
// stands between an editor and its first answer.
func newApp(cfg *config.Config, logger *slog.Logger) (*app, error) {
	a := &app{cfg: cfg, logger: logger, procs: proc.NewSupervisor()}
	proc.HideVariables(cfg.Model.APIKeyEnv, cfg.Web.Search.APIKeyEnv) // they may be called anything
	var err error
	if a.registry, err = registry.New(registry.Options{Mode: registry.Mode(cfg.Tools.Mode), Logger: logger}); err != nil {
		return nil, err
	}
	a.pipeline, err = pipeline.New(a.registry, pipeline.Options{
		Approver: approver(), MaxParallel: cfg.Tools.MaxParallelCalls, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	if err := a.registerTools(); err != nil {
		return nil, err
	}
	if err := a.setupCodeMode(); err != nil {
		return nil, err
	}
	if err := addPrompt(a.registry.Global()); err != nil {
		return nil, err
	}
	a.store = session.NewStore(cfg.Sessions.Dir, a.logOptions())
	a.key = keySource(cfg, a.procs)
	a.key.Guard = &a.guard
	a.guardHeaders(cfg.Model.Headers)
	a.provider, a.model, a.providerErr = newProvider(cfg, a.key, logger)
	if a.providerErr == nil {
		a.provider = model.NewSwap(a.provider)
		a.catalogue = agent.NewCatalogue(logger, a.provider)
	}
	return a, nil
}

func (a *app) registerTools() (err error) {
	global := a.registry.Global()
	background, err := a.registerJobs(global)
	if err != nil {
		return err
	}
	a.shell, err = shell.Register(global, shell.Options{Supervisor: a.procs, Jobs: background, SessionDir: a.outputDir, DefaultTimeout: a.cfg.Limits.BashTimeout, Escalation: true, Confine: a.confine, Conceal: a.guard.Stream})
	if err != nil {
		return err
	}
	a.observed = &fs.Observations{}
	if err := fs.Register(global, fs.Options{Observations: a.observed, FileSystemOf: a.editors.fileSystemOf, Bounds: a.mayChange, Escalation: true}); err != nil {
		return err
	}
	return errors.Join(search.Register(global, search.Options{Supervisor: a.procs}), todo.Register(global), ask.Register(global), plan.Register(global), a.registerSkills(global), a.registerSubagents(global), a.registerWeb(global))
}

// OpenSession makes a session in a working directory, under the restrictions of
// its workspace.
func (a *app) OpenSession(_ context.Context, p acp.SessionParams) (*agent.Session, error) {
	if a.providerErr != nil {
		return nil, a.providerErr
	}
	log, err := a.store.Create(session.Header{Cwd: p.Cwd, AdditionalDirectories: p.AdditionalDirectories})
	if err != nil {
		return nil, err
	}
	return a.startSession(log, p)
}

// LoadSession opens a stored session again. One that was interrupted is repaired
// first, so that every call in it has a result.
func (a *app) LoadSession(_ context.Context, id string, p acp.SessionParams) (*agent.Session, error) {
	if a.providerErr != nil {
		return nil, a.providerErr
	}
	log, err := a.store.Open(id)
	if err != nil {
		return nil, err
	}
	if stored := log.Header().Cwd; agent.CanonicalDir(stored) != agent.CanonicalDir(p.Cwd) {
		return nil, errors.Join(&acp.CwdMismatchError{Stored: stored, Requested: p.Cwd}, log.Close())
	}
	if torn := log.Torn(); torn != nil {
		a.logger.Warn("the session's last event was cut short by a crash and is left out", "session", id, "reason", torn.Reason)
	}
	if drafts := session.Repair(log.Kept()); drafts != nil {
		if _, err := log.AppendAll(drafts); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	return a.startSession(log, p)
}

// startSession makes the session of an open log; the log is closed when that
// fails.
func (a *app) startSession(log *session.Log, p acp.SessionParams) (*agent.Session, error) {
	cfg, err := a.cfg.ForWorkspace(p.Cwd)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	for _, w := range cfg.Warnings[len(a.cfg.Warnings):] {
		a.logger.Warn(w.String())
	}
	scope := a.registry.Global().Child(log.Header().ID)
	servers := a.prepareMCP(cfg, log, scope, p)
	pol, err := installPolicy(cfg, a.pipeline, scope, describeRemote(servers), a.grantsOf(cfg, log), a.vain)
	if err == nil {
		a.confineSession(cfg, log.Header().ID, scope, pol, p.Cwd, p.AdditionalDirectories)
		err = a.installWorkspace(cfg, log, scope, p.AdditionalDirectories)
	}
	var present func(registry.Mode) error
	if err == nil {
		present, err = a.presentCodeMode(cfg, scope)
	}
	var listeners []agent.Listener
	var consent *workspaceConsent
	tell := a.teller(p.Notifier)
	if err == nil {
		consent = a.newConsent(cfg, log, p, servers, pol.NeverAsks)
		listeners, err = a.installHooks(consent, scope, hookMode(pol.Policy), tell)
	}
	if err == nil {
		err = a.beginDelegation(cfg, log.Header().ID, scope)
	}
	if err == nil {
		listeners = slices.Concat(consent.watch(), a.startMCP(consent, servers, p, tell), listeners)
		var s *agent.Session
		set := agent.Config{
			Log: log, Provider: a.provider, Model: a.model, Pipeline: a.pipeline, Scope: scope,
			AdditionalDirectories: p.AdditionalDirectories,
			Asker:                 p.Asker, Grants: pol, NeverAsk: pol.NeverAsks,
			Catalogue: a.catalogue, Permissions: switchable{pol.Policy}, PresentTools: present,
			PlanPrompt: plan.ModeText(), Elicitor: pausing{p.Elicitor},
			Price:      a.prices(),
			Backoff:    model.Backoff{MaxAttempts: cfg.Limits.MaxAttempts, MaxWait: cfg.Limits.MaxRetryWait},
			Compaction: agent.Compaction{Off: cfg.Compaction.Auto == "off", Threshold: cfg.Compaction.Threshold},
			Listeners:  listeners, MaxSteps: cfg.Limits.MaxSteps, Logger: a.logger,
			Conceal: a.guard.Stream,
		}
		a.keepJobs(log, &set)
		s, err = agent.NewSession(set)
		if err == nil {
			a.editors.open(log.Header().ID, p, a.logger)
			return s, nil
		}
	}
	a.delegates.End(log.Header().ID)
	a.mcp.close(log.Header().ID)
	a.consents.remove(log.Header().ID)
	a.boxes.sessions.Delete(log.Header().ID)
	scope.Close()
	return nil, errors.Join(err, log.Close())
}

// ListSessions gives every stored session.
func (a *app) ListSessions(ctx context.Context) ([]session.Summary, error) { return a.store.List(ctx) }

// DeleteSession removes a stored session that is not open.
func (a *app) DeleteSession(_ context.Context, id string) error { return a.store.Delete(id) }

// SessionClosed ends what the session's commands left running, and forgets what
// it had read.
func (a *app) SessionClosed(ctx context.Context, id string) {
	a.observed.Forget(id)
	a.boxes.sessions.Delete(id)
	a.codeMode.tighter.Delete(id)
	a.editors.close(id)
	a.web.Forget(id)
	a.delegates.End(id)
	a.mcp.close(id)
	a.consents.remove(id)
	if err := a.procs.CloseOwner(ctx, id); err != nil {
		a.logger.Warn("a closed session's processes did not end", "session", id, "err", err)
	}
	a.boxes.sweep()
}

// Commands are the slash commands of the session's model.
func (a *app) Commands(*agent.Session) []model.Command {
	if p, ok := a.provider.(model.CommandProvider); ok {
		return p.Commands()
	}
	return nil
}

// AuthHint says how to give the model its key; "" when it wants none. A server of
// the user's own may or may not want one: it says so itself.
func (a *app) AuthHint() string {
	if a.cfg.Model.APIKeyEnv == "" || a.cfg.Model.BaseURL != "" || a.gateway.Load() {
		return ""
	}
	return a.key.Hint()
}

// CheckAuth makes sure that there is a key where one is wanted.
func (a *app) CheckAuth(ctx context.Context) error {
	if a.AuthHint() == "" {
		return nil
	}
	_, err := a.key.Key(ctx)
	return err
}

// EndProcesses ends what calls have started; the program is about to leave.
func (a *app) EndProcesses(ctx context.Context) error {
	a.mcp.endAll()
	err := a.procs.Close(ctx)
	a.boxes.close()
	a.mcp.closeAll()
	return err
}

// close ends every process and removes what only this run needed.
func (a *app) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	a.codeMode.close()
	a.web.Close()
	a.mcp.closeAll()
	if a.catalogue != nil {
		a.catalogue.Close()
	}
	err := a.procs.Close(ctx)
	a.boxes.close()
	if a.jobs != nil {
		err = errors.Join(err, a.jobs.Close(ctx))
	}
	if err := errors.Join(err, a.shell.Close()); err != nil {
		a.logger.Warn("not everything could be cleaned up", "err", err)
	}
}
