package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A question repeats all that the editor was shown of the call, whoever makes
// it: editors show nothing but what the question itself carries.
func TestAQuestionRepeatsTheCard(t *testing.T) {
	for _, tt := range []struct {
		name, prompt string
		nested       int // how many cards come before
		kind, title  string
		raw          string
		path         string // of the location and of the diff
		diff         string
	}{
		{"write", writeCall("new.txt"), 0, "edit", "Write new.txt", `"file_path":"new.txt"`, "new.txt", `"newText":"new"`},
		{"edit", tool("read", map[string]any{"file_path": "old.txt"}) + "\n/then\n" + tool("edit", map[string]any{"file_path": "old.txt", "old_string": "two", "new_string": "2"}), 1, "edit", "Edit old.txt", `"old_string":"two"`, "old.txt", `"oldText":"`},
		{"bash", bashCall("mkdir x"), 0, "execute", "mkdir x", `"mkdir x"`, "", ""},
		{"of a program", fenced(`await tools.write({ file_path: "new.txt", content: "new" })`), 1, "edit", "Write new.txt", `"file_path":"new.txt"`, "new.txt", `"newText":"new"`},
		{"of a program's command", fenced(`await tools.bash({ command: "mkdir x", description: "x" })`), 1, "execute", "mkdir x", `"mkdir x"`, "", ""},
		{"of a subagent", delegated(writeCall("new.txt")), 1, "edit", "Write new.txt", `"file_path":"new.txt"`, "new.txt", `"newText":"new"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := later(t, setup{config: askBash + "tools:\n  mode: both\n"})
			write(t, filepath.Join(c.cwd, "old.txt"), "one\ntwo\n")
			s := c.open(nesting)
			id := c.request("session/prompt", textPrompt(s, tt.prompt))
			a := c.asks(1)[0]
			calls := c.calls(s)
			card := calls[len(calls)-1]
			if len(calls) != tt.nested+1 || a.ToolCall.ToolCallID != card.ToolCallID {
				t.Fatalf("the question is about %s; the cards are %+v", a.ToolCall.ToolCallID, calls)
			}
			if a.ToolCall.Title != tt.title || a.ToolCall.Kind != tt.kind || card.Title != tt.title || card.Kind != tt.kind || !strings.Contains(string(a.ToolCall.RawInput), tt.raw) {
				t.Errorf("asked about %q %s %s", a.ToolCall.Title, a.ToolCall.Kind, a.ToolCall.RawInput)
			}
			if tt.path != "" {
				path := filepath.Join(c.cwd, tt.path)
				if len(a.ToolCall.Locations) != 1 || a.ToolCall.Locations[0].Path != path {
					t.Errorf("places %+v", a.ToolCall.Locations)
				}
				var content []struct{ Type, Path string }
				if err := json.Unmarshal(a.ToolCall.Content, &content); err != nil || len(content) == 0 || content[0].Type != "diff" || content[0].Path != path || !strings.Contains(string(a.ToolCall.Content), tt.diff) {
					t.Errorf("the first piece of content is no diff of %s: %s", path, a.ToolCall.Content)
				}
			}
			c.choose(a, "reject-once")
			c.reply(id)
		})
	}
}

// A switch is in the log, and the model learns of it with its next request.
func TestASwitchOfThePresetIsLoggedAndTold(t *testing.T) {
	dir := t.TempDir()
	c := later(t, setup{config: replayOf(t, textChunks("one"), "stop", textChunks("two"), "stop") + "sessions: {dir: " + dir + "}\n"})
	s, _ := openWith(c, nil)
	c.prompt(s, "hello")
	if f := c.setOption(s, "permission", "workspace-write"); f.Error != nil {
		t.Fatal(f.Error.Message)
	}
	c.prompt(s, "and now?")
	c.closeInput()
	data, err := os.ReadFile(filepath.Join(dir, s, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	log := string(data)
	for _, want := range []string{
		`"type":"permission/preset"`, `{"preset":"workspace-write"}`, `"type":"sandbox/mode"`, `"type":"approval/policy"`,
		`The approval policy changed from \"never\" to \"ask\" (changed by the user).`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}
