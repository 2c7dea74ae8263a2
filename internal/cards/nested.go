package cards

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// nestedCall projects tool/code-dispatch-start and subagent/call: a call that a
// program or a subagent made. It is announced before policy sees it, so that a
// question about it finds its card.
func (p *Projector) nestedCall(d jsonvalue.Value) []Update {
	id, parent := d.GetString("subCallId"), d.GetString("parentCallId")
	c := p.open(id, d.GetString("name"), d.Get("arguments"))
	c.parent, c.announce.ParentID = parent, parent
	if outer := p.shown(parent); outer != nil {
		c.announce.ParentID = outer.announce.ID
	}
	if c.hidden = !p.opt.NestedCalls; c.hidden {
		return p.tell(parent, c)
	}
	return []Update{c.announce}
}

// shown finds the nearest open call with a card, from a call outwards; nil when
// there is none.
func (p *Projector) shown(id string) *openCall {
	for c, open := p.calls[id]; open; c, open = p.calls[c.parent] {
		if !c.hidden {
			return c
		}
	}
	return nil
}

// nestedResult projects tool/code-dispatch and subagent/result: the end of a call
// that a program or a subagent made. Logs of older editions have only this event, with a summary of the text.
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

// closeNested ends what a call left open. Programs and subagents wait for their
// calls, so only a log that was cut and repaired has any.
func (p *Projector) closeNested(parent string) []Update {
	inside := func(id string) bool {
		rest, ok := strings.CutPrefix(id, parent)
		return ok && p.calls[id].parent != "" && (strings.HasPrefix(rest, ":code:") || strings.HasPrefix(rest, "/"))
	}
	for id := range p.calls {
		if inside(id) {
			return p.closeAll(inside)
		}
	}
	return nil
}

func (p *Projector) closeAll(inside func(id string) bool) []Update {
	var out []Update
	ids := slices.SortedFunc(maps.Keys(p.calls), func(a, b string) int {
		if len(a) != len(b) { // the number at the end has no leading zeros
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids {
		if c := p.calls[id]; inside(id) {
			delete(p.calls, id)
			if !c.hidden {
				out = append(out, c.broken(maker(id)+" ended before this call had a result."))
			}
		}
	}
	return out
}

// maker says what made a call, by its id.
func maker(id string) string {
	if strings.LastIndexByte(id, '/') > strings.LastIndex(id, ":code:") {
		return "The subagent"
	}
	return "The program"
}

// broken is the last update of a call that has no result.
func (c *openCall) broken(why string) ToolUpdate {
	u := ToolUpdate{ID: c.announce.ID, ParentID: c.announce.ParentID, Status: Failed, RawOutput: jsonvalue.String(why)}
	if c.announce.Terminal != nil { // which is kept
		u.Output, u.Exit = &TerminalOutput{ID: u.ID, Data: why, Notes: why}, &TerminalExit{ID: u.ID}
		return u
	}
	text := content.Text(why)
	u.Content = []ToolContent{{Block: &text}}
	return u
}

// progress is what the card of a program or a subagent tells of calls that have
// no card, and of what the subagent said.
type progress struct {
	calls, failed int
	last          []*openCall
	said          string
}

const (
	progressLines = 8  // calls that are listed
	progressFirst = 32 // changes that are shown one by one
	progressEvery = 64 // later ones come in strides: each update repeats the program
	progressTitle = 80 // characters of a call's title
	progressSaid  = 200
)

// tell updates the card of a program or a subagent after one of its hidden calls
// has begun or ended.
func (p *Projector) tell(parent string, c *openCall) []Update {
	outer := p.shown(parent)
	if outer == nil {
		return nil
	}
	g := outer.tracked()
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
	return outer.told()
}

// nestedMessage projects subagent/message: what a subagent said between its calls.
func (p *Projector) nestedMessage(d jsonvalue.Value) []Update {
	outer := p.shown(d.GetString("parentCallId"))
	said := oneLine(d.GetString("text"), progressSaid)
	if outer == nil || said == "" {
		return nil
	}
	outer.tracked().said = said
	return outer.told()
}

func (c *openCall) tracked() *progress {
	if c.progress == nil {
		c.progress = &progress{}
	}
	return c.progress
}

// told is the update by which a card shows its progress.
func (c *openCall) told() []Update { return []Update{c.working()} }

func (g *progress) text() string {
	var b strings.Builder
	b.WriteString(g.said)
	if g.calls == 0 {
		return b.String()
	}
	if g.said != "" {
		b.WriteString("\n\n")
	}
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
