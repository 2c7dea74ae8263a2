package cards

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// nestedCall projects tool/code-dispatch-start: a call that a program made. It
// is announced before policy sees it, so that a question about it finds its card.
func (p *Projector) nestedCall(d jsonvalue.Value) []Update {
	id, parent := d.GetString("subCallId"), d.GetString("parentCallId")
	c := p.open(id, d.GetString("name"), d.Get("arguments"))
	c.announce.ParentID, c.parent = parent, parent
	if outer, open := p.calls[parent]; open {
		c.announce.ParentID = outer.announce.ID
	}
	if c.hidden = !p.opt.NestedCalls; c.hidden {
		return p.tell(parent, c)
	}
	return []Update{c.announce}
}

// nestedResult projects tool/code-dispatch: the end of a call that a program
// made. Logs of older editions have only this event, with a summary of the text.
func (p *Projector) nestedResult(d jsonvalue.Value) []Update {
	id := d.GetString("subCallId")
	var out []Update
	c, open := p.calls[id]
	if !open {
		if p.seen[id] > 0 {
			return nil
		}
		out = p.nestedCall(d)
		c = p.calls[id]
	}
	in := resultInput(d)
	if summary, old := d.Get("resultSummary").Str(); old && len(in.Content) == 0 {
		in.Content = []content.Block{content.Text(summary)}
	}
	end := p.end(id, c, in)
	c.announce.Status = end.Status
	if !c.hidden {
		out = append(out, end)
	}
	if !p.opt.NestedCalls {
		out = append(out, p.tell(d.GetString("parentCallId"), c)...)
	}
	return out
}

// reveal announces a hidden call because a person is asked about it.
func (p *Projector) reveal(id string) []Update {
	c, open := p.calls[id]
	if !open || !c.hidden {
		return nil
	}
	c.hidden = false
	return []Update{c.announce}
}

// closeNested ends what a call left open. Programs wait for their calls, so
// only a log that was cut and repaired has any.
func (p *Projector) closeNested(parent string) []Update {
	var out []Update
	prefix := parent + ":code:"
	for id := range p.calls {
		if strings.HasPrefix(id, prefix) {
			out = p.closeAll(prefix)
			break
		}
	}
	return out
}

func (p *Projector) closeAll(prefix string) []Update {
	var out []Update
	ids := slices.SortedFunc(maps.Keys(p.calls), func(a, b string) int {
		if len(a) != len(b) { // the number at the end has no leading zeros
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids {
		if c := p.calls[id]; strings.HasPrefix(id, prefix) {
			delete(p.calls, id)
			if !c.hidden {
				out = append(out, c.broken("The program ended before this call had a result."))
			}
		}
	}
	return out
}

// broken is the last update of a call that has no result.
func (c *openCall) broken(why string) ToolUpdate {
	text := content.Text(why)
	return ToolUpdate{ID: c.announce.ID, ParentID: c.announce.ParentID, Status: Failed, Content: []ToolContent{{Block: &text}}}
}

// progress is what the card of a program tells of calls that have no card.
type progress struct {
	calls, failed int
	last          []*openCall
}

const (
	progressLines = 8  // calls that are listed
	progressFirst = 32 // changes that are shown one by one
	progressEvery = 64 // later ones come in strides: each update repeats the program
	progressTitle = 80 // characters of a call's title
)

// tell updates the card of a program after one of its hidden calls has begun or
// ended.
func (p *Projector) tell(parent string, c *openCall) []Update {
	outer, open := p.calls[parent]
	if !open {
		return nil
	}
	if outer.progress == nil {
		outer.progress = &progress{}
	}
	g := outer.progress
	switch c.announce.Status {
	case Pending:
		g.calls++
		g.last = append(g.last, c)
		if len(g.last) > progressLines {
			g.last = g.last[1:]
		}
	case Failed:
		g.failed++
	}
	if g.calls > progressFirst && g.calls%progressEvery != 0 {
		return nil
	}
	return []Update{outer.working()}
}

func (g *progress) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Calls made: %d", g.calls)
	if g.failed > 0 {
		fmt.Fprintf(&b, ", failed: %d", g.failed)
	}
	if n := g.calls - len(g.last); n > 0 {
		fmt.Fprintf(&b, " (the last %d)", len(g.last))
	}
	for _, c := range g.last {
		state := string(c.announce.Status)
		if c.announce.Status == Pending {
			state = "running"
		}
		fmt.Fprintf(&b, "\n- %s: %s", state, oneLine(c.announce.Title, progressTitle))
	}
	return b.String()
}

// oneLine is the first line of a title that says something, cut to a number of
// characters.
func oneLine(s string, limit int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
