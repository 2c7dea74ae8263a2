package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// terminals is a client that draws terminals from the agent's output.
var terminals = map[string]any{"_meta": map[string]any{"terminal_output": true}}

// untilGo writes, waits for the file go and writes on.
const untilGo = `echo one; until [ -e go ]; do sleep 0.02; done; echo two >&2; exit 3`

// untilGoShown reports whether a terminal shows all of untilGo: what it wrote
// last may come with the end, with its heading, or before.
func untilGoShown(text string) bool {
	return text == "one\n[stderr]\ntwo\n[exit code: 3]" || text == "one\ntwo\n[exit code: 3]"
}

// terminalOf is everything that the call's terminal was sent, and its end.
func terminalOf(t *testing.T, updates []update, id string) (text string, exit map[string]any) {
	t.Helper()
	for _, u := range updates {
		if u.ToolCallID != id || u.Meta == nil {
			continue
		}
		var meta struct {
			Output *struct {
				ID   string `json:"terminal_id"`
				Data string
			} `json:"terminal_output"`
			Exit map[string]any `json:"terminal_exit"`
		}
		if err := json.Unmarshal(u.Meta, &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Output != nil {
			if meta.Output.ID != id || u.Content != nil && !strings.Contains(string(u.Content), `"type":"terminal"`) {
				t.Errorf("output of call %s goes to terminal %q with content %s", id, meta.Output.ID, u.Content)
			}
			text += meta.Output.Data
		}
		if meta.Exit != nil {
			exit = meta.Exit
		}
	}
	return text, exit
}

func (c *client) waitUpdate(what, session string, pred func(update) bool) update {
	c.t.Helper()
	var found update
	c.wait(what, func(fs []frame) bool {
		for _, f := range fs {
			if u, id := updateOf(f); id == session && pred(u) {
				found = u
				return true
			}
		}
		return false
	})
	return found
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func runPrompt(command string) string {
	return tool("bash", map[string]any{"command": command, "description": "Run it"})
}

func TestOutputIsShownInTheTerminalWhileTheCommandRuns(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	s := c.open(terminals)
	turn := c.request("session/prompt", textPrompt(s, runPrompt(untilGo)))
	first := c.waitUpdate("live output", s, func(u update) bool { return strings.Contains(string(u.Meta), `"one\n"`) })
	if first.Status != "" || strings.Contains(string(first.Meta), "exit") {
		t.Errorf("the command had not ended: %+v", first)
	}
	touch(t, filepath.Join(c.cwd, "go"))
	c.reply(turn)
	call := c.calls(s)[0]
	text, exit := terminalOf(t, c.updates(s), call.ToolCallID)
	if !untilGoShown(text) || exit["exit_code"] != 3.0 {
		t.Errorf("the terminal shows %q and ends with %v", text, exit)
	}
	if want := `"one\n[stderr]\ntwo\n[exit code: 3]"`; string(call.RawOutput) != want || call.Status != "completed" {
		t.Errorf("%s: %s", call.Status, call.RawOutput)
	}
}

func TestOutputIsShownAsContentToOtherClients(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	s := c.open(nil)
	turn := c.request("session/prompt", textPrompt(s, runPrompt(untilGo)))
	first := c.waitUpdate("live output", s, func(u update) bool { return strings.Contains(string(u.Content), "```console") })
	if want := "Run it"; first.Status != "" || first.Meta != nil || !strings.Contains(string(first.Content), want) || !strings.Contains(string(first.Content), "console\\none\\n```") {
		t.Errorf("while it runs: %s %s", first.Status, first.Content)
	}
	touch(t, filepath.Join(c.cwd, "go"))
	c.reply(turn)
	if call := c.calls(s)[0]; call.Status != "completed" || !strings.Contains(string(call.Content), "console\\none\\n[stderr]\\ntwo\\n[exit code: 3]\\n```") {
		t.Errorf("%s: %s", call.Status, call.Content)
	}
}

// A call that fails keeps its terminal: what was shown stays, the reason follows,
// and the terminal ends.
func TestACancelledCommandKeepsItsTerminal(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	s := c.open(terminals)
	turn := c.request("session/prompt", textPrompt(s, runPrompt(untilGo)))
	c.waitUpdate("live output", s, func(u update) bool { return strings.Contains(string(u.Meta), `"one\n"`) })
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if stop := stopReason(c.reply(turn)); stop != "cancelled" {
		t.Errorf("stop reason %q", stop)
	}
	call := c.calls(s)[0]
	text, exit := terminalOf(t, c.updates(s), call.ToolCallID)
	if text != "one\nError: command aborted" || exit == nil || call.Status != "failed" {
		t.Errorf("%s: the terminal shows %q and ends with %v", call.Status, text, exit)
	}
}

func TestOutputOfAProgramsCallIsShown(t *testing.T) {
	program := fmt.Sprintf(`console.log("begun")
return await tools.bash({command: %q, description: "Run it"})`, untilGo)
	for name, caps := range map[string]map[string]any{"on its card": terminals, "on the program's card": nil} {
		t.Run(name, func(t *testing.T) {
			c := start(t, setup{config: fullAccess + "tools:\n  mode: both\n"})
			s := c.open(caps)
			turn := c.request("session/prompt", textPrompt(s, fenced(program)))
			u := c.waitUpdate("live output", s, func(u update) bool {
				return strings.Contains(string(u.Meta), `"one\n"`) || strings.Contains(string(u.Content), "console\\none\\n```")
			})
			touch(t, filepath.Join(c.cwd, "go"))
			c.reply(turn)
			calls := c.calls(s)
			if caps != nil {
				text, exit := terminalOf(t, c.updates(s), calls[1].ToolCallID)
				if u.ToolCallID != calls[1].ToolCallID || !untilGoShown(text) || exit["exit_code"] != 3.0 {
					t.Errorf("on %s; the terminal shows %q and ends with %v", u.ToolCallID, text, exit)
				}
			} else if len(calls) != 1 || u.ToolCallID != calls[0].ToolCallID || !strings.Contains(string(u.Content), "running: echo one") {
				t.Errorf("on %s: %s", u.ToolCallID, u.Content)
			}
			for _, call := range calls {
				if call.Status != "completed" || strings.Contains(string(call.Content), "running") {
					t.Errorf("%s is %s: %s", call.ToolCallID, call.Status, call.Content)
				}
			}
		})
	}
}

// A command that prints without end costs the client little, and the agent too.
func TestAFloodOfOutput(t *testing.T) {
	for name, caps := range map[string]map[string]any{"terminals": terminals, "content": nil} {
		t.Run(name, func(t *testing.T) {
			c := start(t, setup{config: fullAccess})
			s := c.open(caps)
			c.prompt(s, runPrompt("yes 'a line of output that goes on and on' | head -c 50000000; echo; echo the end"))
			size := 0
			c.mu.Lock()
			for _, f := range c.frames {
				size += len(f.Params)
			}
			c.mu.Unlock()
			if size > 2<<20 {
				t.Errorf("the client was sent %d bytes", size)
			}
			text := string(c.calls(s)[0].RawOutput)
			if caps != nil {
				text, _ = terminalOf(t, c.updates(s), c.calls(s)[0].ToolCallID)
			}
			if !strings.Contains(text, " bytes omitted ...]") || !strings.Contains(text, "the end") {
				t.Errorf("the end is missing: %.300q", text[max(len(text)-300, 0):])
			}
		})
	}
}

// What is replayed is what was shown in the end.
func TestReplayOfLiveOutput(t *testing.T) {
	dir := t.TempDir()
	cfg := fullAccess + fmt.Sprintf("sessions:\n  dir: %q\n", dir)
	c := start(t, setup{config: cfg})
	s := c.open(terminals)
	touch(t, filepath.Join(c.cwd, "go"))
	c.prompt(s, runPrompt(`echo one; sleep 0.2; echo two; exit 3`))
	live, exit := terminalOf(t, c.updates(s), c.calls(s)[0].ToolCallID)
	c.closeInput()
	d := start(t, setup{config: cfg, cwd: c.cwd})
	d.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": terminals})
	if f := d.call("session/load", map[string]any{"sessionId": s, "cwd": c.cwd, "mcpServers": []any{}}); f.Error != nil {
		t.Fatal(f.Error)
	}
	again, exit2 := terminalOf(t, d.updates(s), d.calls(s)[0].ToolCallID)
	if again != live || live != "one\ntwo\n[exit code: 3]" || fmt.Sprint(exit) != fmt.Sprint(exit2) {
		t.Errorf("live %q %v, replayed %q %v", live, exit, again, exit2)
	}
}

// What a subagent's command prints is shown as well: on its own card, or on that
// of the call that the subagent works for.
func TestOutputOfASubagentsCallIsShown(t *testing.T) {
	for name, caps := range map[string]map[string]any{"on its card": terminals, "on the subagent's card": nil} {
		t.Run(name, func(t *testing.T) {
			c := start(t, setup{config: fullAccess})
			s := c.open(caps)
			turn := c.request("session/prompt", textPrompt(s, delegated(runPrompt(untilGo))))
			u := c.waitUpdate("live output", s, func(u update) bool {
				return strings.Contains(string(u.Meta), `"one\n"`) || strings.Contains(string(u.Content), "console\\none\\n```")
			})
			touch(t, filepath.Join(c.cwd, "go"))
			c.reply(turn)
			calls := c.calls(s)
			if caps == nil {
				if len(calls) != 1 || u.ToolCallID != calls[0].ToolCallID {
					t.Errorf("%d cards, shown on %s", len(calls), u.ToolCallID)
				}
				return
			}
			text, exit := terminalOf(t, c.updates(s), calls[1].ToolCallID)
			if u.ToolCallID != calls[1].ToolCallID || !untilGoShown(text) || exit["exit_code"] != 3.0 {
				t.Errorf("on %s; the terminal shows %q and ends with %v", u.ToolCallID, text, exit)
			}
		})
	}
}
