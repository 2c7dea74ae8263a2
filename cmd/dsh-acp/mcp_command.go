package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/consent"
	"github.com/dsh-acp/dsh-acp/internal/mcp"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// mcpConsents are remembered among the sessions: that folder is ours alone.
func mcpConsents(cfg *config.Config) consent.Store {
	return consent.Store{Dir: filepath.Join(cfg.Sessions.Dir, ".mcp-consents")}
}

// fromProject is what a workspace brings.
type fromProject struct {
	path    string
	servers []mcp.Config // that may be started
	// waiting says that there are servers that nobody has allowed or refused, and
	// remedy what to do to have servers started that are not.
	waiting  bool
	remedy   string
	problems []string // what of the file has no effect
}

// projectServers are the servers that the workspace brings, once somebody has
// allowed them.
func projectServers(cfg *config.Config, cwd string) (fromProject, error) {
	p, err := mcp.FindProject(cwd, mcpConsents(cfg))
	if p == nil || err != nil {
		return fromProject{}, err
	}
	out := fromProject{path: p.Path, problems: p.Problems}
	switch {
	case len(p.Servers) == 0:
	case p.Refused:
		out.remedy = "they were refused for good; to allow them all the same: dsh-acp mcp --allow " + shellQuote(cwd)
	case !p.Allowed:
		out.waiting, out.remedy = true, "look at it and allow it with: dsh-acp mcp --allow "+shellQuote(cwd)
	default:
		for _, c := range p.Servers {
			out.servers = append(out.servers, expanded(c))
		}
	}
	return out, nil
}

func shellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

const mcpUsage = `usage: dsh-acp mcp [--allow | --revoke] [DIR]
       dsh-acp mcp --login NAME | --logout NAME [DIR]

Shows the MCP servers that a session in DIR (by default the current folder) has,
and those that the folder brings by itself (.mcp.json) and nobody has allowed yet.
It starts none of them; dsh-acp check does.

  --allow    allow the servers that the folder brings, as its file is now; a file
             that changes has to be allowed again
  --revoke   take that back

  --login NAME    log in at an http server (OAuth): it prints an address to open in
                  a browser, here or elsewhere, and keeps the token for this user
                  alone
  --logout NAME   forget that token
  --port N        where the browser is sent back to on this machine; any by default
  --client-id ID  a client that was registered by hand, for servers that register
                  none by themselves; --client-secret-env VAR names the environment
                  variable with its secret
`

func runMCP(ctx context.Context, e env, args []string) error {
	f := newFlags("mcp")
	allow := f.Bool("allow", false, "")
	revoke := f.Bool("revoke", false, "")
	login := f.String("login", "", "")
	logout := f.String("logout", "", "")
	port := f.Int("port", 0, "")
	clientID := f.String("client-id", "", "")
	secretEnv := f.String("client-secret-env", "", "")
	cfg, cwd, err := f.inFolder(args, "allow", "revoke", "login", "logout")
	if err != nil {
		return err
	}
	if name := cmp.Or(*login, *logout); name != "" {
		c, err := namedServer(cfg, cwd, name)
		if err != nil {
			return err
		}
		if *logout != "" {
			was, err := mcpLogins(cfg).Forget(c.URL)
			if err == nil && !was {
				err = fmt.Errorf("there is no login at %s", c.URL)
			}
			return err
		}
		return loginAt(ctx, e, cfg, c, mcp.LoginOptions{Port: *port, ClientID: *clientID, ClientSecret: os.Getenv(*secretEnv), Version: versionString()})
	}
	for _, s := range cfg.MCPServers {
		state := "named by the configuration"
		if s.Disabled {
			state = "disabled by the configuration"
		}
		printServer(e.stdout, mcp.Config{
			Name: s.Name, Transport: mcp.Transport(s.Type), Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers,
		}, state)
	}
	p, err := mcp.FindProject(cwd, mcpConsents(cfg))
	if err != nil || p == nil {
		if err == nil && !*allow && !*revoke && len(cfg.MCPServers) == 0 {
			fmt.Fprintf(e.stdout, "no MCP servers for %q\n", cwd)
		}
		if err == nil && (*allow || *revoke) {
			err = fmt.Errorf("%s brings no MCP servers: there is no %s with any", cwd, mcp.ProjectFile)
		}
		return err
	}
	switch {
	case *allow:
		err = mcpConsents(cfg).Allow(p.Key)
	case *revoke:
		err = mcpConsents(cfg).Revoke(p.Key)
	}
	if err != nil {
		return err
	}
	state := "not allowed, not started"
	switch {
	case *revoke:
	case p.Allowed || *allow:
		state = "allowed"
	case p.Refused:
		state = "refused for good, not started"
	}
	fmt.Fprintf(e.stdout, "%q (%s)\n", p.Path, state)
	for _, c := range p.Servers {
		printServer(e.stdout, c, "")
	}
	for _, problem := range p.Problems {
		fmt.Fprintf(e.stdout, "  no effect: %q\n", problem)
	}
	return nil
}

// namedServer finds a server by its name: of the configuration, else of the
// workspace.
func namedServer(cfg *config.Config, cwd, name string) (mcp.Config, error) {
	brought, err := projectServers(cfg, cwd)
	if err != nil {
		return mcp.Config{}, err
	}
	for _, c := range append(userServers(cfg), brought.servers...) {
		if c.Name == name {
			return c, c.Problem
		}
	}
	return mcp.Config{}, fmt.Errorf("no MCP server %q is configured; dsh-acp mcp lists those there are", name)
}

// loginAt lets the person at the terminal log in.
func loginAt(ctx context.Context, e env, cfg *config.Config, c mcp.Config, o mcp.LoginOptions) error {
	o.Show = func(address string) {
		fmt.Fprintf(e.stdout, "Open this address in a browser and log in:\n\n  %s\n\nWaiting. If that browser runs on another machine, it ends at a page that it cannot\nload: paste the address of that page here.\n", address)
	}
	o.Paste = e.stdin
	if err := mcpLogins(cfg).Login(ctx, c, o); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "Logged in at %s.\n", c.URL)
	return nil
}

// printServer shows what would be started or connected to. The text may be of a
// stranger: it is quoted, so that it cannot write over what stands above it. The
// values of variables and headers are shown as they are written: it is what a
// person consents to.
func printServer(w io.Writer, c mcp.Config, state string) {
	indent := "  "
	if state != "" {
		indent, state = "", " ("+state+")"
	}
	words := append([]string{c.Command}, c.Args...)
	if c.URL != "" {
		words = []string{c.URL}
	}
	fmt.Fprintf(w, "%s%q%s %q\n", indent, c.Name, state, words)
	for _, table := range []map[string]string{c.Env, c.Headers} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			value := table[name]
			if state != "" && !strings.Contains(value, "${") {
				value = "…" // the user's own; need not be on the screen
			}
			fmt.Fprintf(w, "%s  %q = %q\n", indent, name, value)
		}
	}
}

// checkMCP starts every server that a session in the current folder would have,
// and says what it offers or what is wrong.
func (a *app) checkMCP(ctx context.Context, r *report) {
	cwd, err := os.Getwd()
	if err != nil {
		r.bad("mcp", "the current folder is not known: %v", err)
		return
	}
	list := userServers(a.cfg)
	brought, err := projectServers(a.cfg, cwd)
	if err != nil {
		r.bad("mcp", "%v: correct the file or remove it", err)
	}
	if brought.remedy != "" {
		r.note("mcp", "the folder brings MCP servers that are not allowed: %s", brought.remedy)
	}
	for _, p := range brought.problems {
		r.note("mcp", "%s: %q", mcp.ProjectFile, p)
	}
	for _, s := range a.cfg.MCPServers {
		if s.Disabled {
			r.note("mcp", "%s is disabled (%s)", s.Name, s.Origin)
		}
	}
	list = append(list, brought.servers...)
	if len(list) == 0 {
		if err == nil && brought.remedy == "" {
			r.ok("mcp", "no servers are configured")
		}
		return
	}
	scope := a.registry.Global().Child("check")
	defer scope.Close()
	s := mcp.New(mcp.Options{Supervisor: a.procs, Scope: scope, SessionID: "check", Cwd: cwd, Version: versionString(), Token: a.logins().Token})
	s.Start(list...)
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // each has a limit of its own
	defer cancel()
	s.Settle(ctx)
	for _, st := range s.Status() {
		if st.State != mcp.Ready {
			r.bad("mcp", "%s: %s", st.Name, st.Error)
			continue
		}
		r.ok("mcp", "%s: %s answers and has %d tools", st.Name, st.Server, len(st.Tools))
		for _, t := range st.Refused {
			r.note("mcp", "%s: the tool %q is left out: %s", st.Name, t.Tool, t.Reason)
		}
	}
}

// toolsScope is a scope with the tools of the servers that a session in the
// current folder would have.
func (a *app) toolsScope(ctx context.Context, e env) (scope *registry.Scope, closeServers func(), err error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	scope = a.registry.Global().Child("tools")
	s := a.commandMCP(a.cfg, "tools", cwd, scope)
	s.Settle(ctx)
	for _, st := range s.Status() {
		if st.State != mcp.Ready {
			fmt.Fprintln(e.stderr, "dsh-acp: MCP server "+st.Line())
		}
	}
	return scope, func() { s.Close(); scope.Close() }, nil
}

// ToolSources tells about a session's MCP servers, for /tools.
func (a *app) ToolSources(s *agent.Session) string {
	var b strings.Builder
	item := func(format string, args ...any) {
		if b.Len() == 0 {
			b.WriteString("MCP servers:\n")
		}
		fmt.Fprintf(&b, "\n- "+format, args...)
	}
	for _, st := range a.MCPStatus(s.SessionID()) {
		item("%s", st.Line())
		for i, t := range st.Refused {
			if i == 5 {
				fmt.Fprintf(&b, "\n  - and %d more", len(st.Refused)-i)
				break
			}
			fmt.Fprintf(&b, "\n  - left out: `%s`: %s", strings.ReplaceAll(t.Tool, "`", "'"), t.Reason)
		}
	}
	// Not every editor shows the notice with which the session began.
	switch brought, err := projectServers(a.cfg, s.Cwd()); {
	case err != nil:
		item("those of `%s` are not started: %v", mcp.ProjectFile, err)
	case brought.waiting:
		item("those of `%s` are not started, because nobody has allowed them: say `/permissions workspace`, or %s", mcp.ProjectFile, brought.remedy)
	case brought.remedy != "":
		item("those of `%s` are not started: %s", mcp.ProjectFile, brought.remedy)
	}
	return b.String()
}
