// Package mcp lets sessions use MCP servers: it starts them or connects to them,
// offers their tools to the session's scope, and carries calls over.
//
// Every server of a session lives on a goroutine of its own: one that is slow,
// silent or broken holds up nobody else. What servers say is not trusted: names,
// schemas and sizes are checked, and one bad tool is left out without its
// neighbours.
package mcp

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// DefaultWait is how long the first prompt waits for servers that are starting.
const DefaultWait = 10 * time.Second

// Options of the servers of one session. Supervisor and Scope are required.
type Options struct {
	Supervisor *proc.Supervisor
	Scope      *registry.Scope // the tools join it
	SessionID  string          // owns the processes
	Cwd        string          // absolute; where servers run unless they say otherwise
	Roots      []string        // absolute; what servers are told of; Cwd when empty
	Version    string          // of this program
	Logger     *slog.Logger
	// Notify tells the person something about servers; bad says that something
	// does not work, and detail may be empty. It must not block, and keeps its own
	// log; nil writes to Logger.
	Notify func(bad bool, title, detail string)
	// Record appends an event to the session's log; nil records nothing.
	Record func(eventType string, data jsonvalue.Value) error
	// Token gives the token of a login for a server, "" when there is none; nil
	// means that there are no logins.
	Token func(ctx context.Context, c Config) (string, error)
	// Wait bounds [Session.AwaitReady]; 0 means DefaultWait.
	Wait time.Duration
}

// Session is the servers of one session.
type Session struct {
	opt     Options
	life    context.Context // of the servers
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	wanted  []Config // all that Start was given
	servers []*server
	ended   bool
	tools   map[string]*remoteTool // what is offered, by the name for the model
	asked   bool                   // AwaitReady was called
}

// New prepares a session's servers; Start starts them.
func New(o Options) *Session {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if len(o.Roots) == 0 && o.Cwd != "" {
		o.Roots = []string{o.Cwd}
	}
	if o.Wait <= 0 {
		o.Wait = DefaultWait
	}
	s := &Session{opt: o, tools: map[string]*remoteTool{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Start begins to start the servers and returns at once. Servers of equal names
// are told apart by a number, in their order. It may be called again: servers
// that came before keep their names, and the next prompt waits for the new. Once the session has ended it does nothing.
func (s *Session) Start(list ...Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.wanted = append(s.wanted, list...)
	for _, c := range distinct(s.wanted)[len(s.servers):] {
		srv := newServer(s, c)
		s.servers = append(slices.Clip(s.servers), srv) // what walks the old list keeps it
		s.running.Go(func() { srv.run(s.life) })
		s.asked = false // the next prompt waits for it
	}
}

// Empty says that there are no servers.
func (s *Session) Empty() bool { return len(s.all()) == 0 }

// all are the servers there are.
func (s *Session) all() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers
}

// End tells the servers to end and does not wait for it.
func (s *Session) End() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.end()
}

// Close ends the servers and waits until their processes are gone, which takes
// at most a few seconds. It may be called more than once.
func (s *Session) Close() {
	s.End()
	s.running.Wait()
}

// Status tells what is known of each server, in their order.
func (s *Session) Status() []Status {
	servers := s.all()
	out := make([]Status, len(servers))
	for i, srv := range servers {
		out[i] = srv.status()
	}
	return out
}

// AwaitReady waits until every server is ready or has failed, at most the
// configured time, and tells which are not there. Only the first call after a
// Start waits: a later prompt takes what there is.
func (s *Session) AwaitReady(ctx context.Context) (missing []string) {
	s.mu.Lock()
	first := !s.asked
	s.asked = true
	s.mu.Unlock()
	if !first {
		return nil
	}
	return s.await(ctx, s.opt.Wait, true)
}

// Settle waits until every server is ready or has failed, without a bound but
// ctx and the servers' own.
func (s *Session) Settle(ctx context.Context) { s.await(ctx, 0, false) }

func (s *Session) await(ctx context.Context, limit time.Duration, announce bool) (missing []string) {
	servers := s.all()
	starting := func() (names []string) {
		for _, srv := range servers {
			select {
			case <-srv.settled:
			default:
				names = append(names, srv.cfg.Name)
			}
		}
		return names
	}
	names := starting()
	if len(names) == 0 {
		return nil
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if announce {
		s.notify(false, "Waiting for MCP servers to start: "+list(names), "")
	}
	for _, srv := range servers {
		select {
		case <-srv.settled:
		case <-ctx.Done():
		}
	}
	if missing = starting(); announce && len(missing) > 0 {
		s.notify(true, "Going on without MCP servers that are still starting: "+list(missing), "Their tools join when they are ready.")
	}
	return missing
}

func list(names []string) string {
	out := ""
	for i, n := range names {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out
}

// notify tells the person, or the log when there is nobody to tell.
func (s *Session) notify(bad bool, title, detail string) {
	if s.opt.Notify != nil {
		s.opt.Notify(bad, title, detail)
		return
	}
	level := slog.LevelInfo
	if bad {
		level = slog.LevelWarn
	}
	s.opt.Logger.Log(context.Background(), level, title, "detail", detail, "session", s.opt.SessionID)
}

// Tool finds what is known of a tool that is offered.
func (s *Session) Tool(name string) (ToolInfo, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tools[name]
	if !ok {
		return ToolInfo{}, false
	}
	return t.info, true
}

// ToolInfo is what the policy may want to know of a tool.
type ToolInfo struct {
	Server, Tool string // as the server calls them
	// Identity changes when something else stands behind the name: another
	// server, other arguments, other hints.
	Identity string
	// ReadOnly and Destructive are the server's own words, and no more than that
	// unless Vouched: then the user configured the server.
	ReadOnly, Destructive bool
	Vouched               bool
}

// Label names the tool for a person: "read_file of the MCP server files".
func (t ToolInfo) Label() string {
	return oneLine(t.Tool, 60) + " of the MCP server " + oneLine(t.Server, 60)
}
