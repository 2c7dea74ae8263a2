// Package compact decides which part of a conversation a summary takes the place
// of, and writes what the model is asked for the summary and what it reads
// afterwards. It asks no model and writes no log: package agent does.
package compact

import (
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Plan is a part of the model's context that can be replaced.
type Plan struct {
	// Replaced are the events to replace, from the beginning of the context;
	// Kept those that stay behind them.
	Replaced, Kept []session.Event
	// Tokens is a guess of what Replaced takes.
	Tokens int64
}

// Start and End are the first and the last event to replace, for session.Replace.
func (p Plan) Start() int64 { return p.Replaced[0].Seq }

// End is the last event to replace.
func (p Plan) End() int64 { return p.Replaced[len(p.Replaced)-1].Seq }

// boundary is the seq where the part that was replaced ends in the log.
func (p Plan) boundary() int64 {
	if len(p.Kept) > 0 {
		return p.Kept[0].Seq
	}
	return p.End() + 1
}

// Choose plans a replacement that keeps the newest part of the context, as much
// of it as fits into keep tokens. The newest message is kept even if it takes up
// to most, with the calls and results that belong to it; one that is longer is
// replaced with the rest. No call is parted from its result. ok is false when
// there is nothing that is worth replacing.
func Choose(events []session.Event, keep, most int64) (p Plan, ok bool) {
	surface := session.Surface(events)
	cut := len(surface)
	held := openAt(surface)
	kept := int64(0)
	for i := len(surface) - 1; i > 0; i-- {
		kept += eventTokens(surface[i])
		if held[i] {
			continue
		}
		if kept > keep && (cut < len(surface) || kept > most) {
			break
		}
		cut = i
	}
	if p, ok = planAt(surface, cut); !ok && cut < len(surface) {
		// Nothing stands before what would be kept but the request itself.
		p, ok = planAt(surface, len(surface))
	}
	return p, ok
}

// planAt plans to replace what comes before a cut. ok is false when nothing in it
// would go: a summary alone, or the latest request, which is quoted.
func planAt(surface []session.Event, cut int) (p Plan, ok bool) {
	p = Plan{Replaced: surface[:cut:cut], Kept: surface[cut:]}
	request := int64(-1)
	for _, e := range surface {
		if e.Type == session.TypeUserMessage {
			request = e.Seq
		}
	}
	for _, e := range p.Replaced {
		p.Tokens += eventTokens(e)
		ok = ok || !isSummary(e) && e.Seq != request
	}
	return p, ok
}

// openAt says for each position of the context whether a call made before it is
// answered at it or later, so that nothing can be cut there. Calls and results
// are paired as the fold pairs them: by id, until the id is used again.
func openAt(surface []session.Event) []bool {
	open := make([]bool, len(surface)+1)
	taken := make([]bool, len(surface))
	for i, e := range surface {
		if e.Type != session.TypeAssistantMessage {
			continue
		}
		m, _ := session.MessageOf(e)
		for _, call := range m.ToolCalls() {
			for j := i + 1; j < len(surface); j++ {
				r := surface[j]
				if r.Type == session.TypeToolResult && !taken[j] && r.Data.GetString("callId") == call.ID {
					taken[j] = true
					for k := i + 1; k <= j; k++ {
						open[k] = true
					}
					break
				}
				if r.Type == session.TypeAssistantMessage && calls(r, call.ID) {
					break
				}
			}
		}
	}
	return open
}

func calls(e session.Event, id string) bool {
	m, _ := session.MessageOf(e)
	for _, c := range m.ToolCalls() {
		if c.ID == id {
			return true
		}
	}
	return false
}

func isSummary(e session.Event) bool {
	return e.Type == session.TypeContextMessage && e.Data.Get("source").GetString("kind") == session.SourceCompaction
}
