package acp

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// WriteReplay writes a recorded session as session/update notifications, one a
// line: what an editor would get when it loads the session. A log that ends in
// the middle of a turn is shown as it would be after its repair. A recording
// without an absolute working directory is shown as if made in the current one.
func WriteReplay(w io.Writer, rec *session.Recording, p cards.Presenters, opt cards.Options) error {
	if !filepath.IsAbs(opt.Cwd) {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		opt.Cwd = dir
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	id := rec.Header.ID
	if id == "" {
		id = "recording"
	}
	proj := cards.NewProjector(p, opt)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	show := func(updates []cards.Update, seq int64) error {
		for _, u := range updates {
			wireUpdate := updateFor(u)
			if wireUpdate == nil {
				continue
			}
			n := protocol.NewSessionNotification(id, wireUpdate)
			if err := n.Validate(); err != nil {
				opt.Logger.Warn("an event cannot be shown and is left out", "event", seq, "err", err)
				continue
			}
			err := enc.Encode(struct {
				JSONRPC string                       `json:"jsonrpc"`
				Method  string                       `json:"method"`
				Params  protocol.SessionNotification `json:"params"`
			}{"2.0", protocol.MethodSessionUpdate, n})
			if err != nil {
				return err
			}
		}
		return nil
	}
	events := append(rec.Events[:len(rec.Events):len(rec.Events)], repaired(rec.Events)...)
	for _, ev := range events {
		if err := show(proj.Project(agent.CardEvent(ev)), ev.Seq); err != nil {
			return err
		}
	}
	if opt.UserMessages { // live, each was shown in its place
		return show(lastUsage(events), int64(len(events)))
	}
	return nil
}

// repaired is what repair would append, as events.
func repaired(events []session.Event) []session.Event {
	drafts := session.Repair(events)
	out := make([]session.Event, len(drafts))
	for i, d := range drafts {
		out[i] = session.Event{Type: d.Type, Seq: int64(len(events) + i), Time: d.Time, Data: d.Data, SurfaceOp: d.SurfaceOp, SourceEventSeqs: d.Sources}
	}
	return out
}
