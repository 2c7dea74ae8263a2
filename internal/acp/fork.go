package acp

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/agent"
)

// Forker is implemented by a Backend that can copy sessions.
type Forker interface {
	// ForkSession makes a new session that begins with everything that was said in
	// another one up to now, repaired where that is in the middle of a turn. The
	// other one may be open here or elsewhere, and is left as it is. Errors:
	// session.ErrNotFound.
	ForkSession(ctx context.Context, id string, p SessionParams) (*agent.Session, error)
}

// Titler is implemented by a Backend that can give a title to a stored session.
type Titler interface {
	// SetTitle titles a session that is not open here. Errors: session.ErrNotFound,
	// session.ErrLocked.
	SetTitle(ctx context.Context, id, title string) error
}

// handleFork copies a session. Like a session that is resumed, the copy is not
// shown: the client has shown it already.
func (s *Server) handleFork(_ context.Context, req *wire.Request) {
	f, can := s.opt.Backend.(Forker)
	if !can {
		s.fail(req, protocol.MethodNotFound(req.Method))
		return
	}
	p, perr := protocol.DecodeLoadSession(req.Params)
	if perr != nil {
		s.fail(req, perr)
		return
	}
	wire.Go(req, func(ctx context.Context) (any, error) {
		if err := s.checkSetup(p); err != nil {
			return nil, err
		}
		params, notes := s.params(p)
		a, err := f.ForkSession(ctx, p.SessionID, params)
		if err != nil {
			return nil, storeError(p.SessionID, "the session could not be copied", err)
		}
		a.Log().Settle()
		return nil, s.goLiveNew(ctx, req, a, notes)
	})
}

// maxTitle bounds a title that a client gives, in bytes.
const maxTitle = 200

// handleSetTitle stores a title that the person chose, for a session that is open
// or stored.
func (s *Server) handleSetTitle(_ context.Context, req *wire.Request) {
	b, can := s.opt.Backend.(Titler)
	if !can {
		s.fail(req, protocol.MethodNotFound(req.Method))
		return
	}
	p, perr := protocol.DecodeSetTitle(req.Params)
	title := cleanTitle(p.Title)
	if perr == nil && title == "" {
		perr = protocol.InvalidParams("title", "is empty")
	}
	if perr != nil {
		s.fail(req, perr)
		return
	}
	wire.Go(req, func(ctx context.Context) (any, error) {
		var err error
		if l, perr := s.session(p.SessionID); perr == nil {
			err = l.agent.SetTitle(title)
		} else {
			err = b.SetTitle(ctx, p.SessionID, title)
		}
		if err != nil {
			return nil, storeError(p.SessionID, "the title could not be stored", err)
		}
		return protocol.SetTitleResponse{Title: title}, nil
	})
}

// cleanTitle makes one line of a title and bounds it.
func cleanTitle(title string) string {
	title = agent.PlainLine(title)
	if len(title) > maxTitle {
		cut := maxTitle
		for !utf8.RuneStart(title[cut]) {
			cut--
		}
		title = strings.TrimSpace(title[:cut])
	}
	return title
}

// marker advertises what a Backend can do that implements T.
func marker[T any](s *Server) *protocol.Marker {
	if _, can := s.opt.Backend.(T); can {
		return protocol.Yes()
	}
	return nil
}
