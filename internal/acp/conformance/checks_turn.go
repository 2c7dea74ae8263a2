package conformance

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pixel is a PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

var turnChecks = []Check{
	{45, secTurn, "a prompt to an unknown session answers -32002", func(t *T) {
		c, _ := t.open(start{})
		t.wantError(c.wait(c.ask("11111111-2222-4333-8444-555555555555", "x")), "a prompt to an unknown session", -32002)
	}},
	{46, secTurn, "a prompt that is no list, or a sessionId that is a number, answers -32602", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		t.wantError(c.call("session/prompt", map[string]any{"sessionId": s, "prompt": "x"}), "a prompt that is a text", -32602)
		t.wantError(c.call("session/prompt", map[string]any{"sessionId": 7, "prompt": []any{textBlock("x")}}), "a sessionId that is a number", -32602)
		c.turn(s, t.prompt(Hello))
	}},
	{47, secTurn, "a text leads to an update and end_turn", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		c.turn(s, t.prompt(Hello))
		if c.message(s) == "" {
			t.failf("nothing was said")
		}
	}},
	{48, secTurn, "a resource link is accepted, even to a file that is not there", func(t *T) {
		c, _ := t.open(start{})
		s, dir := c.session("")
		t.write(filepath.Join(dir, "a b.txt"), "linked\n")
		for _, uri := range []string{"file://" + dir + "/a%20b.txt", "file://" + dir + "/missing.txt"} {
			f := c.call("session/prompt", promptParams(s, textBlock(t.prompt(Hello)), map[string]any{"type": "resource_link", "uri": uri, "name": "a b.txt"}))
			c.must(f, "a prompt with a link to "+filepath.Base(uri), nil)
		}
	}},
	{49, secTurn, "embedded resources and images are accepted when advertised, else -32602 or taken as text", func(t *T) {
		c, r := t.open(start{})
		caps := r.AgentCapabilities.PromptCapabilities
		s, dir := c.session("")
		text := map[string]any{"type": "resource", "resource": map[string]any{"uri": "file://" + dir + "/a.txt", "text": "embedded", "mimeType": "text/plain"}}
		blob := map[string]any{"type": "resource", "resource": map[string]any{"uri": "file://" + dir + "/a.bin", "blob": "aGVsbG8="}}
		for _, b := range []struct {
			name       string
			advertised bool
			block      map[string]any
		}{
			{"an embedded text", caps.EmbeddedContext, text},
			{"an embedded blob", caps.EmbeddedContext, blob},
			{"an image", caps.Image, map[string]any{"type": "image", "mimeType": "image/png", "data": pixel}},
			{"audio", caps.Audio, map[string]any{"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}},
		} {
			f := c.call("session/prompt", promptParams(s, textBlock(t.prompt(Hello)), b.block))
			if b.advertised {
				c.must(f, "a prompt with "+b.name, nil)
			} else if f.Error != nil && f.Error.Code != -32602 {
				t.failf("%s is not advertised and answers error %d, not -32602", b.name, f.Error.Code)
			}
		}
	}},
	{50, secTurn, "an unknown block answers -32602; an empty prompt does no harm", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		t.wantError(c.call("session/prompt", promptParams(s, map[string]any{"type": "hologram", "data": "x"})), "an unknown block", -32602)
		c.call("session/prompt", map[string]any{"sessionId": s, "prompt": []any{}}) // refused or not: that is the agent's choice
		c.turn(s, t.prompt(Hello))
	}},
	{51, secTurn, "a second prompt while one runs is refused or waits; turns do not interleave", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		first := c.ask(s, t.prompt(Slow))
		c.busy(s)
		second := c.ask(s, t.prompt(Echo, "text", "secondturn"))
		if _, early := c.findWithin(500*time.Millisecond, func(f frame) bool {
			u, id := updateOf(f)
			return id == s && u.Kind == "agent_message_chunk" && strings.Contains(u.text(), "secondturn")
		}); early {
			t.failf("the second prompt is answered in the middle of the first")
		}
		c.notify("session/cancel", map[string]any{"sessionId": s})
		c.wait(first)
		if f := c.wait(second); f.Error != nil && f.Error.Code == -32603 {
			t.failf("the second prompt fails with an internal error: %s", f.Error.Message)
		}
		c.turn(s, t.prompt(Hello))
	}},
	{52, secTurn, "two turns in a row", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		c.turn(s, t.prompt(Hello))
		said := len(c.message(s))
		c.turn(s, t.prompt(Hello))
		if len(c.message(s)) == said {
			t.failf("the second turn said nothing")
		}
	}},
	{53, secTurn, "no content comes after a prompt's answer", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		id := c.ask(s, t.prompt(Hello))
		c.stop(id)
		time.Sleep(400 * time.Millisecond)
		answered := false
		for _, f := range c.all() {
			u, _ := updateOf(f)
			switch {
			case answerTo(id)(f):
				answered = true
			case answered && (strings.HasSuffix(u.Kind, "_chunk") || strings.HasPrefix(u.Kind, "tool_call") || u.Kind == "plan"):
				t.failf("%s came after the answer", u.Kind)
			}
		}
	}},
}

var modelChecks = []Check{
	{54, secTurn, "a failing model is an error with details, -32000 for a refused key, and the session goes on", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		for _, code := range []string{"500", "401"} {
			f := c.wait(c.ask(s, t.prompt(Failing, "code", code)))
			t.wantError(f, "a turn whose model fails with "+code)
			if code == "401" && f.Error.Code != -32000 {
				t.failf("a refused key answers error %d, not -32000", f.Error.Code)
			}
			var data struct{ Details string }
			if json.Unmarshal(f.Error.Data, &data) != nil || data.Details == "" {
				t.failf("the error of a model that fails with %s has no data.details", code)
			}
			c.turn(s, t.prompt(Hello))
		}
	}},
	{55, secTurn, "the token limit is max_tokens, the step limit max_turn_requests, a refusal refusal", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		for _, want := range [][2]string{{"length", "max_tokens"}, {"content_filter", "refusal"}} {
			if reason := c.stop(c.ask(s, t.prompt(Finish, "reason", want[0]))); reason != want[1] {
				t.failf("a model that ends with %q ends the turn with %q, not %s", want[0], reason, want[1])
			}
		}
		if !t.profile.has(Loop) {
			return
		}
		if _, err := t.profile.launch(LaunchRequest{Variant: FewSteps, Home: t.tempDir("try"), ModelURL: t.modelURL()}); err != nil {
			return
		}
		few, _ := t.open(start{variant: FewSteps})
		s, _ = few.session("")
		if reason := few.stop(few.ask(s, t.prompt(Loop))); reason != "max_turn_requests" {
			t.failf("a turn with too many steps ends with %q, not max_turn_requests", reason)
		}
	}},
	{56, secTurn, "messageId is constant within a message and new after a tool", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		slow := c.ask(s, t.prompt(Slow))
		c.find("three parts of a message", func(frame) bool {
			n := 0
			for _, f := range c.frames {
				if u, id := updateOf(f); id == s && u.Kind == "agent_message_chunk" {
					n++
				}
			}
			return n >= 3
		})
		c.notify("session/cancel", map[string]any{"sessionId": s})
		c.wait(slow)
		ids := messageIDs(c.updates(s))
		if len(ids) == 0 {
			t.skipf("the agent sends no messageId")
		}
		if len(ids) != 1 {
			t.failf("one message has the ids %v", ids)
		}
		s, _ = c.session("")
		c.turn(s, t.prompt(Command, "command", "echo one"))
		c.turn(s, t.prompt(Hello))
		if ids := messageIDs(c.updates(s)); len(ids) < 2 {
			t.failf("the messages of two turns share the id %v", ids)
		}
		// Within one id nothing but its own parts may stand.
		last, ended := "", map[string]bool{}
		for _, u := range c.updates(s) {
			switch {
			case u.Kind == "agent_message_chunk" && u.MessageID != nil:
				if ended[*u.MessageID] {
					t.failf("the message %s goes on after a tool", *u.MessageID)
				}
				last = *u.MessageID
			case u.Kind == "tool_call" && last != "":
				ended[last] = true
			}
		}
	}},
	{57, secTurn, "thoughts are agent_thought_chunk", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		c.turn(s, t.prompt(Think, "text", "ponderous"))
		for _, u := range c.updates(s) {
			if u.Kind == "agent_thought_chunk" && strings.Contains(u.text(), "ponderous") {
				return
			}
		}
		t.failf("no agent_thought_chunk shows the thought")
	}},
	{58, secTurn, "usage_update with used at most size, after each step", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		c.turn(s, t.prompt(Hello))
		if n := c.usage(s); n == 0 {
			t.skipf("the agent sends no usage_update")
		}
		if t.profile.has(Command) {
			before := c.usage(s)
			c.turn(s, t.prompt(Command, "command", "echo one"))
			if n := c.usage(s) - before; n < 2 {
				t.failf("a turn of two steps has %d usage_update", n)
			}
		}
	}},
}

func messageIDs(us []update) []string {
	var ids []string
	for _, u := range us {
		if u.Kind == "agent_message_chunk" && u.MessageID != nil && !slices.Contains(ids, *u.MessageID) {
			ids = append(ids, *u.MessageID)
		}
	}
	return ids
}

// usage counts the usage updates, and fails the check over a wrong one.
func (c *client) usage(session string) int {
	n := 0
	for _, u := range c.updates(session) {
		if u.Kind != "usage_update" {
			continue
		}
		n++
		if u.Used == nil || u.Size == nil || *u.Used > *u.Size || *u.Used < 0 {
			c.t.failf("usage_update needs 0 ≤ used ≤ size")
		}
	}
	return n
}
