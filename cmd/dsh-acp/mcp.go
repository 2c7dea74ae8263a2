package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/mcp"
	"github.com/dsh-acp/dsh-acp/internal/policy"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// mcpSessions are the MCP servers of the open sessions.
type mcpSessions struct {
	mu     sync.Mutex
	byID   map[string]*mcp.Session
	logins *mcp.Logins
}

func (m *mcpSessions) add(id string, s *mcp.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID = map[string]*mcp.Session{}
	}
	m.byID[id] = s
}

func (m *mcpSessions) get(id string) *mcp.Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byID[id]
}

// close ends the servers of one session and waits for that.
func (m *mcpSessions) close(id string) {
	m.mu.Lock()
	s := m.byID[id]
	delete(m.byID, id)
	m.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// endAll tells every session's servers to end and does not wait.
func (m *mcpSessions) endAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.byID {
		s.End()
	}
}

// closeAll ends the servers of every session at once and waits for that.
func (m *mcpSessions) closeAll() {
	m.mu.Lock()
	all := m.byID
	m.byID = nil
	m.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(s.Close)
	}
	wg.Wait()
}

// prepareMCP makes the MCP servers of a session, none of which is started yet.
func (a *app) prepareMCP(cfg *config.Config, log *session.Log, scope *registry.Scope, p acp.SessionParams) *mcp.Session {
	h := log.Header()
	var notify func(bad bool, title, detail string)
	if p.Notifier != nil {
		notify = func(bad bool, title, detail string) {
			severity := acp.SeverityInfo
			if bad {
				severity = acp.SeverityWarning
			}
			p.Notifier.Notice(severity, title, detail)
		}
	}
	s := mcp.New(mcp.Options{
		Supervisor: a.procs, Scope: scope, SessionID: h.ID, Cwd: h.Cwd, Version: versionString(), Logger: a.logger,
		Wait: cfg.Limits.MCPWait, Roots: append([]string{h.Cwd}, p.AdditionalDirectories...), Notify: notify, Token: a.logins().Token,
		Record: func(eventType string, data jsonvalue.Value) error {
			_, err := log.Append(session.Draft{Type: eventType, Data: data})
			return err
		},
	})
	a.mcp.add(h.ID, s)
	return s
}

// startMCP starts a session's servers, those of the user first, so that their
// names are theirs. The listener lets the first prompt wait for them.
func (a *app) startMCP(w *workspaceConsent, s *mcp.Session, p acp.SessionParams, tell teller) []agent.Listener {
	brought, err := projectServers(w.cfg, p.Cwd)
	if err != nil {
		tell(acp.SeverityWarning, "The MCP servers of the workspace are not started", err.Error())
	}
	if brought.waiting {
		tell(acp.SeverityInfo, "The workspace brings MCP servers that are not started: nobody has allowed them", "Read "+mcp.ProjectFile+"; "+howToAllow("mcp", p.Cwd))
	}
	for _, problem := range brought.problems {
		a.logger.Warn("a part of the workspace's MCP file has no effect", "file", brought.path, "problem", problem)
	}
	if brought.servers != nil {
		w.uses(brought.path)
	}
	s.Start(slices.Concat(userServers(w.cfg), clientServers(p.MCPServers), brought.servers)...)
	if s.Empty() && brought.remedy == "" {
		return nil
	}
	return []agent.Listener{{
		PromptSubmit: func(ctx context.Context, _ int64, _ []content.Block) (agent.PromptVerdict, error) {
			s.AwaitReady(ctx)
			return agent.PromptVerdict{}, nil
		},
	}}
}

// commandMCP starts the configured servers for a subcommand, which closes them.
func (a *app) commandMCP(cfg *config.Config, id, cwd string, scope *registry.Scope) *mcp.Session {
	s := mcp.New(mcp.Options{
		Supervisor: a.procs, Scope: scope, SessionID: id, Cwd: cwd, Version: versionString(), Logger: a.logger, Wait: cfg.Limits.MCPWait, Token: a.logins().Token,
	})
	brought, err := projectServers(cfg, cwd)
	switch {
	case err != nil:
		a.logger.Warn("the MCP servers of the folder are not started", "err", err)
	case brought.remedy != "":
		a.logger.Warn("the MCP servers of the folder are not started", "remedy", brought.remedy)
	}
	s.Start(append(userServers(cfg), brought.servers...)...)
	return s
}

// userServers are the servers of the configuration.
func userServers(cfg *config.Config) []mcp.Config {
	var out []mcp.Config
	for _, s := range cfg.MCPServers {
		if s.Disabled {
			continue
		}
		out = append(out, expanded(mcp.Config{
			Name: s.Name, Origin: mcp.FromUser, Where: s.Origin, Transport: mcp.Transport(s.Type),
			Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Cwd, URL: s.URL, Headers: s.Headers,
			StartTimeout: s.StartTimeout, CallTimeout: s.CallTimeout,
		}))
	}
	return out
}

// expanded resolves the references to environment variables; one that is not set
// becomes the server's problem.
func expanded(c mcp.Config) mcp.Config {
	resolve := func(text string) string {
		out, err := config.ExpandEnv(text, os.LookupEnv)
		if err != nil && c.Problem == nil {
			c.Problem = err
		}
		return out
	}
	resolveMap := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = resolve(v)
		}
		return out
	}
	c.Command, c.URL = resolve(c.Command), resolve(c.URL)
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = resolve(a)
	}
	c.Args, c.Env, c.Headers = args, resolveMap(c.Env), resolveMap(c.Headers)
	return c
}

// clientServers are the servers that the editor wants.
func clientServers(list []protocol.MCPServer) []mcp.Config {
	var out []mcp.Config
	for _, s := range list {
		out = append(out, mcp.Config{
			Name: s.Name, Origin: mcp.FromClient, Transport: mcp.Transport(s.Transport),
			Command: s.Command, Args: s.Args, Env: pairs(s.Env), URL: s.URL, Headers: pairs(s.Headers),
		})
	}
	return out
}

func pairs(list []protocol.NameValue) map[string]string {
	out := map[string]string{}
	for _, p := range list {
		out[p.Name] = p.Value
	}
	return out
}

// describeRemote tells the policy about the tools of MCP servers. That a tool
// only reads counts when the user configured its server; that it destroys
// something counts whoever says it.
func describeRemote(s *mcp.Session) func(string) (policy.Tool, bool) {
	return func(name string) (policy.Tool, bool) {
		t, ok := s.Tool(name)
		if !ok {
			return policy.Tool{}, false
		}
		return policy.Tool{
			Class: policy.Other, Remote: t.Label(), Identity: t.Identity, ReadOnly: t.ReadOnly && t.Vouched, Destructive: t.Destructive,
		}, true
	}
}

// MCPStatus tells what is known of a session's MCP servers.
func (a *app) MCPStatus(sessionID string) []mcp.Status {
	if s := a.mcp.get(sessionID); s != nil {
		return s.Status()
	}
	return nil
}

// mcpLogins are kept among the sessions: that folder is ours alone.
func mcpLogins(cfg *config.Config) *mcp.Logins {
	return &mcp.Logins{Dir: filepath.Join(cfg.Sessions.Dir, ".mcp-logins")}
}

// logins are those that all sessions share, so that a token is renewed once.
func (a *app) logins() *mcp.Logins {
	a.mcp.mu.Lock()
	defer a.mcp.mu.Unlock()
	if a.mcp.logins == nil {
		a.mcp.logins = mcpLogins(a.cfg)
	}
	return a.mcp.logins
}
