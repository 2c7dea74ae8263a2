package acp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/agent"
)

// handleInitialize answers with what is built, and remembers what the client
// can do. It may be repeated; sessions keep the capabilities they began with.
func (s *Server) handleInitialize(_ context.Context, req *wire.Request) {
	p, perr := protocol.DecodeInitialize(req.Params)
	if perr != nil {
		s.fail(req, perr)
		return
	}
	s.mu.Lock()
	s.initialized = true
	s.client = p.Capabilities
	s.mu.Unlock()
	s.reply(req, protocol.NewInitializeResponse(
		protocol.Implementation{Name: s.opt.Name, Title: "DeepSeek Harness", Version: s.opt.Version},
		protocol.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: protocol.PromptCapabilities{Image: s.takesImages(), EmbeddedContext: true},
			MCPCapabilities:    protocol.MCPCapabilities{HTTP: true, SSE: true},
			SessionCapabilities: protocol.SessionCapabilities{
				List: protocol.Yes(), Resume: protocol.Yes(), Close: protocol.Yes(), Delete: protocol.Yes(),
				AdditionalDirectories: protocol.Yes(), Fork: marker[Forker](s), Title: marker[Titler](s),
			},
			Auth: s.authCapabilities(),
			Meta: promptingMeta(),
		}, s.authMethods(p.Capabilities)))
}

// handleNewSession makes a session on a goroutine of its own, so that a slow
// disk does not stop the reader. The answer leaves before the session's first
// update.
func (s *Server) handleNewSession(_ context.Context, req *wire.Request) {
	p, perr := protocol.DecodeNewSession(req.Params)
	if perr != nil {
		s.fail(req, perr)
		return
	}
	wire.Go(req, func(ctx context.Context) (any, error) {
		if err := s.checkSetup(p); err != nil {
			return nil, err
		}
		if err := s.opt.Backend.CheckAuth(ctx); err != nil {
			return nil, protocol.AuthRequired(err.Error()).WithDetails(err.Error())
		}
		params, notes := s.params(p)
		a, err := s.opt.Backend.OpenSession(ctx, params)
		if err != nil {
			return nil, protocol.InternalError("the session could not be created: " + err.Error()).WithDetails(err.Error())
		}
		return nil, s.goLiveNew(ctx, req, a, notes)
	})
}

// checkSetup checks what session/new, load and resume have in common. What this
// version does not do is refused, or noted where refusing would leave the client
// without a session.
func (s *Server) checkSetup(p protocol.SessionSetup) error {
	if perr := checkDir("cwd", "the working directory", p.Cwd); perr != nil {
		return perr
	}
	for i, dir := range p.AdditionalDirectories {
		if perr := checkDir(fmt.Sprintf("additionalDirectories[%d]", i), "the additional directory", dir); perr != nil {
			return perr
		}
	}
	return nil
}

func (s *Server) capabilities() protocol.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// goLive takes a session into service and answers the request that asked for it.
// The answer leaves before the session's first live update.
func (s *Server) goLive(ctx context.Context, req *wire.Request, l *liveSession, answer func(protocol.SessionState) any) error {
	id := l.agent.SessionID()
	wait, cancel := context.WithTimeout(ctx, s.listWait)
	complete := l.agent.Catalogue().Fetch(wait)
	cancel()
	// Held until the answer has left: no change of a setting is shown before.
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		l.abandon()
		return protocol.Cancelled("the agent is shutting down")
	}
	st := state(l.agent)
	l.optionsSeen(st.ConfigOptions)
	s.sessions[id] = l
	s.workers.Go(l.run)
	if !complete {
		l.followModels()
	}
	s.mu.Unlock()
	s.reply(req, answer(st))
	l.sendCommands(s.commandsOf(l.agent))
	if !l.replayed {
		l.send(lastUsage(l.agent.Log().Kept()))
	}
	l.notices.open(id, l.showNotices)
	return nil
}

// goLiveNew is goLive for a session that is new to the client, and has to be named.
func (s *Server) goLiveNew(ctx context.Context, req *wire.Request, a *agent.Session, notes *notices) error {
	return s.goLive(ctx, req, newLiveSession(s, a, s.capabilities(), notes), func(st protocol.SessionState) any {
		r := protocol.NewNewSessionResponse(a.SessionID())
		r.SessionState = st
		return r
	})
}

// checkDir makes sure that tools will run where the client said, never in a
// wrong folder.
func checkDir(field, what, dir string) *protocol.Error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return protocol.InvalidParams(field, what+" does not exist: "+dir)
	case err != nil:
		return protocol.InvalidParams(field, what+" cannot be used: "+err.Error())
	case !info.IsDir():
		return protocol.InvalidParams(field, what+" is not a directory: "+dir)
	}
	return nil
}

// params is what the backend is told of a session that the client sets up.
func (s *Server) params(p protocol.SessionSetup) (SessionParams, *notices) {
	n := newNotices(s)
	return SessionParams{
		Cwd: p.Cwd, AdditionalDirectories: distinctDirs(p.Cwd, p.AdditionalDirectories),
		MCPServers: p.MCPServers, Asker: s, Elicitor: s, Consenter: s, Notifier: n, Editor: s.editorFiles(),
	}, n
}

// distinctDirs leaves out what is said twice, the working directory included.
func distinctDirs(cwd string, dirs []string) []string {
	seen := map[string]bool{agent.CanonicalDir(cwd): true}
	var out []string
	for _, dir := range dirs {
		if c := agent.CanonicalDir(dir); !seen[c] {
			seen[c] = true
			out = append(out, filepath.Clean(dir))
		}
	}
	return out
}

// prompt queues a prompt. Nothing is logged for a prompt that is refused.
func (s *Server) prompt(req *wire.Request, l *liveSession, p protocol.PromptRequest) *protocol.Error {
	parts, perr := readPrompt(p.Prompt, s.imageSupport(l))
	if perr != nil {
		return perr
	}
	return l.enqueue(req, parts, p.Meta)
}

// handleCancel ends a session's turns. An unknown session and one with nothing
// to cancel are met with silence.
func (s *Server) handleCancel(_ context.Context, req *wire.Request) {
	p, perr := protocol.DecodeSession(req.Params)
	if perr != nil {
		s.log.Debug("session/cancel without a session", "err", perr)
		return
	}
	if l, perr := s.session(p.SessionID); perr == nil {
		l.cancelTurns(errCancelledByClient)
	}
}
