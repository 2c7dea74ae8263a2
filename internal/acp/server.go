// Package acp is the editor's side of the program: it serves the Agent Client
// Protocol (v1) on a connection, keeps the sessions that the client opened, and
// turns what the projection shows into protocol messages.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// The end of the input may be followed by running turns for shutdownGrace, by
// writing what is queued for flushGrace, and by closing logs for closeGrace:
// clients expect the process to be gone within 3 s.
const (
	shutdownGrace = 1700 * time.Millisecond
	flushGrace    = 600 * time.Millisecond
	closeGrace    = 400 * time.Millisecond
)

// Backend makes what a session runs on. The wiring implements it.
type Backend interface {
	// OpenSession makes a new session in an existing directory. The session's
	// owner is the server, which closes it. Errors are shown to the client.
	OpenSession(ctx context.Context, p SessionParams) (*agent.Session, error)
	// LoadSession opens a stored session again, repaired when it was interrupted.
	// Errors: session.ErrNotFound, session.ErrLocked, *CwdMismatchError.
	LoadSession(ctx context.Context, id string, p SessionParams) (*agent.Session, error)
	// ListSessions gives every stored session.
	ListSessions(ctx context.Context) ([]session.Summary, error)
	// DeleteSession removes a stored session that is not open. Removing one that
	// is not there is no error.
	DeleteSession(ctx context.Context, id string) error
	// SessionClosed ends what a session that was closed left running.
	SessionClosed(ctx context.Context, id string)
	// Commands are the slash commands that the session's model understands.
	Commands(s *agent.Session) []model.Command
	// AuthHint says how to give the model its key; "" when it wants none.
	AuthHint() string
	// CheckAuth reports that the model wants a key and there is none, or why the
	// key cannot be got at.
	CheckAuth(ctx context.Context) error
	// EndProcesses ends every process that calls have started, without the
	// patience that a single call's end would have. It is called when the client
	// is gone and nobody waits for their output any more.
	EndProcesses(ctx context.Context) error
}

// SessionParams is what a client asked for, and where questions go.
type SessionParams struct {
	Cwd string // absolute, exists
	// AdditionalDirectories are the other folders of the workspace: absolute,
	// they exist, none stands there twice. It is the complete list: a session that
	// is loaded has no others.
	AdditionalDirectories []string
	// MCPServers are the servers that the client wants used. Sessions keep none of
	// an earlier time.
	MCPServers []protocol.MCPServer
	Asker      agent.Asker
	Elicitor   agent.Elicitor
	Consenter  Consenter
	Notifier   Notifier
	Editor     *EditorFiles // the client's side of text files
}

// Options of a server.
type Options struct {
	Name, Version string // agentInfo
	Backend       Backend
	// QuestionTimeout is how long a form, or a question about what the workspace
	// brings, waits for its answer; 0 means for ever.
	QuestionTimeout time.Duration
	Wire            wire.Options
	Logger          *slog.Logger
}

// Server serves one client on one connection, with any number of sessions.
type Server struct {
	opt  Options
	log  *slog.Logger
	conn *wire.Conn

	mu          sync.Mutex
	initialized bool
	client      protocol.ClientCapabilities
	sessions    map[string]*liveSession
	opening     map[string]bool // sessions that are being loaded
	closing     bool
	workers     sync.WaitGroup

	editor editorState
	// listWait is catalogueWait, but where a test wants to be sure of the lists.
	listWait time.Duration
}

// NewServer makes a server; Serve runs it.
func NewServer(opt Options) *Server {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	opt.Wire.Logger = opt.Logger
	opt.Wire.FlushTimeout = flushGrace
	s := &Server{opt: opt, log: opt.Logger, sessions: map[string]*liveSession{}, opening: map[string]bool{}, listWait: catalogueWait}
	s.editor.readWait, s.editor.writeWait = editorReadWait, editorWriteWait
	return s
}

// Serve speaks the protocol until the client closes its end, the output breaks
// or ctx ends. Then running turns are cancelled and awaited for a bounded time,
// the sessions are closed and what is queued is written. A client that left is
// no error.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.mu.Lock()
	s.conn = wire.Serve(ctx, in, out, s, s.opt.Wire)
	s.mu.Unlock()
	<-s.conn.Done()
	reason := s.conn.Err()
	ended := s.shutdown()
	closeErr := s.conn.Close()
	// A turn that was waiting to show something to a client that no longer reads
	// goes on now, and closes its log.
	select {
	case <-ended:
	case <-time.After(closeGrace):
		s.log.Warn("some turns did not end in time and are left behind")
	}
	var broken *wire.WriteError
	if errors.Is(reason, io.EOF) || errors.As(reason, &broken) || errors.Is(reason, context.Canceled) {
		if closeErr != nil {
			s.log.Debug("the last messages could not be written", "err", closeErr)
		}
		return nil
	}
	return reason
}

// shutdown cancels what runs, closes every session and waits for that, for a
// bounded time. What it returns is closed when all of it has ended.
func (s *Server) shutdown() (ended <-chan struct{}) {
	s.mu.Lock()
	s.closing = true
	live := make([]*liveSession, 0, len(s.sessions))
	for _, l := range s.sessions {
		live = append(live, l)
	}
	s.mu.Unlock()
	for _, l := range live {
		l.dispose()
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		if err := s.opt.Backend.EndProcesses(ctx); err != nil {
			s.log.Warn("some processes did not end in time", "err", err)
		}
		s.workers.Wait()
		if err := s.conn.Wait(ctx); err != nil {
			s.log.Warn("some requests were still being served at the end", "err", err)
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return done
}

// Handle routes one message. It runs on the reading goroutine and never blocks.
func (s *Server) Handle(ctx context.Context, _ *wire.Conn, req *wire.Request) {
	h, ok := handlers[req.Method]
	if !ok || h.notification != req.Notif {
		if !req.Notif {
			s.fail(req, protocol.MethodNotFound(req.Method))
		}
		return
	}
	s.mu.Lock()
	ready := s.initialized || req.Method == protocol.MethodInitialize
	s.mu.Unlock()
	if !ready {
		if !req.Notif {
			s.fail(req, protocol.InvalidRequest("the connection is not initialized: send initialize first"))
		}
		return
	}
	h.serve(s, ctx, req)
}

// handler serves one method.
type handler struct {
	notification bool
	serve        func(*Server, context.Context, *wire.Request)
}

// handlers are the methods that are served; everything else is not advertised
// and answers "method not found".
var handlers = map[string]handler{
	protocol.MethodInitialize:      {serve: (*Server).handleInitialize},
	protocol.MethodLogout:          {serve: (*Server).handleLogout},
	protocol.MethodAuthenticate:    {serve: (*Server).handleAuthenticate},
	protocol.MethodSessionNew:      {serve: (*Server).handleNewSession},
	protocol.MethodSessionLoad:     {serve: (*Server).handleLoad},
	protocol.MethodSessionResume:   {serve: (*Server).handleResume},
	protocol.MethodSessionList:     {serve: (*Server).handleList},
	protocol.MethodSessionClose:    {serve: onOpen(protocol.DecodeSession, (*Server).closeOpen)},
	protocol.MethodSessionDelete:   {serve: (*Server).handleDelete},
	protocol.MethodSessionFork:     {serve: (*Server).handleFork},
	protocol.MethodSessionSetTitle: {serve: (*Server).handleSetTitle},
	protocol.MethodSessionPrompt:   {serve: onOpen(protocol.DecodePrompt, (*Server).prompt)},
	protocol.MethodSessionSetMode:  {serve: onOpen(protocol.DecodeSetMode, (*Server).setMode)},
	protocol.MethodSetConfigOption: {serve: onOpen(protocol.DecodeSetConfigOption, (*Server).setConfigOption)},
	protocol.MethodSessionCancel:   {notification: true, serve: (*Server).handleCancel},
}

// onOpen makes a method's function of one that serves it on the open session that
// it is about: it reads the parameters, finds the session, and answers with what
// is wrong. What serve gives is answered too; after nil, serve sees to the answer.
func onOpen[P interface{ Session() string }](
	decode func(json.RawMessage) (P, *protocol.Error), serve func(*Server, *wire.Request, *liveSession, P) *protocol.Error,
) func(*Server, context.Context, *wire.Request) {
	return func(s *Server, _ context.Context, req *wire.Request) {
		p, perr := decode(req.Params)
		var l *liveSession
		if perr == nil {
			l, perr = s.session(p.Session())
		}
		if perr == nil {
			perr = serve(s, req, l, p)
		}
		if perr != nil {
			s.fail(req, perr)
		}
	}
}

// fail answers with an error. The peer may be gone, which is no news.
func (s *Server) fail(req *wire.Request, e *protocol.Error) {
	if err := req.ReplyError(e); err != nil {
		s.log.Debug("an error answer could not be sent", "method", req.Method, "err", err)
	}
}

// reply answers with a result.
func (s *Server) reply(req *wire.Request, result any) {
	if err := req.Reply(result); err != nil {
		s.log.Debug("an answer could not be sent", "method", req.Method, "err", err)
	}
}

// session finds an open session.
func (s *Server) session(id string) (*liveSession, *protocol.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.sessions[id]
	if !ok {
		return nil, protocol.NotFound("session " + id)
	}
	return l, nil
}

// update sends one session update. Updates are best effort: a client that is
// gone or does not read must not fail a turn, nor must an update that is not
// valid, which the connection does not let out.
func (s *Server) update(sessionID string, u protocol.SessionUpdate) {
	s.unsent(sessionID, s.conn.Notify(protocol.MethodSessionUpdate, protocol.NewSessionNotification(sessionID, u)))
}

// tryUpdate sends a session update that can be left out, unless that would have
// to wait. One that cannot be sent at all counts as sent.
func (s *Server) tryUpdate(sessionID string, u protocol.SessionUpdate) bool {
	sent, err := s.conn.TryNotify(protocol.MethodSessionUpdate, protocol.NewSessionNotification(sessionID, u))
	s.unsent(sessionID, err)
	return sent || err != nil
}

// unsent tells the log of an update that could not be sent, if err says so.
func (s *Server) unsent(sessionID string, err error) {
	var invalid *wire.InvalidError
	switch {
	case errors.As(err, &invalid):
		s.log.Error("an update is not valid and is left out", "session", sessionID, "err", err)
	case err != nil:
		s.log.Debug("an update could not be sent", "session", sessionID, "err", err)
	}
}
