package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

const intro = "[The earlier part of this conversation was replaced by the summary below, so that there is room to go on. The user saw all of it and need not be told. File contents and command output from that part are gone: read again what you rely on.]"

// maxListed bounds each list that the program adds to a summary.
const maxListed = 60

// Message is what takes the place of the plan's events: the summary, what the
// program itself knows of the work, and the user's latest request word for word
// when that would be lost otherwise. events is the whole log.
func Message(events []session.Event, p Plan, summary string) []content.Block {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n<summary>\n%s\n</summary>", intro, strings.TrimSpace(summary))
	if s := state(events, p); s != "" {
		b.WriteString("\n\nWhat the program noted meanwhile:\n" + s)
	}
	request, added := lastRequest(events, p)
	if len(request) > 0 {
		b.WriteString("\n\nThe user's latest request, word for word; the summary says how far it has got:")
	}
	blocks := append([]content.Block{content.Text(b.String())}, request...)
	if len(added) > 0 {
		blocks = append(append(blocks, content.Text("Added to it since, not by the user but by a program that the user has installed:")), added...)
	}
	return blocks
}

// lastRequest is the newest prompt of the user and what was added to it, as far
// as that is not kept anyway: by the user, and by hooks.
func lastRequest(events []session.Event, p Plan) (said, added []content.Block) {
	at := -1
	for i, e := range slices.Backward(events) {
		if e.Type == session.TypeUserMessage {
			at = i
			break
		}
	}
	if at < 0 {
		return nil, nil
	}
	end := p.boundary()
	for _, e := range events[at:] {
		if e.Seq >= end || e.Type != session.TypeUserMessage && e.Type != session.TypeSteeringMessage {
			continue
		}
		into := &said
		if from := e.Data.Get("source").GetString("kind"); from != "user" && from != "" {
			into = &added
		}
		for _, v := range e.Data.Get("content").Elements() {
			if block, err := content.FromValue(v); err == nil {
				*into = append(*into, block)
			}
		}
	}
	return said, added
}

// works says which argument of a tool is the file that it works on, and whether
// it changes it.
var works = map[string]struct {
	argument string
	changes  bool
}{"read": {"file_path", false}, "write": {"file_path", true}, "edit": {"file_path", true}}

// state tells what the program knows better than any summary: the to-do list,
// the skills that were loaded, the files that were read and changed, and rules
// that the user changed.
func state(events []session.Event, p Plan) string {
	end := p.boundary()
	s := collected{}
	for _, e := range events {
		if e.Seq >= end && e.Type != session.TypeTodoWrite {
			continue
		}
		s.take(e)
	}
	var b strings.Builder
	if s.todos.Len() > 0 {
		b.WriteString("\n- The to-do list:")
		for _, t := range s.todos.Elements() {
			fmt.Fprintf(&b, "\n  - [%s] %s", t.GetString("status"), oneLine(t.GetString("content")))
		}
	}
	list := func(what string, names []string) {
		if len(names) == 0 {
			return
		}
		more := ""
		if len(names) > maxListed {
			more = fmt.Sprintf(" and %d earlier ones", len(names)-maxListed)
			names = names[len(names)-maxListed:]
		}
		fmt.Fprintf(&b, "\n- %s: %s%s", what, strings.Join(names, ", "), more)
	}
	list("Skills whose instructions were loaded (load one again to follow it)", s.skills)
	list("Files that were changed", s.changed)
	list("Files that were only read", slices.DeleteFunc(s.read, func(f string) bool { return slices.Contains(s.changed, f) }))
	if s.approval != "" {
		fmt.Fprintf(&b, "\n- %s", oneLine(s.approval))
	}
	return b.String()
}

// collected is what state found, each list in the order of the last use.
type collected struct {
	todos                 jsonvalue.Value
	skills, read, changed []string
	approval              string
	calls                 map[string]jsonvalue.Value // name and arguments by call id
}

func (c *collected) take(e session.Event) {
	switch e.Type {
	case session.TypeTodoWrite:
		c.todos = e.Data.Get("todos")
	case session.TypeToolCall:
		if c.calls == nil {
			c.calls = map[string]jsonvalue.Value{}
		}
		c.calls[e.Data.GetString("callId")] = e.Data
	case session.TypeToolResult:
		call := c.calls[e.Data.GetString("callId")]
		if failed, _ := e.Data.Get("isError").Bool(); failed || call.IsUndefined() {
			return
		}
		if args, err := jsonvalue.ParseString(call.GetString("arguments")); err == nil {
			c.used(call.GetString("name"), args)
		}
	case session.TypeCodeDispatch:
		if failed, _ := e.Data.Get("isError").Bool(); !failed {
			c.used(e.Data.GetString("name"), e.Data.Get("arguments"))
		}
	case session.TypeContextMessage:
		if e.Data.Get("source").GetString("plugin") == "user-approval" {
			if blocks, err := content.ListFromValue(e.Data.Get("content")); err == nil {
				c.approval = content.JoinText(blocks)
			}
		}
	}
}

// used notes a call that succeeded.
func (c *collected) used(tool string, args jsonvalue.Value) {
	last := func(list *[]string, name string) {
		if name = oneLine(name); name != "" {
			*list = append(slices.DeleteFunc(*list, func(s string) bool { return s == name }), name)
		}
	}
	if tool == "skill" {
		last(&c.skills, args.GetString("name"))
	}
	if w, ok := works[tool]; ok && w.changes {
		last(&c.changed, args.GetString(w.argument))
	} else if ok {
		last(&c.read, args.GetString(w.argument))
	}
}
