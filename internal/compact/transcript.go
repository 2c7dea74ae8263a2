package compact

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// limits bound the pieces of a transcript, in bytes. What people said is cut
// last and least.
type limits struct{ said, answered, args, result int }

// steps of limits, from the first to the least that is tried before messages are
// left out.
var steps = []limits{
	{64 << 10, 32 << 10, 4 << 10, 12 << 10},
	{32 << 10, 16 << 10, 2 << 10, 4 << 10},
	{16 << 10, 8 << 10, 1 << 10, 1500},
	{8 << 10, 4 << 10, 400, 500},
	{4 << 10, 1500, 200, 200},
}

// transcript writes events as plain text in at most room tokens. Long pieces
// lose their middle first; if that is not enough, messages between the first
// ones and the last ones are left out.
func transcript(events []session.Event, room int64) string {
	var entries []string
	for _, l := range steps {
		entries = entries[:0]
		total := int64(0)
		for _, e := range events {
			if s := l.entry(e); s != "" {
				entries = append(entries, s)
				total += Tokens(s)
			}
		}
		if total <= room {
			return strings.Join(entries, "")
		}
	}
	return squeeze(entries, room)
}

// squeeze keeps a quarter of the room for the beginning, where the task is, and
// the rest for the end.
func squeeze(entries []string, room int64) string {
	head, used := 0, int64(0)
	for head < len(entries) && used+Tokens(entries[head]) <= room/4 {
		used += Tokens(entries[head])
		head++
	}
	tail := len(entries)
	for tail > head && used+Tokens(entries[tail-1]) <= room {
		used += Tokens(entries[tail-1])
		tail--
	}
	if tail == len(entries) && len(entries) > 0 {
		// Not even the last one fits: its beginning and end are better than nothing.
		tail--
		entries[tail] = shorten(entries[tail], int(max(room*2, 400))) + "\n"
	}
	left := ""
	if tail > head {
		left = fmt.Sprintf("[%d messages are left out here for lack of space.]\n\n", tail-head)
	}
	return strings.Join(entries[:head], "") + left + strings.Join(entries[tail:], "")
}

func (l limits) entry(e session.Event) string {
	m, ok := session.MessageOf(e)
	if !ok {
		return ""
	}
	var b strings.Builder
	switch m.Role {
	case model.RoleUser:
		title := "The user"
		switch {
		case isSummary(e):
			title = "Summary of what came before"
		case m.Origin == model.OriginSteering:
			title = "Added while the agent worked"
		case m.Origin == model.OriginContext:
			title = "Note by the program"
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", title, shorten(text(m), l.said))
	case model.RoleTool:
		title := "Result"
		if m.IsError {
			title = "Result (failed)"
		}
		fmt.Fprintf(&b, "## %s of %s\n\n%s\n\n", title, oneLine(m.ToolCallID), shorten(text(m), l.result))
	default:
		b.WriteString("## The agent\n\n")
		if s := text(m); s != "" {
			fmt.Fprintf(&b, "%s\n\n", shorten(s, l.answered))
		}
		for _, c := range m.ToolCalls() {
			fmt.Fprintf(&b, "[call %s] %s %s\n\n", oneLine(c.ID), oneLine(c.Name), shorten(c.Arguments, l.args))
		}
	}
	// A transcript that a message seems to end would let it speak to the model.
	return strings.ReplaceAll(b.String(), "</transcript", "<\u200b/transcript")
}

// text is what a message says, with images named. Thoughts are left out: what
// came of them is in the answers and calls.
func text(m model.Message) string {
	var parts []string
	for _, p := range m.Content {
		switch p.Type {
		case model.PartText:
			parts = append(parts, p.Text)
		case model.PartImage:
			parts = append(parts, "[an image]")
		}
	}
	return strings.Join(parts, "\n")
}

// shorten cuts the middle out of a text that is longer than limit bytes.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := limit*2/3, limit/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	from := len(s) - tail
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:head], from-head, s[from:])
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
