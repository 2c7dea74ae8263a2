package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/policy"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/sandbox"
)

// boxes are how commands are confined: the machine's way of doing it, found out
// when it is first wanted, and what each session is confined to.
type boxes struct {
	once     sync.Once
	box      *sandbox.Box
	used     atomic.Bool // box is there
	sessions sync.Map    // id → *sessionBox
}

// sessionBox is one session's confinement.
type sessionBox struct {
	scope  *registry.Scope
	policy *policy.Policy
	limits sandbox.Policy // without a mode
}

// box is the machine's way of confining.
func (a *app) box() *sandbox.Box {
	a.boxes.once.Do(func() {
		a.boxes.box = sandbox.New(sandbox.Mechanism(a.cfg.Sandbox.Mechanism))
		a.boxes.used.Store(true)
		if s := a.boxes.box.Status(); s.Mechanism == sandbox.None && a.cfg.Sandbox.Mechanism != string(sandbox.None) {
			a.logger.Warn("commands are not confined, so they ask", "why", strings.Join(s.Details, "; "), "remedy", s.Remedy)
		}
	})
	return a.boxes.box
}

// sweep takes away what the processes of commands have left where they may not
// write. Call it when they have ended.
func (b *boxes) sweep() {
	if b.used.Load() {
		b.box.Sweep()
	}
}

// close is sweep for the last time: no more commands are started.
func (b *boxes) close() {
	if b.used.Load() {
		b.box.Sweep()
		b.box.Close()
	}
}

// confineSession says what the commands of a session, and of its subagents, are
// confined to.
func (a *app) confineSession(cfg *config.Config, id string, scope *registry.Scope, pol sessionPolicy, cwd string, more []string) {
	limits := a.limits(cfg, cwd)
	limits.Roots = append([]string{cwd}, append(more, cfg.Sandbox.Writable...)...)
	a.boxes.sessions.Store(id, &sessionBox{scope: scope, policy: pol.Policy, limits: limits})
	pol.ConfinedBy(func() bool {
		l := limits
		l.Mode = sandbox.WorkspaceWrite
		return a.box().Confines(l)
	})
}

// limits are what the confinement of every session has in common. cwd is where
// the paths of hook files begin.
func (a *app) limits(cfg *config.Config, cwd string) sandbox.Policy {
	home, _ := os.UserHomeDir()
	p := sandbox.Policy{
		Temp: []string{os.TempDir(), "/dev/shm"}, Home: home,
		Network: cfg.Sandbox.Network == "on", UnixSockets: cfg.Sandbox.UnixSockets == "on",
		Protected: append([]string{cfg.Sessions.Dir, filepath.Dir(cfg.CredentialsFile()), cfg.Log.File}, cfg.Files...),
	}
	if dir, err := os.UserConfigDir(); err == nil {
		p.Protected = append(p.Protected, filepath.Join(dir, "dsh-acp"))
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		p.Protected = append(p.Protected, filepath.Join(dir, "dsh-acp"))
	}
	for _, hooks := range []string{cfg.Hooks.ClaudeCode, cfg.Hooks.Codex} {
		if hooks != "" && !filepath.IsAbs(hooks) {
			hooks = filepath.Join(cwd, hooks)
		}
		p.Protected = append(p.Protected, hooks)
		if hooks != "" {
			p.Unmade = append(p.Unmade, hooks)
		}
	}
	if exe, err := os.Executable(); err == nil {
		p.Protected = append(p.Protected, exe)
	}
	return p
}

// sessionOf finds the session whose call it is, be it a subagent's.
func (a *app) sessionOf(exec *registry.Execution) *sessionBox {
	who := exec.Agent()
	if who == nil {
		return nil
	}
	var found *sessionBox
	a.boxes.sessions.Range(func(_, v any) bool {
		if s := v.(*sessionBox); who.Scope().Sees(s.scope) {
			found = s
		}
		return found == nil
	})
	return found
}

// bounds are what one call may write, as things stand.
func (a *app) bounds(exec *registry.Execution) (sandbox.Policy, bool) {
	s := a.sessionOf(exec)
	if s == nil {
		return sandbox.Policy{}, false
	}
	p := s.limits
	p.Mode = sandbox.Mode(s.policy.Mode(exec))
	if r, ok := exec.Agent().(interface{ Roots() []string }); ok {
		p.Roots = append(r.Roots()[:len(r.Roots()):len(r.Roots())], p.Roots...)
	}
	return p, true
}

// confine gives a command of a call its box: that of the mode which holds for the
// call, an approved escalation included. A call that belongs to no session has
// nobody to say what it may do.
func (a *app) confine(exec *registry.Execution) (*sandbox.Run, error) {
	p, ok := a.bounds(exec)
	if !ok {
		p = a.limits(a.cfg, "")
		p.Mode = sandbox.ReadOnly
	}
	run, err := a.box().Command(p)
	if err != nil {
		return nil, err
	}
	if run.Wrap != nil && p.Mode == sandbox.WorkspaceWrite {
		run.Env = cacheEnv(run.Layout)
	}
	return run, nil
}

// mayChange says whether a file tool's call may change the file at a path without
// symbolic links: what a command could write there, and the one file that the
// policy was asked about. Where a link led at that time does not count any more.
func (a *app) mayChange(exec *registry.Execution, real string) (mode string, ok bool) {
	s := a.sessionOf(exec)
	p, known := a.bounds(exec)
	switch {
	case !known: // of nobody there is no policy; who has no session any more may change nothing
		return string(sandbox.ReadOnly), exec.Agent() == nil
	case p.Mode == sandbox.FullAccess:
		return string(p.Mode), true
	case p.Mode == sandbox.WorkspaceWrite && sandbox.NewLayout(p).Writable(real):
		return string(p.Mode), true
	}
	return string(p.Mode), s.policy.Judged(exec, real)
}

// caches are variables that move a cache without which a program does not work,
// with the name of its folder.
var caches = []struct{ name, folder string }{
	{"GOCACHE", "go-build"}, {"npm_config_cache", "npm"}, {"UV_CACHE_DIR", "uv"}, {"CCACHE_DIR", "ccache"},
}

// cacheEnv sends caches to a folder that confined commands may write, of this user
// alone. What is written there is used by confined commands only: in the user's
// own cache it would end up in programs that nothing confines.
func cacheEnv(l *sandbox.Layout) []string {
	dir := filepath.Join(os.TempDir(), "dsh-acp-cache-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownFile(info) {
			return nil
		}
	}
	var out []string
	for _, c := range caches {
		if own := os.Getenv(c.name); own == "" || filepath.IsAbs(own) && !l.Writable(own) {
			out = append(out, c.name+"="+filepath.Join(dir, c.folder))
		}
	}
	return out
}

// checkSandbox says how commands are confined.
func (a *app) checkSandbox(r *report) {
	s := a.box().Status()
	if s.Mechanism == sandbox.None {
		text := "run unconfined: " + strings.Join(s.Details, "; ") + "; so each one asks"
		if s.Remedy != "" {
			text += "; " + s.Remedy
		}
		r.note("commands", "%s", text)
		return
	}
	for i, d := range s.Details {
		what := "commands"
		if i > 0 {
			what = ""
		}
		r.ok(what, "%s", d)
	}
	if s.Remedy != "" {
		r.note("", "%s", s.Remedy)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return
	}
	p := a.limits(a.cfg, cwd)
	p.Mode, p.Roots = sandbox.WorkspaceWrite, append([]string{cwd}, a.cfg.Sandbox.Writable...)
	l := sandbox.NewLayout(p)
	r.ok("  read-only", "nothing writable, no network")
	network := "no network (sandbox.network)"
	if p.Network {
		network = "network"
	}
	sockets := "no sockets of other programs (sandbox.unix_sockets)"
	if p.UnixSockets {
		sockets = "sockets of other programs"
	}
	r.ok("  workspace", "%s, %s; writable from here: %s", network, sockets, orNone(l.Roots()))
	kept := l.Kept()
	if len(kept) > maxKeptShown {
		kept = append(kept[:maxKeptShown:maxKeptShown], fmt.Sprintf("and %d more", len(l.Kept())-maxKeptShown))
	}
	if s.Protects {
		r.ok("  kept in there", "%s", orNone(kept))
	} else if len(kept) > 0 {
		r.note("  not kept", "%s: commands ask", orNone(kept))
	}
}

const maxKeptShown = 8

func orNone(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

var _ interface{ Roots() []string } = (*agent.Session)(nil)
