package acp

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// listPage is how many sessions one answer to session/list holds.
const listPage = 50

// handleLoad opens a stored session and shows everything in it before the
// answer, with the projection that showed it live.
func (s *Server) handleLoad(_ context.Context, req *wire.Request) { s.reopen(req, true) }

// handleResume opens a stored session without showing it again.
func (s *Server) handleResume(_ context.Context, req *wire.Request) { s.reopen(req, false) }

func (s *Server) reopen(req *wire.Request, replay bool) {
	p, perr := protocol.DecodeLoadSession(req.Params)
	if perr == nil {
		perr = s.reserve(p.SessionID)
	}
	if perr != nil {
		s.fail(req, perr)
		return
	}
	wire.Go(req, func(ctx context.Context) (any, error) {
		defer s.unreserve(p.SessionID)
		if err := s.checkSetup(p); err != nil {
			return nil, err
		}
		params, notes := s.params(p)
		a, err := s.opt.Backend.LoadSession(ctx, p.SessionID, params)
		if err != nil {
			return nil, storeError(p.SessionID, "the session could not be loaded", err)
		}
		l := newLiveSession(s, a, s.capabilities(), notes)
		if replay && !l.replay(ctx) {
			l.abandon()
			return nil, context.Cause(ctx)
		}
		a.Log().Settle()
		return nil, s.goLive(ctx, req, l, func(st protocol.SessionState) any { return st })
	})
}

// storeError says why what was asked for cannot be done with a stored session;
// failed is for what is no fault of the request.
func storeError(id, failed string, err error) error {
	var mismatch *CwdMismatchError
	switch {
	case errors.Is(err, session.ErrNotFound):
		return protocol.NotFound("session " + id)
	case errors.Is(err, session.ErrLocked):
		return protocol.InvalidRequest(err.Error())
	case errors.As(err, &mismatch):
		return protocol.InvalidParams("cwd", mismatch.Error())
	}
	return protocol.InternalError(failed + ": " + err.Error()).WithDetails(err.Error())
}

// CwdMismatchError is an attempt to open a session in another working directory
// than the one it was made in.
type CwdMismatchError struct{ Stored, Requested string }

// Error names both.
func (e *CwdMismatchError) Error() string {
	return fmt.Sprintf("the session belongs to %s, not to %s: load it with its own working directory", e.Stored, e.Requested)
}

// reserve makes sure that a session is opened once.
func (s *Server) reserve(id string) *protocol.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.sessions[id]; open || s.opening[id] {
		return protocol.InvalidRequest("session " + id + " is already open on this connection")
	}
	s.opening[id] = true
	return nil
}

func (s *Server) unreserve(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.opening, id)
}

// replay shows the whole log as it was shown live, with the user's own words. It
// reports false when nobody wants to see the rest: the client has cancelled the
// request, or is gone.
func (l *liveSession) replay(ctx context.Context) bool {
	opt := l.cards
	opt.UserMessages = true
	proj := cards.NewProjector(agent.ScopePresenters{Scope: l.agent.Scope()}, opt)
	for ev := range l.agent.Log().All() {
		if ctx.Err() != nil {
			return false
		}
		l.send(proj.Project(agent.CardEvent(ev)))
	}
	l.send(lastUsage(l.agent.Log().Kept()))
	l.replayed = true
	return true
}

// abandonTime bounds the end of a session that was not taken into service.
const abandonTime = 5 * time.Second

// abandon ends a session that was opened and is not taken into service. It can be
// opened again then.
func (l *liveSession) abandon() {
	id := l.agent.SessionID()
	if err := l.agent.Close(); err != nil {
		l.server.log.Error("a session log could not be closed", "session", id, "err", err)
	}
	l.live.close()
	ctx, cancel := context.WithTimeout(context.Background(), abandonTime)
	defer cancel()
	l.server.opt.Backend.SessionClosed(ctx, id)
}

// handleList lists stored sessions, the last used first.
func (s *Server) handleList(_ context.Context, req *wire.Request) {
	p, perr := protocol.DecodeListSessions(req.Params)
	if perr != nil {
		s.fail(req, perr)
		return
	}
	wire.Go(req, func(ctx context.Context) (any, error) {
		after, err := parseCursor(p.Cursor)
		if err != nil {
			return nil, protocol.InvalidParams("cursor", "is not one that this agent gave: leave it out to start at the first page")
		}
		all, err := s.opt.Backend.ListSessions(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, protocol.InternalError("the stored sessions could not be listed: " + err.Error()).WithDetails(err.Error())
		}
		return s.page(all, p.Cwd, after), nil
	})
}

// page is the part of the list behind the cursor that belongs to cwd. A session
// in which nothing was said is left out unless it is open here, and so is one
// that another session has started: nobody talks to it.
func (s *Server) page(all []session.Summary, cwd string, after cursor) protocol.ListSessionsResponse {
	slices.SortFunc(all, func(a, b session.Summary) int { return keyOf(a).compare(keyOf(b)) })
	want := ""
	if cwd != "" {
		want = agent.CanonicalDir(cwd)
	}
	page := protocol.ListSessionsResponse{Sessions: []protocol.SessionInfo{}}
	for _, sum := range all {
		if sum.Cwd == "" || sum.DelegationDepth > 0 || (want != "" && agent.CanonicalDir(sum.Cwd) != want) || (after != cursor{} && keyOf(sum).compare(after) <= 0) {
			continue
		}
		l, perr := s.session(sum.ID)
		if sum.Prompts == 0 && perr != nil {
			continue
		}
		dirs := sum.AdditionalDirectories
		if perr == nil {
			dirs = l.additional
		}
		if len(page.Sessions) == listPage {
			last := page.Sessions[listPage-1]
			page.NextCursor = cursor{last.UpdatedAt, last.SessionID}.String()
			break
		}
		page.Sessions = append(page.Sessions, protocol.SessionInfo{
			SessionID: sum.ID, Cwd: sum.Cwd, AdditionalDirectories: dirs, Title: sum.Title, UpdatedAt: protocol.Timestamp(sum.UpdatedAt),
		})
	}
	return page
}

// cursor is the place of a session in the list: newest first, then by id.
type cursor struct{ UpdatedAt, ID string }

func keyOf(s session.Summary) cursor {
	return cursor{protocol.Timestamp(s.UpdatedAt), s.ID}
}

// compare orders the newest first; equal times by id.
func (c cursor) compare(d cursor) int {
	return cmp.Or(cmp.Compare(d.UpdatedAt, c.UpdatedAt), cmp.Compare(c.ID, d.ID))
}

// String is the opaque form that a client gets.
func (c cursor) String() string {
	raw, _ := json.Marshal(c) // two strings always marshal
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parseCursor(text string) (cursor, error) {
	var c cursor
	if text == "" {
		return c, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, err
	}
	if c.ID == "" {
		return c, errors.New("no session in the cursor")
	}
	_, err = time.Parse(time.RFC3339Nano, c.UpdatedAt)
	return c, err
}

// closeOpen cancels what runs in a session, waits for its end and frees it.
func (s *Server) closeOpen(req *wire.Request, l *liveSession, _ protocol.SessionRequest) *protocol.Error {
	l.stop()
	l.cancelTurns(errCancelledByClient)
	wire.Go(req, func(ctx context.Context) (any, error) {
		if err := s.closeSession(ctx, l); err != nil {
			return nil, err
		}
		return protocol.Empty{}, nil
	})
	return nil
}

// closeSession ends a session and waits until its log is closed. Its running
// prompt has been answered then.
func (s *Server) closeSession(ctx context.Context, l *liveSession) error {
	l.stop()
	l.cancelTurns(errCancelledByClient)
	select {
	case <-l.done:
	case <-ctx.Done():
		return protocol.Cancelled("the session is still closing")
	}
	// Once, and before the session can be opened again: what is ended here is known
	// by its id, and would else be the new one's.
	l.freed.Do(func() {
		id := l.agent.SessionID()
		s.opt.Backend.SessionClosed(ctx, id)
		s.mu.Lock()
		delete(s.sessions, id)
		s.mu.Unlock()
	})
	return nil
}

// handleDelete removes a stored session, closing it first. One that is not there
// is deleted already.
func (s *Server) handleDelete(_ context.Context, req *wire.Request) {
	p, perr := protocol.DecodeSession(req.Params)
	if perr != nil {
		s.fail(req, perr)
		return
	}
	wire.Go(req, func(ctx context.Context) (any, error) {
		if l, perr := s.session(p.SessionID); perr == nil {
			if err := s.closeSession(ctx, l); err != nil {
				return nil, err
			}
		}
		if err := s.opt.Backend.DeleteSession(ctx, p.SessionID); err != nil {
			return nil, storeError(p.SessionID, "the session could not be deleted", err)
		}
		return protocol.Empty{}, nil
	})
}
