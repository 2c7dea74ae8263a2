package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// item is one thing that an editor shows of a session, in its last state: a
// message with all its pieces, a card, a plan, a mode, a title.
type item struct {
	kind, id string
	text     string // of a message, and of a card's terminal
	card     update
	raw      string // everything else, as it was sent
}

// scene folds a session's updates to what an editor shows in the end. What a
// preview showed is gone when its card ends; so it is here. Usage is what
// the meter shows, of which only the last counts.
func (c *client) scene(session string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var items []*item
	var usage string
	find := func(kind, id string) *item {
		for i := len(items) - 1; i >= 0; i-- {
			if items[i].kind == kind && items[i].id == id {
				return items[i]
			}
		}
		it := &item{kind: kind, id: id}
		items = append(items, it)
		return it
	}
	for _, f := range c.frames {
		u, id := updateOf(f)
		if id != session {
			continue
		}
		var full struct {
			Update map[string]json.RawMessage
		}
		_ = json.Unmarshal(f.Params, &full)
		switch u.SessionUpdate {
		case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update":
			// Not of the past: the answer to session/load says what is in force.
		case "agent_message_chunk", "agent_thought_chunk":
			var block struct{ Text string }
			_ = json.Unmarshal(u.Content, &block)
			it := find(u.SessionUpdate, string(full.Update["messageId"]))
			it.text += block.Text
		case "tool_call", "tool_call_update":
			it := find("card", u.ToolCallID)
			for key, v := range full.Update {
				switch key {
				case "title":
					it.card.Title = string(v)
				case "kind":
					it.card.Kind = string(v)
				case "status":
					it.card.Status = string(v)
				case "content":
					it.card.Content = v
				case "rawInput":
					it.card.RawInput = v
				case "rawOutput":
					it.card.RawOutput = v
				case "locations":
					it.raw = string(v)
				}
			}
			if u.Meta != nil {
				var meta map[string]json.RawMessage
				_ = json.Unmarshal(u.Meta, &meta)
				var out struct{ Data string }
				if json.Unmarshal(meta["terminal_output"], &out) == nil {
					it.text += out.Data
				}
				delete(meta, "terminal_output")
				for k, v := range meta {
					if entry := k + "=" + string(v); !strings.Contains(string(it.card.Meta), entry) {
						it.card.Meta = append(it.card.Meta, entry+"\n"...)
					}
				}
			}
		case "usage_update":
			usage = string(f.Params)
		case "session_info_update":
			// When a session was written to last is not part of its picture.
			items = append(items, &item{kind: u.SessionUpdate, raw: string(full.Update["title"])})
		default:
			items = append(items, &item{kind: u.SessionUpdate, raw: string(f.Params)})
		}
	}
	var out []string
	for _, it := range items {
		// A terminal cannot take back what it showed of a command that was then
		// cut short, which is not in the log.
		if i := strings.Index(it.text, "Error: "); it.card.Status == `"failed"` && i > 0 {
			it.text = it.text[i:]
		}
		lines := strings.Split(string(it.card.Meta), "\n")
		slices.Sort(lines)
		out = append(out, fmt.Sprintf("%s %s\n  text %q\n  title %s kind %s status %s\n  content %s\n  in %s\n  out %s\n  at %s\n  meta %s", it.kind, it.id, it.text,
			it.card.Title, it.card.Kind, it.card.Status, it.card.Content, it.card.RawInput, it.card.RawOutput, it.raw, strings.Join(lines, " ")))
	}
	return append(out, usage)
}

// prompts that a session may be asked, each of which shows something of its own.
// A command writes to one stream only: a terminal shows two as they come, and a
// replay one after the other.
func somePrompt(t *rapid.T) string {
	call := func(name string, args map[string]any) string { return tool(name, args) }
	one := func() string {
		switch rapid.IntRange(0, 17).Draw(t, "what") {
		case 0:
			return call("read", map[string]any{"file_path": "a.txt"})
		case 1:
			return call("read", map[string]any{"file_path": "none.txt", "limit": 3})
		case 2:
			return call("edit", map[string]any{"file_path": "a.txt", "old_string": "alpha", "new_string": "alpha\nomega"})
		case 3:
			return call("write", map[string]any{"file_path": fmt.Sprintf("new%d.txt", rapid.IntRange(0, 3).Draw(t, "file")), "content": "one\ntwo\n"})
		case 4:
			return call("bash", map[string]any{"command": "echo é; sleep 0.06; echo '```'; exit 3", "description": "Say"})
		case 5:
			return call("bash", map[string]any{"command": "true", "description": "Nothing"})
		case 6:
			return call("bash", map[string]any{"command": "seq 3000; sleep 0.05", "description": "Count"})
		case 7:
			return call("todo_write", map[string]any{"todos": []any{map[string]any{"content": "x", "status": "pending"}, map[string]any{"content": "y", "status": "in_progress"}}})
		case 8:
			return call("grep", map[string]any{"pattern": "alp.a"})
		case 9:
			return call("glob", map[string]any{"pattern": "**/*.txt"})
		case 10:
			return call("nothing_like_it", map[string]any{"x": 1})
		case 11:
			return call("read", map[string]any{"limit": "many"})
		case 12:
			return call("run_code", map[string]any{"description": "Look around", "code": `
const [a, b] = await Promise.all([tools.read({ file_path: "a.txt" }), tools.bash({ command: "echo in; sleep 0.05; echo out", description: "Inside" })]);
console.log(a.lines.length, b.stdout.text);
try { await tools.read({ file_path: "none.txt" }) } catch (e) { console.log("caught") }
return { a: 1 };`})
		case 13:
			return call("run_code", map[string]any{"code": `await tools.todo_write({ todos: [{ content: "z", status: "completed" }] }); throw new Error("no")`})
		case 14:
			return call("subagent", map[string]any{"description": "Look", "prompt": call("read", map[string]any{"file_path": "a.txt"}) + "\n/then\n/say seen"})
		case 15:
			return "/think hmm é"
		case 16:
			return "/say well\n\n# so"
		default:
			return "/slow 1"
		}
	}
	switch rapid.IntRange(0, 9).Draw(t, "prompt") {
	case 0:
		return "/plan"
	case 1:
		return "/plan off"
	case 2:
		return "/fail on purpose"
	}
	lines := make([]string, rapid.IntRange(1, 3).Draw(t, "calls"))
	for i := range lines {
		lines[i] = one()
	}
	return strings.Join(lines, "\n")
}

// TestALoadedSessionIsWhatItWas plays arbitrary turns, some of them cancelled and
// with questions that are refused, and loads the session in another process: it
// must show the same, card by card.
func TestALoadedSessionIsWhatItWas(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many turns")
	}
	// A check takes a third of a second: the usual hundred are for -rapid.checks.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", checks.DefValue) }()
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir, cwd := t.TempDir(), t.TempDir()
		write(t, filepath.Join(cwd, "a.txt"), "alpha\nbeta\n")
		preset := rapid.SampledFrom([]string{"danger-full-access", "workspace-write", "read-only"}).Draw(rt, "preset")
		config := fmt.Sprintf("model: {provider: local}\ntools: {mode: both}\npermissions: {preset: %s}\nsessions: {dir: %q}\n", preset, dir)
		caps := rapid.SampledFrom([]map[string]any{{}, terminals, {"_meta": map[string]any{"nested_tool_calls": true}}}).Draw(rt, "capabilities")
		c := start(t, setup{config: config, cwd: cwd})
		answers := rapid.SliceOfN(rapid.SampledFrom([]string{"allow_once", "allow_always", "reject_once", "cancelled"}), 1, 4).Draw(rt, "answers")
		asked := 0
		c.permit = func(json.RawMessage) string { asked++; return answers[asked%len(answers)] }
		s := c.open(caps)
		for range rapid.IntRange(1, 4).Draw(rt, "turns") {
			turn := c.request("session/prompt", textPrompt(s, somePrompt(rt)))
			if rapid.IntRange(0, 3).Draw(rt, "cancel") == 0 {
				time.Sleep(time.Duration(rapid.IntRange(0, 120).Draw(rt, "after")) * time.Millisecond)
				c.notify("session/cancel", map[string]any{"sessionId": s})
			}
			c.reply(turn)
		}
		live := c.scene(s)
		c.closeInput()
		again := start(t, setup{config: config, cwd: cwd})
		again.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps})
		if f := again.load(s); f.Error != nil {
			rt.Fatalf("%+v", f.Error)
		}
		loaded := again.scene(s)
		for i := range max(len(live), len(loaded)) {
			switch {
			case i >= len(live):
				rt.Fatalf("only in the loaded session: %s", loaded[i])
			case i >= len(loaded):
				rt.Fatalf("only in the live session: %s", live[i])
			case live[i] != loaded[i]:
				rt.Fatalf("item %d was\n%s\nand is\n%s", i, live[i], loaded[i])
			}
		}
		again.closeInput()
	})
}
