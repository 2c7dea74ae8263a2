package cards

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Event is what the projection reads of a session event.
type Event struct {
	Type string
	Time time.Time
	Data jsonvalue.Value
	// Replacement marks an event that rewrites the model's context (a surfaceOp
	// other than append). Nothing is shown for it.
	Replacement bool
}

// Presenters finds the tool-owned presenters by tool name. Both methods return
// nil when the tool is gone, has no presenter or gives no view. They may panic:
// the projection contains it.
type Presenters interface {
	PresentCall(tool string, args jsonvalue.Value) *Call
	PresentResult(tool string, args jsonvalue.Value, in ResultInput) *Result
}

// Options fix how one session is projected. They are read once, so that a call
// and its result always agree.
type Options struct {
	Cwd            string // the session's working directory, absolute or empty
	TerminalOutput bool   // the editor draws terminals from _meta.terminal_output
	UserMessages   bool   // show user messages too: on load and replay, not live
	// NestedCalls shows every call that a program makes as a card of its own,
	// linked to the program's. Editors that do not know the link would draw a
	// flat list; for them the program's card tells how its calls go.
	NestedCalls bool
	// BlockedPrompts tells of prompts that a hook stopped, in a message. The
	// recorded bridge showed nothing, so it is for editors that take more than it
	// gave.
	BlockedPrompts bool
	// Compactions says that the editor shows compactions as such; others are told
	// of them in the conversation.
	Compactions bool
	Logger      *slog.Logger
}

// Projector turns a session's events, in log order, into what an editor is
// shown. Live streaming and replay use the same one. It keeps what it must
// remember of open calls and does nothing else: no I/O and no clock. It is not
// safe for concurrent use.
type Projector struct {
	presenters Presenters
	opt        Options
	calls      map[string]*openCall
	seen       map[string]int // how often a call id was announced
	turn, step int64
	compacting compacting
	said       int               // messages of the user in the turn
	originals  map[string]string // titles of tools of MCP servers, by name
}

// openCall is an announced call without a result.
type openCall struct {
	name     string
	args     jsonvalue.Value
	card     Card
	announce ToolCall
	hidden   bool      // a nested call that is not shown as a card
	progress *progress // of a call with hidden nested ones
	preview  string    // the live output that is shown below the rest
	parent   string    // the id of the call that made this one; "" for the model's own
	files    []File    // where the whole of a shortened result is
	printed  string    // what a cancelled command had printed
}

// NewProjector starts a projection.
func NewProjector(p Presenters, opt Options) *Projector {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return &Projector{presenters: p, opt: opt, calls: map[string]*openCall{}, seen: map[string]int{}}
}

// Project returns the updates for one event, in the order in which they are to
// be shown. Unknown events give none.
func (p *Projector) Project(ev Event) []Update {
	d := ev.Data
	if id, named := d.Get("callId").Str(); !d.Get("callId").IsUndefined() && (!named || id == "") {
		p.opt.Logger.Warn("an event of a call without a usable id is not shown", "type", ev.Type)
		return nil
	}
	switch ev.Type {
	case "turn/start":
		p.turn, _ = d.Get("turn").Int64()
		p.said = 0
	case "step/start":
		p.turn, _ = d.Get("turn").Int64()
		p.step, _ = d.Get("step").Int64()
	case "assistant/chunk":
		return p.chunk(d.Get("chunk"))
	case "user/message":
		return p.userMessage(d)
	case "prompt/blocked":
		if p.opt.BlockedPrompts {
			return p.userMessage(d)
		}
	case "steering/message":
		if d.Get("source").GetString("kind") == "user" {
			return p.userMessage(d)
		}
	case UsageType:
		return p.usage(d)
	case "command/run":
		return p.command(d)
	case "tool/call":
		return p.call(d)
	case "tool/start":
		if c, open := p.calls[d.GetString("callId")]; open && !c.hidden {
			return []Update{ToolUpdate{ID: c.announce.ID, ParentID: c.announce.ParentID, Status: InProgress}}
		}
	case "tool/code-dispatch-start", "subagent/call":
		return p.nestedCall(d)
	case "tool/code-dispatch", "subagent/result":
		return p.nestedResult(d)
	case "subagent/message":
		return p.nestedMessage(d)
	case "approval/asked":
		return p.reveal(d.GetString("callId"))
	case "tool/result":
		if !ev.Replacement {
			return p.result(d)
		}
	case "mcp/tools":
		return p.remoteTools(d)
	case "mcp/progress":
		return p.remoteProgress(d)
	case "tool/spill":
		if c, open := p.calls[d.GetString("callId")]; open && d.GetString("path") != "" {
			c.files = append(c.files, File{Path: d.GetString("path"), Name: "full result"})
		}
	case "tool/printed":
		if c, open := p.calls[d.GetString("callId")]; open {
			c.printed = d.GetString("output")
		}
	case "job/start":
		return p.jobStart(d)
	case "job/end":
		return p.jobEnd(d)
	case "consent/asked":
		return p.consentAsked(d)
	case "consent/answered":
		return p.consentAnswered(d)
	case "todo/write":
		return []Update{plan(d)}
	case "session/title":
		return []Update{SessionInfo{Title: d.GetString("title"), UpdatedAt: ev.Time}}
	case "compact/start":
		return p.compactStart(d)
	case "compact/chunk":
		return p.compactChunk(d)
	case "compact/summary":
		return p.compactSummary(d)
	case "compact/end":
		return p.compactEnd(d)
	case "llm/retry":
		if ofSummary, _ := d.Get("compaction").Bool(); ofSummary && p.compacting.id != "" {
			return p.compactNote(retryNote(d))
		}
		return p.note("[" + retryNote(d) + "]")
	case "turn/end":
		if r := d.Get("reason"); r.GetString("kind") == "rejected" && p.opt.BlockedPrompts {
			return p.note("[A hook stopped this prompt, and no model has read it: " + r.GetString("reason") + "]")
		}
		if f := d.Get("reason").Get("failure"); !f.IsUndefined() {
			return p.note(fmt.Sprintf("[Model attempt failed; any partial output above is discarded: %s]", f.GetString("message")))
		}
	}
	return nil
}

// Remember takes in what an earlier event says about later ones and shows
// nothing. It is for a projection that begins in the middle of a log, so that it
// shows what one from the beginning would.
func (p *Projector) Remember(ev Event) {
	switch ev.Type {
	case "turn/start", "step/start", "mcp/tools":
		p.Project(ev)
	}
}

// Finish closes what a log left open: calls without a result, and a compaction
// without an end, are shown failed.
// It is for logs that end mid-call and are shown without being repaired.
func (p *Projector) Finish() []Update {
	var out []Update
	for _, id := range slices.Sorted(maps.Keys(p.calls)) {
		if c := p.calls[id]; !c.hidden {
			out = append(out, c.broken("The recording ends before this call has a result."))
		}
	}
	clear(p.calls)
	if id := p.compacting.id; id != "" {
		out = append(out, p.compactEnd(jsonvalue.Object(
			jsonvalue.Member{Key: "id", Value: jsonvalue.String(id)},
			jsonvalue.Member{Key: "error", Value: jsonvalue.Object(jsonvalue.Member{Key: "message", Value: jsonvalue.String("the recording ends before it was done")})},
		))...)
	}
	return out
}

// Announced returns the announcement of an open call, so that a permission
// request can repeat it.
func (p *Projector) Announced(callID string) (ToolCall, bool) {
	c, ok := p.calls[callID]
	if !ok || c.hidden {
		return ToolCall{}, false
	}
	return c.announce, true
}

func (p *Projector) chunk(c jsonvalue.Value) []Update {
	var role Role
	switch c.GetString("type") {
	case "text-delta":
		role = RoleAgent
	case "reasoning-delta":
		role = RoleThought
	default:
		return nil
	}
	text := c.GetString("text")
	if text == "" {
		return nil
	}
	return []Update{Message{Role: role, Block: content.Text(text), ID: p.messageID(role)}}
}

// messageID names the message that a chunk belongs to: constant within a step,
// new after a round of tools.
func (p *Projector) messageID(r Role) string {
	id := "turn-" + strconv.FormatInt(p.turn, 10) + "-step-" + strconv.FormatInt(p.step, 10)
	if r == RoleThought {
		id += "-thought"
	}
	return id
}

func (p *Projector) note(text string) []Update {
	return []Update{Message{Role: RoleAgent, Block: content.Text("\n\n" + text + "\n\n"), ID: p.messageID(RoleAgent)}}
}

func retryNote(d jsonvalue.Value) string {
	n, _ := d.Get("attempt").Int64()
	of, _ := d.Get("maxAttempts").Int64()
	ms, _ := d.Get("delayMs").Int64()
	return fmt.Sprintf("Previous model attempt discarded; retrying %d/%d in %dms: %s", n, of, ms, d.Get("failure").GetString("message"))
}

func (p *Projector) userMessage(d jsonvalue.Value) []Update {
	p.said++
	id := "turn-" + strconv.FormatInt(p.turn, 10) + "-user"
	if p.said > 1 {
		id += "-" + strconv.Itoa(p.said)
	}
	if !p.opt.UserMessages {
		return nil
	}
	shown := d.Get("content")
	// A prompt into which context was baked shows only what the user typed.
	if display := d.Get("envelope").Get("displayContent"); display.IsArray() {
		shown = display
	}
	var out []Update
	for _, v := range shown.Elements() {
		if b, err := content.FromValue(v); err == nil {
			out = append(out, Message{Role: RoleUser, Block: b, ID: id})
		}
	}
	return out
}

func plan(d jsonvalue.Value) Plan {
	entries := []PlanEntry{}
	for _, t := range d.Get("todos").Elements() {
		entries = append(entries, PlanEntry{Content: t.GetString("content"), Priority: "medium", Status: t.GetString("status")})
	}
	return Plan{Entries: entries}
}

// parseArguments reads a call's argument text the way the pipeline does: empty
// is an empty object, what is no JSON stays text (rule R5.1).
func parseArguments(raw string) jsonvalue.Value {
	if raw == "" {
		return jsonvalue.Object()
	}
	v, err := jsonvalue.Parse([]byte(raw))
	if err != nil {
		return jsonvalue.String(raw)
	}
	return v
}

// contained runs a presenter and turns a panic into "no view": display must
// never break a session or a replay.
func contained[T any](p *Projector, tool, which string, f func() *T) (view *T) {
	defer func() {
		if r := recover(); r != nil {
			p.opt.Logger.Warn("presenter panicked, using the generic card", "tool", tool, "presenter", which, "panic", fmt.Sprint(r))
			view = nil
		}
	}()
	return f()
}
