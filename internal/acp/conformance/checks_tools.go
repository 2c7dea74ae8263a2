package conformance

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// answering handles every permission request alike and keeps the requests.
func answeringAlike(outcome func(frame) any, keep *[]frame) map[string]handler {
	return map[string]handler{"session/request_permission": func(c *client, f frame) (any, *rpcError, bool) {
		c.mu.Lock()
		*keep = append(*keep, f)
		c.mu.Unlock()
		if outcome == nil {
			return nil, &rpcError{Code: -32601, Message: "Method not found"}, true
		}
		return outcome(f), nil, true
	}}
}

// someTools runs whatever tools the profile knows and gives all updates and the
// session's folder.
func (t *T) someTools(c *client) ([]update, string) {
	s, dir := c.session("")
	t.write(filepath.Join(dir, "old.txt"), "one\ntwo\nthree\n")
	ran := false
	for _, p := range []Purpose{Command, Read, Write, Edit} {
		if !t.profile.has(p) {
			continue
		}
		ran = true
		path := filepath.Join(dir, "old.txt")
		if p == Write {
			path = filepath.Join(dir, "new.txt")
		}
		c.turn(s, t.prompt(p, "command", "echo hello", "path", path, "content", "fresh\n", "old", "two", "new", "2"))
	}
	if !ran {
		t.skipf("needs to make the agent act: no prompt for %q, %q, %q or %q (see --prompt)", Command, Read, Write, Edit)
	}
	us := c.updates(s)
	if len(calls(us)) == 0 {
		t.failf("no tool call was shown")
	}
	return us, dir
}

var toolChecks = []Check{
	{67, secTools, "a call is announced by tool_call, with a unique id and a title", func(t *T) {
		c, _ := t.open(start{})
		us, _ := t.someTools(c)
		known := map[string]bool{}
		for _, u := range us {
			switch {
			case !strings.HasPrefix(u.Kind, "tool_call"):
			case u.ToolCallID == nil || *u.ToolCallID == "":
				t.failf("%s has no toolCallId", u.Kind)
			case u.Kind == "tool_call_update" && !known[*u.ToolCallID]:
				t.failf("the call %s was updated before it was announced", *u.ToolCallID)
			case u.Kind == "tool_call" && known[*u.ToolCallID]:
				t.failf("the call %s was announced twice", *u.ToolCallID)
			case u.Kind == "tool_call" && (u.Title == nil || strings.TrimSpace(*u.Title) == ""):
				t.failf("the call %s has no title", *u.ToolCallID)
			default:
				known[*u.ToolCallID] = true
			}
		}
	}},
	{68, secTools, "at the turn's end every call is completed or failed", func(t *T) {
		c, _ := t.open(start{})
		us, _ := t.someTools(c)
		for _, call := range calls(us) {
			if s := call.status(); s != "completed" && s != "failed" {
				t.failf("the call %q is left %s", call.title, s)
			}
		}
	}},
	{69, secTools, "pending, in_progress, completed, in that order; a rejected call ends failed", func(t *T) {
		c, _ := t.open(start{})
		us, _ := t.someTools(c)
		order := []string{"pending", "in_progress", "completed", "failed"}
		for _, call := range calls(us) {
			last := -1
			for _, s := range call.statuses {
				at := slices.Index(order, s)
				if at < last || last >= 2 {
					t.failf("the call %q went through %v", call.title, call.statuses)
				}
				last = at
			}
		}
		var asked []frame
		c, _ = t.open(start{handle: answeringAlike(choose("reject_once"), &asked)})
		s, dir := c.session("")
		c.wait(c.ask(s, t.guarded(dir)))
		if len(asked) == 0 {
			return
		}
		t.notDone(dir, "a no")
		for _, call := range calls(c.updates(s)) {
			if call.status() == "failed" {
				return
			}
		}
		t.failf("the rejected call did not end failed: %v", calls(c.updates(s)))
	}},
	{70, secTools, "a diff has an absolute path, no old text for a new file, and what really changed", func(t *T) {
		c, _ := t.open(start{})
		s, dir := c.session("")
		fresh, old := filepath.Join(dir, "new.txt"), filepath.Join(dir, "old.txt")
		t.write(old, "one\ntwo\nthree\n")
		c.turn(s, t.prompt(Write, "path", fresh, "content", "fresh\n"))
		created := t.diffOf(c, s, fresh)
		if created.OldText != nil && *created.OldText != "" || created.NewText != "fresh\n" && created.NewText != "fresh" {
			t.failf("the diff of a new file shows %v → %q", created.OldText, created.NewText)
		}
		if !t.profile.has(Edit) {
			return
		}
		c.turn(s, t.prompt(Edit, "path", old, "old", "two", "new", "2"))
		changed := t.diffOf(c, s, old)
		if changed.OldText == nil || !strings.Contains(*changed.OldText, "two") || !strings.Contains(changed.NewText, "2") || strings.Contains(changed.NewText, "two") {
			t.failf("the diff of an edit shows %v → %q", changed.OldText, changed.NewText)
		}
	}},
	{71, secTools, "locations are absolute, lines counted from 1", func(t *T) {
		c, _ := t.open(start{})
		us, _ := t.someTools(c)
		n := 0
		for _, call := range calls(us) {
			for _, p := range call.paths {
				n++
				if !filepath.IsAbs(p) {
					t.failf("the location %q is not absolute", p)
				}
			}
			for _, l := range call.lines {
				if l < 1 {
					t.failf("a location has the line %d", l)
				}
			}
		}
		if n == 0 {
			t.skipf("no call had a location")
		}
	}},
	{72, secTools, "a permission request has options of distinct ids and kinds, and shows the call: title, kind, input, diff", func(t *T) {
		var asked []frame
		c, _ := t.open(start{handle: answeringAlike(choose("allow_once"), &asked)})
		s, dir := c.session("")
		c.turn(s, t.guarded(dir))
		if len(asked) == 0 {
			t.skipf("the agent did not ask for permission")
		}
		for _, f := range asked {
			t.checkQuestion(f, t.profile.has(Write))
		}
	}},
	{73, secTools, "an outcome cancelled, or an option that was not offered, executes nothing", func(t *T) {
		for name, outcome := range map[string]func(frame) any{
			"cancelled":         func(frame) any { return cancelledOutcome() },
			"an unknown option": func(frame) any { return selected("conformance-unknown") },
		} {
			var asked []frame
			c, _ := t.open(start{handle: answeringAlike(outcome, &asked)})
			s, dir := c.session("")
			f := c.wait(c.ask(s, t.guarded(dir)))
			if len(asked) == 0 {
				t.skipf("the agent did not ask for permission")
			}
			t.notDone(dir, "the outcome "+name)
			if f.Error != nil && name == "cancelled" {
				t.failf("a dismissed question fails the turn: %s", f.Error.Message)
			}
		}
	}},
	{74, secTools, "always allowed means not asked again for the same, and no more than the label says", func(t *T) {
		var asked []frame
		c, _ := t.open(start{handle: answeringAlike(choose("allow_always"), &asked)})
		s, dir := c.session("")
		prompt := t.guarded(dir)
		c.turn(s, prompt)
		if len(asked) == 0 {
			t.skipf("the agent did not ask for permission")
		}
		if !offers(asked[0], "allow_always") {
			t.skipf("the agent offers no allow_always")
		}
		count := func() int { c.mu.Lock(); defer c.mu.Unlock(); return len(asked) }
		before := count()
		s2prompt := prompt
		if t.profile.has(Write) { // writing anew what is there may need a look first
			if t.profile.has(Read) {
				c.turn(s, t.prompt(Read, "path", filepath.Join(dir, "guarded.txt")))
			}
		}
		c.turn(s, s2prompt)
		if count() != before {
			t.failf("the same call was asked about again")
		}
		if strings.Contains(strings.ToLower(label(asked[0], "allow_always")), "session") {
			other, dir := c.session("")
			c.turn(other, t.guarded(dir))
			if count() == before {
				t.failf("the label says %q, but another session is not asked either", label(asked[0], "allow_always"))
			}
		}
	}},
	{75, secTools, "a client that cannot ask executes nothing", func(t *T) {
		var asked []frame
		c, _ := t.open(start{handle: answeringAlike(nil, &asked)})
		s, dir := c.session("")
		c.wait(c.ask(s, t.guarded(dir)))
		if len(asked) == 0 {
			t.skipf("the agent did not ask for permission")
		}
		t.notDone(dir, "an error as the answer")
	}},
}

type permissionParams struct {
	SessionID string
	ToolCall  struct {
		ToolCallID, Title, Kind string
		RawInput, Content       json.RawMessage
	}
	Options []struct{ OptionID, Name, Kind string }
}

func permissionOf(f frame) (p permissionParams) {
	_ = json.Unmarshal(f.Params, &p) // what is wrong with it the schema says
	return p
}

func offers(f frame, kind string) bool { return label(f, kind) != "" }

func label(f frame, kind string) string {
	for _, o := range permissionOf(f).Options {
		if o.Kind == kind {
			return o.Name
		}
	}
	return ""
}

func (t *T) checkQuestion(f frame, wantDiff bool) {
	p := permissionOf(f)
	ids, kinds := map[string]bool{}, map[string]bool{}
	for _, o := range p.Options {
		if ids[o.OptionID] || kinds[o.Kind] {
			t.failf("two options share the id %q or the kind %q", o.OptionID, o.Kind)
		}
		ids[o.OptionID], kinds[o.Kind] = true, true
	}
	switch {
	case len(p.Options) == 0:
		t.failf("no options are offered")
	case !kinds["allow_once"]:
		t.failf("allow_once is not offered, which automatic approval chooses")
	case p.ToolCall.Title == "" || p.ToolCall.Kind == "":
		t.failf("the question does not repeat the call's title and kind")
	case !present(p.ToolCall.RawInput):
		t.failf("the question does not repeat the call's rawInput")
	case wantDiff && len(diffs(p.ToolCall.Content)) == 0:
		t.failf("the question about a file does not show the diff in its content")
	}
}

// diffOf gives the last diff that was shown of a file.
func (t *T) diffOf(c *client, session, path string) diff {
	var found *diff
	for _, call := range calls(c.updates(session)) {
		for _, d := range diffs(call.content) {
			if !filepath.IsAbs(d.Path) {
				t.failf("the diff's path %q is not absolute", d.Path)
			}
			if d.Path == path {
				found = &d
			}
		}
	}
	if found == nil {
		t.failf("no diff of %s was shown", filepath.Base(path))
	}
	return *found
}
