package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/hooks"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/policy"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// installHooks puts a session's hooks into the pipeline and returns those that
// listen to its turns. Files that the configuration names run; a file that the
// workspace brings runs once somebody has allowed it, which may be later.
func (a *app) installHooks(w *workspaceConsent, scope *registry.Scope, mode func() string, tell teller) ([]agent.Listener, error) {
	cfg, log := w.cfg, w.log
	cwd := log.Header().Cwd
	var files []*hooks.File
	for _, n := range namedHooks(cfg) {
		f, err := hooks.Load(n.dialect, cwd, n.path)
		if err != nil {
			return nil, err
		}
		if f != nil {
			files = append(files, f)
		}
	}
	found, problems := consents(cfg).Find(cwd, cfg.Hooks.ClaudeCode, cfg.Hooks.Codex)
	for _, err := range problems {
		a.logger.Warn("a hook file of the workspace is not run", "err", err)
	}
	for _, f := range found {
		switch {
		case f.Allowed:
			files = append(files, f.File)
			w.uses(f.File.Path)
		case f.Refused:
			a.logger.Info("the workspace brings hooks that never run, as you said", "file", f.File.Path)
		default:
			tell(acp.SeverityInfo, fmt.Sprintf("The workspace brings hooks that are not run: nobody has allowed the %d of %s", f.File.Len(), f.File.Path), howToAllow("hooks", cwd))
		}
	}
	h, err := hooks.New(hooks.Options{
		Supervisor: a.procs, SessionID: log.Header().ID, Cwd: cwd, Transcript: log.Path(), Resumed: log.Len() > 0, Mode: mode, Logger: a.logger,
		Record: func(eventType string, data jsonvalue.Value) error {
			_, err := log.Append(session.Draft{Type: eventType, Data: data})
			return err
		},
	}, files...)
	if err != nil || h.Empty() && len(found) == 0 {
		return nil, err
	}
	if _, err := h.Install(a.pipeline, scope); err != nil { // ends with the scope
		return nil, err
	}
	w.hooks = h
	return []agent.Listener{turnHooks(h)}, nil
}

// turnHooks lets hooks listen to turns.
func turnHooks(h *hooks.Hooks) agent.Listener {
	return agent.Listener{
		PromptSubmit: func(ctx context.Context, turn int64, prompt []content.Block) (agent.PromptVerdict, error) {
			v, err := h.PromptSubmit(ctx, turn, prompt)
			return agent.PromptVerdict(v), err
		},
		AfterStep: h.AfterStep,
		Stop: func(ctx context.Context, last string) (agent.StopVerdict, error) {
			v, err := h.Stop(ctx, last)
			return agent.StopVerdict(v), err
		},
	}
}

type namedHook struct {
	dialect hooks.Dialect
	path    string
}

// namedHooks are the files that the configuration names.
func namedHooks(cfg *config.Config) []namedHook {
	var out []namedHook
	for _, n := range []namedHook{{hooks.Claude, cfg.Hooks.ClaudeCode}, {hooks.Codex, cfg.Hooks.Codex}} {
		if n.path != "" {
			out = append(out, n)
		}
	}
	return out
}

// consents are remembered among the sessions: that folder is ours alone, and no
// command may write to it.
func consents(cfg *config.Config) hooks.Consents {
	return hooks.Consents{Dir: filepath.Join(cfg.Sessions.Dir, ".hook-consents")}
}

// hookMode tells hooks the preset in their own words.
func hookMode(p *policy.Policy) func() string {
	return func() string {
		if p.Preset() == policy.FullAccess {
			return "bypassPermissions"
		}
		return "default"
	}
}

const hooksUsage = `usage: dsh-acp hooks [--allow | --revoke] [DIR]

Shows the hooks that a session in DIR (by default the current folder) runs, and
those that the folder brings by itself and nobody has allowed yet.

  --allow    allow the hook files that the folder brings, as they are now; a
             file that changes has to be allowed again
  --revoke   take that back
`

func runHooks(_ context.Context, e env, args []string) error {
	f := newFlags("hooks")
	allow := f.Bool("allow", false, "")
	revoke := f.Bool("revoke", false, "")
	cfg, cwd, err := f.inFolder(args, "allow", "revoke")
	if err != nil {
		return err
	}
	shown := false
	for _, n := range namedHooks(cfg) {
		file, err := hooks.Load(n.dialect, cwd, n.path)
		if err != nil {
			return err
		}
		if file != nil {
			shown = true
			printHooks(e.stdout, file, "named by the configuration")
		}
	}
	c := consents(cfg)
	found, problems := c.Find(cwd, cfg.Hooks.ClaudeCode, cfg.Hooks.Codex)
	switch {
	case *allow:
		err = c.Allow(found...)
	case *revoke:
		err = c.Revoke(found...)
	}
	if err != nil {
		return err
	}
	for _, f := range found {
		state := "not allowed, not run"
		switch {
		case *revoke:
		case f.Allowed || *allow:
			state = "allowed"
		case f.Refused:
			state = "refused for good, not run"
		}
		printHooks(e.stdout, f.File, state)
	}
	if !shown && len(found)+len(problems) == 0 {
		fmt.Fprintf(e.stdout, "no hooks for %q\n", cwd)
	}
	return errors.Join(problems...)
}

// printHooks shows what a hook file would run. The text is of a stranger: it is
// quoted, so that it cannot write over what stands above it.
func printHooks(w io.Writer, f *hooks.File, state string) {
	fmt.Fprintf(w, "%q (%s)\n", f.Path, state)
	for _, c := range f.Commands() {
		fmt.Fprintf(w, "  %q\n", c)
	}
	for _, p := range f.Problems {
		fmt.Fprintf(w, "  no effect: %q\n", p)
	}
}
