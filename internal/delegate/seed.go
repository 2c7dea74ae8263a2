package delegate

import (
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// endForked is the kind of the turn's end that a fork writes behind what it
// inherited, where that was the beginning of a turn.
const endForked = "forked"

// seed is what a fork inherits: the parent's events up to the step that has the
// call, as they are. closing ends the turn that the last of them belong to.
// Before a step all calls have their results, so the conversation is whole.
func seed(events []session.Event) (inherited, closing []session.Draft) {
	cut := 0
	open := int64(0)
	for i, ev := range events {
		switch ev.Type {
		case session.TypeStepStart:
			cut = i
		case session.TypeTurnStart:
			open = ev.Turn()
		case session.TypeTurnEnd:
			open = 0
		}
	}
	for _, ev := range events[:cut] {
		inherited = append(inherited, session.Draft{
			Type: ev.Type, Data: ev.Data, SurfaceOp: ev.SurfaceOp, Sources: ev.SourceEventSeqs, Time: ev.Time,
		})
	}
	if open > 0 {
		closing = []session.Draft{{Type: session.TypeTurnEnd, Data: session.Data("turn", open, "reason", session.Data("kind", endForked))}}
	}
	return inherited, closing
}
