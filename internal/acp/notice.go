package acp

import (
	"context"
	"log/slog"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// The severities of a notice.
const (
	SeverityInfo    = protocol.SeverityInfo
	SeverityWarning = protocol.SeverityWarning
	SeverityError   = protocol.SeverityError
)

// Severity is how bad the thing is that a notice tells of.
type Severity = protocol.Severity

// Notifier tells the person something that is no part of the conversation, such
// as a server that could not be started. It may be called at any time from any
// goroutine, inside a turn or not, and never blocks. A notice is not history: a
// client that shows none, does not keep up or is not there never learns of it; the log of the
// program always does.
type Notifier interface {
	// Notice tells it. The title stands alone, in plain text; the description may
	// be empty. Neither may hold a secret.
	Notice(severity Severity, title, description string)
}

// maxEarlyNotices bounds what waits for the session's first answer.
const maxEarlyNotices = 32

// notices is the Notifier of one session. What comes before the client knows the
// session waits for that: clients drop updates of sessions they do not know.
type notices struct {
	server *Server

	mu      sync.Mutex
	session string // "" before open
	shown   bool   // the client shows notices
	early   []protocol.Notice
}

func newNotices(s *Server) *notices { return &notices{server: s} }

// Notice tells the client where it can show it, and the program's log.
func (n *notices) Notice(severity Severity, title, description string) {
	note := protocol.Notice{Severity: severity, Title: title, Description: description}
	level := map[Severity]slog.Level{SeverityWarning: slog.LevelWarn, SeverityError: slog.LevelError}[severity]
	n.mu.Lock()
	defer n.mu.Unlock()
	about := []any{"description", description}
	if n.session != "" {
		about = append([]any{"session", n.session}, about...)
	}
	n.server.log.Log(context.Background(), level, title, about...)
	switch {
	case n.session == "":
		if len(n.early) < maxEarlyNotices {
			n.early = append(n.early, note)
		}
	case n.shown:
		n.server.tryUpdate(n.session, note)
	}
}

// open begins to send, with what has waited.
func (n *notices) open(session string, shown bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.session, n.shown = session, shown
	early := n.early
	n.early = nil
	if !shown {
		return
	}
	for _, note := range early {
		n.server.update(session, note)
	}
}
