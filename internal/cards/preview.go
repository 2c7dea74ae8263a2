package cards

import (
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
)

// LiveMode says how live output of a call can be shown.
type LiveMode uint8

const (
	// LiveNone: not at all, because the call is not open.
	LiveNone LiveMode = iota
	// LiveDeltas: the editor draws the call's terminal, and is sent each piece
	// of output once.
	LiveDeltas
	// LiveText: the output so far, or its end, stands among the call's content
	// and is replaced as a whole.
	LiveText
)

// Live says how live output of a call can be shown now.
func (p *Projector) Live(callID string) LiveMode {
	switch c := p.shownFor(callID); {
	case c == nil:
		return LiveNone
	case c.announce.Terminal != nil && !p.calls[callID].hidden:
		return LiveDeltas
	}
	return LiveText
}

// Preview is the update that shows live output of an open call: one more piece
// of it under LiveDeltas, all that is to be seen of it under LiveText. It is the
// one thing that is shown and not in the log, and the call's last update
// replaces it. The output of a call without a card of its own stands on that of
// the program which made it. ok is false under LiveNone.
func (p *Projector) Preview(callID, text string) (u ToolUpdate, ok bool) {
	c := p.shownFor(callID)
	switch p.Live(callID) {
	case LiveNone:
		return ToolUpdate{}, false
	case LiveDeltas:
		return ToolUpdate{
			ID: c.announce.ID, ParentID: c.announce.ParentID, Output: &TerminalOutput{ID: c.announce.ID, Data: text},
		}, true
	}
	p.calls[callID].preview = text
	return c.working(), true
}

// shownFor is the open call on whose card a call's output is shown; nil when
// there is none.
func (p *Projector) shownFor(callID string) *openCall {
	c := p.calls[callID]
	if c != nil && c.hidden {
		c = p.calls[c.parent]
	}
	if c == nil || c.hidden {
		return nil
	}
	return c
}

// working is the card of a call that is under way: what was announced, how its
// own calls go, and its live output.
func (c *openCall) working() ToolUpdate {
	u := ToolUpdate{ID: c.announce.ID, ParentID: c.announce.ParentID, Content: slices.Clone(c.announce.Content)}
	show := func(text string) {
		b := content.Text(text)
		u.Content = append(u.Content, ToolContent{Block: &b})
	}
	if c.progress != nil {
		show(c.progress.text())
	}
	if c.preview != "" {
		show(Fence("console", c.preview))
	}
	if c.progress != nil {
		for _, nested := range c.progress.last {
			if nested.announce.Status == Pending && nested.preview != "" {
				show(Fence("console", nested.preview))
			}
		}
	}
	return u
}

// Streamed is what an editor's terminal was sent of a call while it ran.
type Streamed struct {
	Text    string // its beginning, as much as was kept of it
	Whole   bool   // Text is everything that was sent
	Pending string // what came behind it and was not sent yet
	Gap     bool   // some of the output was left out
}

// Rest is what is still to be sent to a terminal that was sent s, so that in
// the end everything which the final output says was sent, and nothing of it
// twice as far as that can be told.
func (o TerminalOutput) Rest(s Streamed) string {
	if s.Whole && strings.HasPrefix(o.Data, s.Text) {
		return o.Data[len(s.Text):]
	}
	if !s.Gap {
		// The editor saw all that the command wrote, in the order in which it
		// did; the final text may order or shorten it.
		return s.Pending + ownLine(s.Text+s.Pending, o.Notes)
	}
	end := s.Text
	if !s.Whole {
		end = "?" // whatever it was, it was no end of a line
	}
	return ownLine(end, o.Data[commonLines(s.Text, o.Data):])
}

// ownLine is more, made to begin a line behind text.
func ownLine(text, more string) string {
	if more == "" || text == "" || strings.HasSuffix(text, "\n") {
		return more
	}
	return "\n" + more
}

// commonLines is how many bytes of whole lines two texts begin with alike.
func commonLines(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			n = i
			break
		}
	}
	return strings.LastIndexByte(b[:n], '\n') + 1
}
