package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/credentials"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

const checkUsage = `usage: dsh-acp check [flags]

Says what is configured for the current folder and whether it works: the
configuration files, the model and its key, where sessions are kept, the shell, how
commands and programs are confined, hooks, skills, MCP servers and web search. What does not work comes with a remedy, and makes the exit code 1.
`

// checkTimeout bounds the question to the model's server.
const checkTimeout = 15 * time.Second

// report collects the lines of a check.
type report struct {
	out    io.Writer
	failed bool
}

func (r *report) ok(what, format string, args ...any) {
	fmt.Fprintf(r.out, "ok    %-14s %s\n", what, fmt.Sprintf(format, args...))
}

func (r *report) note(what, format string, args ...any) {
	fmt.Fprintf(r.out, "note  %-14s %s\n", what, fmt.Sprintf(format, args...))
}

func (r *report) bad(what, format string, args ...any) {
	r.failed = true
	fmt.Fprintf(r.out, "FAIL  %-14s %s\n", what, fmt.Sprintf(format, args...))
}

// errCheckFailed makes the exit code say what the report said.
var errCheckFailed = errors.New("something does not work; see the lines that begin with FAIL")

func runCheck(ctx context.Context, e env, args []string) error {
	f := newFlags("check")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	cfg, err := config.Load(f.options)
	if err != nil {
		return err
	}
	// What a session in this folder would have, its own restrictions included.
	if cfg, err = cfg.ForWorkspace(cwd); err != nil {
		return err
	}
	app, err := newApp(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer app.close()
	r := &report{out: e.stdout}
	r.ok("program", "dsh-acp %s", versionString())
	checkConfig(r, cfg)
	checkGrants(r, cfg)
	app.checkModel(ctx, r)
	checkSessions(r, cfg)
	if path, err := exec.LookPath("bash"); err != nil {
		r.bad("shell", "bash is not on PATH: the bash tool cannot run anything; install bash")
	} else {
		r.ok("shell", "%s", path)
	}
	app.checkSandbox(r)
	app.checkCodeMode(r)
	checkHooks(r, cfg, cwd)
	checkSkills(r, app.skills, cwd)
	app.checkMCP(ctx, r)
	app.checkWeb(ctx, r)
	if r.failed {
		return errCheckFailed
	}
	return nil
}

func checkConfig(r *report, cfg *config.Config) {
	if len(cfg.Files) == 0 {
		r.ok("configuration", "none: built-in defaults")
	}
	for _, file := range cfg.Files {
		r.ok("configuration", "%s", file)
	}
	for _, w := range cfg.Warnings {
		r.note("configuration", "%s", w)
	}
	r.ok("permissions", "preset %s, %d rules", cfg.Permissions.Preset, len(cfg.Permissions.Rules))
}

// checkModel asks the model, which shows what works and what does not.
func (a *app) checkModel(ctx context.Context, r *report) {
	m := a.cfg.Model
	if a.providerErr != nil {
		r.bad("model", "%v", a.providerErr)
		return
	}
	if m.APIKeyEnv != "" {
		switch _, err := a.key.Key(ctx); {
		case errors.Is(err, credentials.ErrNone) && m.BaseURL != "":
			r.note("key", "%v (a server of your own may need none)", err)
		case err != nil:
			r.bad("key", "%v", err)
			return
		default:
			r.ok("key", "there is one for %s", m.Provider)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if m.Provider == "replay" || m.Provider == "local" {
		r.ok("model", "%s", m.Provider)
		return
	}
	// The smallest real request shows whether the server is there, the key is
	// good, the account has credit and the model exists; its error says which not.
	if err := a.probeModel(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("nothing was answered within %s: the server is very slow, or something between here and there swallows requests; check model.base_url and the proxy", checkTimeout)
		}
		r.bad("model", "%s: %v", m.Provider, err)
		return
	}
	info := model.Info{ID: a.model}
	if d, ok := a.provider.(model.Describer); ok {
		info = d.Describe(a.model)
	}
	if models, err := a.provider.Models(ctx); err == nil {
		for _, known := range models {
			if known.ID == a.model {
				info = known
			}
		}
	}
	r.ok("model", "%s answers", describeModel(m.Provider, info))
}

// probeModel asks for one token, with a tool beside, as a model that can call none
// is of no use.
func (a *app) probeModel(ctx context.Context) error {
	req := model.Request{
		SessionID: "check", Model: a.model, MaxTokens: 1,
		Messages: []model.Message{{Role: model.RoleUser, Content: []model.Part{model.Text("Say yes.")}}},
		Tools:    []model.ToolSchema{{Name: "say", Description: "Says a word.", Parameters: jsonvalue.Object(jsonvalue.Member{Key: "type", Value: jsonvalue.String("object")})}},
	}
	for _, err := range a.provider.Stream(ctx, req) {
		return err // the first chunk is enough
	}
	return errors.New("the server ended its answer before it began")
}

func describeModel(provider string, info model.Info) string {
	if info.ContextWindow > 0 {
		return fmt.Sprintf("%s/%s, %d tokens of context", provider, info.ID, info.ContextWindow)
	}
	return provider + "/" + info.ID
}

// checkSessions makes sure that a session could be stored.
func checkSessions(r *report, cfg *config.Config) {
	dir := cfg.Sessions.Dir
	existing := dir
	for existing != filepath.Dir(existing) {
		if _, err := os.Stat(existing); err == nil {
			break
		}
		existing = filepath.Dir(existing)
	}
	probe, err := os.CreateTemp(existing, ".dsh-acp-check-*")
	if err != nil {
		r.bad("sessions", "%s cannot be written (%v): make it writable, or set sessions.dir", dir, err)
		return
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	r.ok("sessions", "%s", dir)
}
