package delegate

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// The events by which the log of a session tells of its subagents. They are this
// program's own addition to the recorded vocabulary and never part of what a
// model reads. Ids of a subagent's calls have the id of the call that it works
// for before them.
const (
	TypeStart   = "subagent/start"   // callId, sessionId, depth, fork, description, provider, model
	TypeCall    = "subagent/call"    // parentCallId, subCallId, name, arguments
	TypeResult  = "subagent/result"  // parentCallId, subCallId, name, isError, content (clipped), meta?
	TypeMessage = "subagent/message" // parentCallId, text (clipped): said between calls
	TypeEnd     = "subagent/end"     // callId, sessionId, outcome, steps, calls, usage
)

// Events of other packages that are told under their own names, and those that
// a subagent's programs write.
const (
	typeDispatchStart = "tool/code-dispatch-start"
	typeDispatch      = session.TypeCodeDispatch
)

const (
	// maxTold is how many calls of one subagent are told one by one. A program
	// can make thousands; of the later ones only those appear that a person is
	// asked about.
	maxTold = 400
	// maxShown bounds the content of a told result, maxMeta what its card needs,
	// in bytes. The whole is in the subagent's own log.
	maxShown = 4 << 10
	maxMeta  = 64 << 10
)

// relay tells the parent's log what happens in a subagent's. It is a subscriber
// of that log.
type relay struct {
	emit   func(eventType string, data jsonvalue.Value) error
	callID string
	card   func(callID string) string
	failed func(error) // the parent's log cannot be written

	mu     sync.Mutex
	told   int
	open   map[string]jsonvalue.Value // calls that were not told, by their id in the parent's log
	shown  map[string]bool            // calls that were told and have not ended
	counts counts
}

// counts are what a subagent took.
type counts struct {
	steps, calls int64
	usage        map[string]int64
}

func (r *relay) event(ev session.Event) {
	d := ev.Data
	switch ev.Type {
	case session.TypeToolCall:
		r.mu.Lock()
		r.counts.calls++
		r.mu.Unlock()
		args, err := pipeline.ParseArguments(d.GetString("arguments"))
		if err != nil {
			args = jsonvalue.String(d.GetString("arguments"))
		}
		r.call(r.callID, r.card(d.GetString("callId")), d.GetString("name"), args)
	case typeDispatchStart, TypeCall:
		r.call(r.card(d.GetString("parentCallId")), r.card(d.GetString("subCallId")), d.GetString("name"), d.Get("arguments"))
	case session.TypeToolResult:
		if op, plain := ev.SurfaceOp.Str(); plain && op == "append" {
			r.result(r.callID, r.card(d.GetString("callId")), d)
		}
	case typeDispatch, TypeResult:
		r.result(r.card(d.GetString("parentCallId")), r.card(d.GetString("subCallId")), d)
	case agent.TypeToolStart:
		if id := r.card(d.GetString("callId")); r.isShown(id) {
			r.tell(ev.Type, session.Data("callId", id))
		}
	case session.TypeApprovalAsked:
		id := r.card(d.GetString("callId"))
		r.reveal(id)
		r.tell(ev.Type, d.With("callId", jsonvalue.String(id)))
	case session.TypeApprovalDecided:
		r.tell(ev.Type, d)
	case session.TypeAssistantMessage:
		r.said(d)
	case TypeMessage:
		r.tell(ev.Type, d.With("parentCallId", jsonvalue.String(r.card(d.GetString("parentCallId")))))
	}
}

func (r *relay) tell(eventType string, data jsonvalue.Value) {
	if err := r.emit(eventType, data); err != nil {
		r.failed(err)
	}
}

func (r *relay) isShown(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shown[id]
}

func (r *relay) call(parent, id, name string, args jsonvalue.Value) {
	data := session.Data("parentCallId", parent, "subCallId", id, "name", name, "arguments", args)
	r.mu.Lock()
	many := r.told >= maxTold
	if many {
		r.open[id] = data
	} else {
		r.told++
		r.shown[id] = true
	}
	r.mu.Unlock()
	if !many {
		r.tell(TypeCall, data)
	}
}

// reveal tells a call after all, because a person is asked about it.
func (r *relay) reveal(id string) {
	r.mu.Lock()
	data, silent := r.open[id]
	if silent {
		delete(r.open, id)
		r.shown[id] = true
	}
	r.mu.Unlock()
	if silent {
		r.tell(TypeCall, data)
	}
}

func (r *relay) result(parent, id string, d jsonvalue.Value) {
	r.mu.Lock()
	told := r.shown[id]
	delete(r.shown, id)
	delete(r.open, id)
	r.mu.Unlock()
	if !told {
		return
	}
	isError, _ := d.Get("isError").Bool()
	data := session.Data("parentCallId", parent, "subCallId", id, "name", d.GetString("name"),
		"isError", isError, "content", clipped(d.Get("content")))
	if meta := d.Get("meta"); !meta.IsUndefined() && len(meta.JSON()) <= maxMeta {
		data = data.With("meta", meta)
	}
	r.tell(TypeResult, data)
}

// said tells what the subagent said, when more is to come: its last message is
// the result.
func (r *relay) said(d jsonvalue.Value) {
	var text strings.Builder
	more := false
	for _, part := range d.Get("content").Elements() {
		switch part.GetString("type") {
		case "text":
			text.WriteString(part.GetString("text"))
		case "tool-call":
			more = true
		}
	}
	r.mu.Lock()
	r.counts.steps++
	r.counts.add(d.Get("usage"))
	r.mu.Unlock()
	if t := strings.TrimSpace(text.String()); more && t != "" {
		r.tell(TypeMessage, session.Data("parentCallId", r.callID, "text", clip(t, maxShown)))
	}
}

func (c *counts) add(usage jsonvalue.Value) {
	for key, v := range usage.Members() {
		if n, ok := v.Int64(); ok {
			if c.usage == nil {
				c.usage = map[string]int64{}
			}
			c.usage[key] += n
		}
	}
}

// clipped keeps the texts of a result, up to a bound, and names what else there is.
func clipped(blocks jsonvalue.Value) jsonvalue.Value {
	list, err := content.ListFromValue(blocks)
	if err != nil {
		return jsonvalue.Array()
	}
	left := maxShown
	var out []content.Block
	for _, b := range list {
		text, ok := b.Text()
		if !ok {
			text = "[" + b.Type() + "]"
		}
		if left <= 0 {
			break
		}
		text = clip(text, left)
		left -= len(text)
		out = append(out, content.Text(text))
	}
	return content.ToValue(out)
}

// clip cuts a text to a number of bytes, at a character, and says so.
func clip(s string, limit int) string {
	const mark = "\n…"
	if len(s) <= limit {
		return s
	}
	n := max(limit-len(mark), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
