package session

import (
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// The codes and names of the results that Repair invents (rule R14.3).
const (
	CodeOutcomeUnknown = "TOOL_OUTCOME_UNKNOWN"
	CodeNotStarted     = "TOOL_NOT_STARTED"
	NameOutcomeUnknown = "ToolOutcomeUnknownError"
	NameNotStarted     = "ToolNotStartedError"
)

// repairTexts say why something has no end in a log.
type repairTexts struct {
	outcomeUnknown string // of a call that was running
	notStarted     string // of a call that was not
	compaction     string
	job            string
}

// crashTexts are for a log whose writer died.
var crashTexts = repairTexts{
	outcomeUnknown: textOutcomeUnknown, notStarted: textNotStarted, compaction: textCompactionCut, job: textJobLost,
}

// copyTexts are for the copy of a log: what was under way may be so still, in the
// session that it was copied from.
var copyTexts = repairTexts{
	outcomeUnknown: "this session was copied from another one while this call was running there, so its outcome is unknown here: it may have taken effect in full, in part or not at all; verify before you retry it",
	notStarted:     "this session was copied from another one before this call was started; it was not run here, but may have been run there since: verify before you retry it",
	compaction:     "the session was copied while the summary was being written; nothing was replaced here",
	job:            "it belongs to the session that this one was copied from",
}

const (
	textOutcomeUnknown = "the program stopped while this call was running, so its outcome is unknown: it may have taken effect in full, in part or not at all; verify before you retry it"
	textNotStarted     = "the program stopped before this call was started, so it had no effect; retry it if it is still needed"
)

// Repair returns what must be appended to a log whose last turn was never
// ended, because its writer died: the end of a compaction that was under way, a
// result for each unanswered call of that turn, then step/end and turn/end
// {kind: interrupted} (rule R14.3). A compaction may also have been under way
// outside of a turn. Repair returns nil for a log that is whole. Append the drafts with one AppendAll and nothing
// in between: their sources count on it. [Log.Kept] is enough: chunks do not count.
//
// A call whose tool/call is in the log may have taken effect, and its result
// says so (TOOL_OUTCOME_UNKNOWN). One that only the assistant message names was
// never started: it gets its tool/call too, so that every result has a card,
// and TOOL_NOT_STARTED.
//
// What still ran in the background is ended too: it died with the program. A
// question about what the workspace brings that nobody answered was answered with
// "not now".
func Repair(events []Event) []Draft { return crashTexts.repair(events) }

// RepairCopy is [Repair] for the copy of a log, whose writer need not have died:
// the texts say that the session was copied.
func RepairCopy(events []Event) []Draft { return copyTexts.repair(events) }

func (why repairTexts) repair(events []Event) []Draft {
	return slices.Concat(why.repairTurn(events), why.repairJobs(events), repairConsents(events))
}

func (why repairTexts) repairTurn(events []Event) []Draft {
	var drafts []Draft
	next := int64(0)
	if len(events) > 0 {
		next = events[len(events)-1].Seq + 1
	}
	add := func(d Draft) {
		drafts = append(drafts, d)
		next++
	}
	if end, open := why.openCompaction(events); open {
		add(end)
	}
	t := openTurn(events)
	if t == nil {
		return drafts
	}
	for _, c := range t.calls {
		if c.answered {
			continue
		}
		seq := c.seq
		text, name, code := why.outcomeUnknown, NameOutcomeUnknown, CodeOutcomeUnknown
		if seq < 0 {
			text, name, code = why.notStarted, NameNotStarted, CodeNotStarted
			seq = next
			add(Draft{Type: TypeToolCall, Data: Data(
				"turn", t.turn, "step", c.step, "callId", text8(c.id), "name", text8(c.name), "arguments", text8(c.arguments))})
		}
		add(Draft{
			Type: TypeToolResult,
			Data: Data(
				"turn", t.turn, "step", c.step, "callId", text8(c.id),
				"content", model.PartsValue([]model.Part{model.Text("Error: " + text)}),
				"isError", true,
				"error", Data("name", name, "code", code)),
			SurfaceOp: Append(),
			Sources:   []int64{seq},
		})
	}
	if t.inStep {
		add(Draft{Type: TypeStepEnd, Data: Data("turn", t.turn, "step", t.step)})
	}
	add(Draft{Type: TypeTurnEnd, Data: Data("turn", t.turn, "reason", Data("kind", EndInterrupted))})
	return drafts
}

const textCompactionCut = "the program stopped while the summary was being written; nothing was replaced"

// openCompaction gives the end of a compaction that has none. It has succeeded
// if its replacement is in the log, whose summary and end are written with it.
func (why repairTexts) openCompaction(events []Event) (end Draft, open bool) {
	for i, e := range slices.Backward(events) {
		switch e.Type {
		case TypeCompactEnd:
			return Draft{}, false
		case TypeCompactStart:
			id := e.Data.GetString("id")
			data := Data("id", text8(id))
			for _, after := range events[i:] {
				src := after.Data.Get("source")
				if after.Type == TypeContextMessage && src.GetString("kind") == SourceCompaction && src.GetString("id") == id {
					return Draft{Type: TypeCompactEnd, Data: data.With("status", jsonvalue.String(CompactCompleted))}, true
				}
			}
			return Draft{Type: TypeCompactEnd, Data: data.With("status", jsonvalue.String(CompactFailed)).
				With("error", Data("message", why.compaction, "code", "INTERRUPTED"))}, true
		}
	}
	return Draft{}, false
}

// text8 keeps the lone surrogates that a model may have put in an id: what
// pairs a result with its call must not change.
func text8(s string) jsonvalue.Value { return jsonvalue.StringWTF8(s) }

// turnState is what is known of the turn that is open at the end of a log.
type turnState struct {
	turn   int64
	step   int64 // the last step
	inStep bool  // whether it is open
	calls  []*callState
}

// callState is one call of the open turn.
type callState struct {
	id, name, arguments string
	step                int64
	seq                 int64 // of its tool/call; -1 when there is none
	answered            bool
}

// openTurn returns the state of the last turn, nil when it was ended or there
// is none.
func openTurn(events []Event) *turnState {
	at := -1
	for i, e := range slices.Backward(events) {
		if e.Type == TypeTurnEnd {
			return nil
		}
		if e.Type == TypeTurnStart {
			at = i
			break
		}
	}
	if at < 0 {
		return nil
	}
	t := &turnState{turn: events[at].Turn()}
	for _, e := range events[at+1:] {
		t.take(e)
	}
	return t
}

func (t *turnState) take(e Event) {
	switch e.Type {
	case TypeStepStart:
		t.step, t.inStep = e.Step(), true
	case TypeStepEnd:
		t.inStep = false
	case TypeAssistantMessage:
		for _, block := range e.Data.Get("content").Elements() {
			if block.GetString("type") == string(model.PartToolCall) {
				t.calls = append(t.calls, &callState{
					id: block.GetString("id"), name: block.GetString("name"), arguments: block.GetString("arguments"),
					step: e.Step(), seq: -1,
				})
			}
		}
	case TypeToolCall:
		if c := t.find(e, func(c *callState) bool { return c.seq < 0 }); c != nil {
			c.seq = e.Seq
			return
		}
		t.calls = append(t.calls, &callState{
			id: e.Data.GetString("callId"), name: e.Data.GetString("name"), arguments: e.Data.GetString("arguments"),
			step: e.Step(), seq: e.Seq,
		})
	case TypeToolResult:
		if c := t.find(e, func(c *callState) bool { return !c.answered }); c != nil {
			c.answered = true
		}
	}
}

// find returns the first call of the event's step and id that is still open in
// the given sense. Ids are matched inside a step only: some models count from
// zero again in each answer.
func (t *turnState) find(e Event, open func(*callState) bool) *callState {
	id, step := e.Data.GetString("callId"), e.Step()
	for _, c := range t.calls {
		if c.id == id && c.step == step && open(c) {
			return c
		}
	}
	return nil
}
