package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// delegated is a prompt by which the local model hands a prompt to a subagent.
func delegated(prompt string) string {
	return tool("subagent", map[string]any{"description": "Side task", "prompt": prompt})
}

func readFile(path string) string { return tool("read", map[string]any{"file_path": path}) }

func TestASubagentWorksAndItsCardTells(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	write(t, filepath.Join(cwd, "a.txt"), "alpha\n")
	for _, nested := range []bool{false, true} {
		t.Run(fmt.Sprint("nested ", nested), func(t *testing.T) {
			caps := map[string]any{}
			if nested {
				caps["_meta"] = map[string]any{"terminal_output": true}
			}
			c := start(t, setup{config: withSessions(dir), cwd: cwd})
			s := c.open(caps)
			if stop := c.prompt(s, delegated(readFile("a.txt"))); stop != "end_turn" {
				t.Error(stop)
			}
			calls := c.calls(s)
			if nested {
				if len(calls) != 2 || calls[1].Name != "read" || calls[1].Status != "completed" || parentOf(t, calls[1]) != calls[0].ToolCallID {
					t.Errorf("%+v", calls)
				}
			} else if len(calls) != 1 {
				t.Errorf("%+v", calls)
			}
			if calls[0].Name != "subagent" || calls[0].Status != "completed" || !strings.Contains(string(calls[0].Content), "`read` succeeded") {
				t.Errorf("%s %s", calls[0].Status, calls[0].Content)
			}
			progress := false
			for _, u := range c.updates(s) {
				progress = progress || u.ToolCallID == calls[0].ToolCallID && strings.Contains(string(u.Content), "Calls made: 1")
			}
			if progress == nested {
				t.Errorf("progress in the card: %v", progress)
			}
			live := c.shown(s, false)
			c.closeInput()

			again := start(t, setup{config: withSessions(dir), cwd: cwd})
			again.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps})
			if f := again.load(s); f.Error != nil {
				t.Fatalf("%+v", f.Error)
			}
			if got, want := strings.Join(again.shown(s, false), "\n"), strings.Join(live, "\n"); got != want {
				t.Errorf("loaded:\n%s\nlive:\n%s", got, want)
			}
		})
	}
}

// What a subagent needs permission for the person is asked by the session that
// they know, about a card that the editor has.
func TestASubagentsQuestionReachesTheEditor(t *testing.T) {
	for _, answer := range []string{"allow_once", "reject_once", "allow_always"} {
		t.Run(answer, func(t *testing.T) {
			c := start(t, setup{})
			var asked []string
			c.permit = func(params json.RawMessage) string {
				asked = append(asked, string(params))
				return answer
			}
			s := c.open(nil)
			one := tool("write", map[string]any{"file_path": "made.txt", "content": "x\n"})
			c.prompt(s, delegated(one+"\n"+tool("write", map[string]any{"file_path": "too.txt", "content": "y\n"})))
			_, err := os.Stat(filepath.Join(c.cwd, "made.txt"))
			if (err == nil) != (answer != "reject_once") {
				t.Errorf("written: %v", err == nil)
			}
			// Both are asked about together. Always answers the second, too, perhaps
			// before it is put.
			if len(asked) != 2 && (answer != "allow_always" || len(asked) != 1) {
				t.Fatalf("asked %d times", len(asked))
			}
			if _, err := os.Stat(filepath.Join(c.cwd, "too.txt")); (err == nil) != (answer != "reject_once") {
				t.Errorf("the second is written: %v", err == nil)
			}
			var p struct {
				SessionID string
				ToolCall  struct {
					ToolCallID, Title, Kind string
					Content                 json.RawMessage
					Meta                    json.RawMessage `json:"_meta"`
				}
			}
			if err := json.Unmarshal([]byte(asked[0]), &p); err != nil {
				t.Fatal(err)
			}
			calls := c.calls(s)
			if p.SessionID != s || len(calls) < 2 || p.ToolCall.ToolCallID != calls[1].ToolCallID || calls[1].Name != "write" || parentOf(t, calls[1]) != calls[0].ToolCallID {
				t.Errorf("%s\n%+v", asked[0], calls)
			}
			if !strings.Contains(string(p.ToolCall.Content), `made.txt`) || !strings.Contains(string(p.ToolCall.Content), `Asked by the subagent \"Side task\"`) {
				t.Errorf("%s", p.ToolCall.Content)
			}
			for _, u := range calls {
				if u.Status != "completed" && u.Status != "failed" {
					t.Errorf("%s is left %s", u.ToolCallID, u.Status)
				}
			}
		})
	}
}

func TestCancellingEndsASubagentAndWhatItRuns(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, delegated(tool("bash", map[string]any{
		"command": "sleep 600 & echo $! > pid; wait", "description": "Wait",
	}))))
	pid := waitForFile(t, filepath.Join(c.cwd, "pid"))
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if stop := stopReason(c.reply(id)); stop != "cancelled" {
		t.Error(stop)
	}
	wantGone(t, pid, "what the subagent started")
	if calls := c.calls(s); len(calls) != 1 || calls[0].Status != "failed" {
		t.Errorf("%+v", calls)
	}
	if stop := c.prompt(s, delegated("/say again")); stop != "end_turn" {
		t.Error(stop)
	}
}

// A killed agent leaves a call without a result; the next one gives it one.
func TestASubagentInAKilledAgent(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	c := start(t, setup{config: withSessions(dir), cwd: cwd})
	s := c.open(nil)
	c.request("session/prompt", textPrompt(s, delegated(tool("bash", map[string]any{
		"command": "echo $$ > pid; sleep 600", "description": "Wait",
	}))))
	waitForFile(t, filepath.Join(cwd, "pid"))
	c.kill()
	again := start(t, setup{config: withSessions(dir), cwd: cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"_meta": map[string]any{"terminal_output": true}}})
	if f := again.load(s); f.Error != nil {
		t.Fatalf("%+v", f.Error)
	}
	calls := again.calls(s)
	if len(calls) != 2 {
		t.Fatalf("%+v", calls)
	}
	for _, u := range calls {
		if u.Status != "failed" {
			t.Errorf("%+v", u)
		}
	}
	if stop := again.prompt(s, delegated("/say again")); stop != "end_turn" {
		t.Error(stop)
	}
}

// Subagents are no sessions of the user's: they are not listed, cannot be
// loaded, and go with their parent.
func TestSubagentsBelongToTheirParent(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	c := start(t, setup{config: withSessions(dir), cwd: cwd})
	s := c.open(nil)
	c.prompt(s, delegated("/say hello"))
	logs, _ := filepath.Glob(filepath.Join(dir, s, "agents", "*", "events.jsonl"))
	if len(logs) != 1 {
		t.Fatalf("logs: %q", logs)
	}
	child := filepath.Base(filepath.Dir(logs[0]))
	if f := c.call("session/list", map[string]any{}); strings.Contains(string(f.Result), child) || !strings.Contains(string(f.Result), s) {
		t.Errorf("%s", f.Result)
	}
	if f := c.load(child); f.Error == nil || f.Error.Code != -32002 {
		t.Errorf("%+v", f)
	}
	if f := c.call("session/delete", map[string]any{"sessionId": s}); f.Error != nil {
		t.Errorf("%+v", f.Error)
	}
	if _, err := os.Stat(logs[0]); !os.IsNotExist(err) {
		t.Errorf("the subagent's log stays: %v", err)
	}
}

// A program hands out work and gets data back.
func TestAProgramUsesSubagents(t *testing.T) {
	c := start(t, setup{config: fullAccess + "tools: {mode: both}\ncode_mode: {max_parallel_calls: 4}\n"})
	s := c.open(nil)
	program := `
const shape = {type: "object", properties: {n: {type: "integer"}}, required: ["n"], additionalProperties: false};
const ask = (n: number) => tools.subagent({description: "Count", prompt: "/tool final_answer {\"n\": " + n + "}", outputSchema: shape});
const all = await Promise.all([1, 2, 3].map(ask));
const words = await tools.subagent({description: "Talk", prompt: "/say hello"});
return {sum: all.reduce((sum, r) => sum + (r.value as {n: number}).n, 0), words: words.output, kind: words.kind};`
	if stop := c.prompt(s, fenced(program)); stop != "end_turn" {
		t.Error(stop)
	}
	calls := c.calls(s)
	if len(calls) != 1 || calls[0].Status != "completed" || !strings.Contains(string(calls[0].RawOutput), `\"sum\": 6`) || !strings.Contains(string(calls[0].RawOutput), "hello") {
		t.Errorf("%+v", calls)
	}
}

// Handing in a result as data changes nothing, so nobody is asked about it and
// no preset and no mode refuses it.
func TestNobodyIsAskedAboutAResult(t *testing.T) {
	task := tool("subagent", map[string]any{
		"description": "Count", "prompt": `/tool final_answer {"n": 3}`,
		"outputSchema": map[string]any{
			"type": "object", "required": []string{"n"}, "additionalProperties": false,
			"properties": map[string]any{"n": map[string]any{"type": "integer"}},
		},
	})
	for _, preset := range []string{"read-only", "workspace-write", "danger-full-access"} {
		t.Run(preset, func(t *testing.T) {
			c := start(t, setup{config: "model: {provider: local}\npermissions: {preset: " + preset + "}\nagents: {tools: [read]}\n", cwd: t.TempDir()})
			var asked atomic.Int64
			c.permit = func(json.RawMessage) string { asked.Add(1); return "reject_once" }
			s := c.open(nil)
			for _, before := range []string{"/status", "/plan"} {
				c.prompt(s, before)
				c.prompt(s, task)
				calls := c.calls(s)
				if last := calls[len(calls)-1]; last.Status != "completed" || !strings.Contains(string(last.Content), `{\"n\":3}`) || asked.Load() != 0 {
					t.Errorf("after %s: %s %s, asked %d times", before, last.Status, last.Content, asked.Load())
				}
			}
		})
	}
}

// The presets and rules of the session hold for its subagents.
func TestAWorkspacesRulesHoldForSubagents(t *testing.T) {
	cwd := t.TempDir()
	write(t, filepath.Join(cwd, ".dsh-acp.yaml"), "permissions:\n  rules:\n    - {tool: read, match: secret.txt, decision: deny, reason: Not yours.}\n")
	write(t, filepath.Join(cwd, "secret.txt"), "alpha\n")
	c := start(t, setup{config: fullAccess, cwd: cwd})
	s := c.open(nil)
	c.prompt(s, delegated(readFile("secret.txt")))
	if calls := c.calls(s); len(calls) != 1 || strings.Contains(string(calls[0].Content), "alpha") || !strings.Contains(string(calls[0].Content), "Not yours.") {
		t.Errorf("%+v", calls)
	}

	write(t, filepath.Join(cwd, ".dsh-acp.yaml"), "agents: {max_steps: 1}\n")
	s = c.newSession()
	c.prompt(s, delegated(bashPrompt))
	if calls := c.calls(s); calls[0].Status != "failed" || !strings.Contains(string(calls[0].Content), "limit of model requests: 1") {
		t.Errorf("%s %s", calls[0].Status, calls[0].Content)
	}
}

// What a subagent runs in the background ends with it.
func TestASubagentsBackgroundTasksEndWithIt(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	s := c.open(nil)
	c.prompt(s, delegated(tool("bash", map[string]any{
		"command": "echo $$ > pid; sleep 600", "description": "Wait", "run_in_background": true,
	})+"\n"+tool("bash", map[string]any{"command": "while [ ! -s pid ]; do sleep 0.05; done", "description": "See it start"})))
	calls := c.calls(s)
	if len(calls) != 1 || calls[0].Status != "completed" || !strings.Contains(string(calls[0].Content), "All 2 calls succeeded") {
		t.Fatalf("%s %s", calls[0].Status, calls[0].Content)
	}
	wantGone(t, waitForFile(t, filepath.Join(c.cwd, "pid")), "the background task")
}

// A fork knows what was said and read.
func TestAForkMayEditWhatWasRead(t *testing.T) {
	for name, want := range map[string]string{"subagent": "failed", "subagent_fork": "succeeded"} {
		c := start(t, setup{config: fullAccess})
		write(t, filepath.Join(c.cwd, "a.txt"), "alpha\n")
		s := c.open(nil)
		c.prompt(s, readFile("a.txt"))
		c.prompt(s, tool(name, map[string]any{"description": "Edit it", "prompt": tool("edit", map[string]any{
			"file_path": "a.txt", "old_string": "alpha", "new_string": "beta",
		})}))
		if calls := c.calls(s); len(calls) != 2 || !strings.Contains(string(calls[1].Content), "`edit` "+want) {
			t.Errorf("%s: %s", name, calls[1].Content)
		}
	}
}

// However deep a subagent is, its question is one of the session's, about a card
// that hangs on one that the editor has, and its terminal is live.
func TestASubagentOfASubagent(t *testing.T) {
	for _, nested := range []bool{false, true} {
		t.Run(fmt.Sprint("nested ", nested), func(t *testing.T) {
			c := start(t, setup{config: asking + "agents: {max_depth: 2}\n"})
			caps := map[string]any{}
			if nested {
				caps["_meta"] = map[string]any{"terminal_output": true}
			}
			var asked []string
			c.permit = func(params json.RawMessage) string {
				asked = append(asked, string(params))
				return "allow_once"
			}
			s := c.open(caps)
			inner := tool("bash", map[string]any{"command": "echo early; until [ -e go ]; do sleep 0.02; done; echo late", "description": "Take a while"})
			turn := c.request("session/prompt", textPrompt(s, delegated(delegated(inner))))
			early := c.waitUpdate("output before the end", s, func(u update) bool {
				return strings.Contains(string(u.Meta), `"early\n"`) || strings.Contains(string(u.Content), "console\\nearly\\n```")
			})
			touch(t, filepath.Join(c.cwd, "go"))
			if stop := stopReason(c.reply(turn)); stop != "end_turn" {
				t.Error(stop)
			}
			calls := c.calls(s)
			last := calls[len(calls)-1]
			if len(asked) != 1 || last.Name != "bash" || last.Status != "completed" || !strings.Contains(asked[0], last.ToolCallID) ||
				!strings.Contains(asked[0], `\"Side task\" › \"Side task\"`) {
				t.Fatalf("%q\n%+v", asked, calls)
			}
			wantCards, wantParent := 2, calls[0].ToolCallID
			if nested {
				wantCards, wantParent = 3, calls[1].ToolCallID
			}
			if len(calls) != wantCards || parentOf(t, last) != wantParent {
				t.Errorf("%d cards, the last below %s", len(calls), parentOf(t, last))
			}
			if early.ToolCallID != last.ToolCallID || early.Status != "" {
				t.Errorf("the output was shown on %s, %q", early.ToolCallID, early.Status)
			}
		})
	}
}

// Stopping the turn withdraws a subagent's open question; a late answer changes
// nothing.
func TestCancellingASubagentsQuestion(t *testing.T) {
	c := start(t, setup{})
	c.permit = func(json.RawMessage) string { return "" }
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, delegated(tool("write", map[string]any{"file_path": "made.txt", "content": "x\n"}))))
	var question json.RawMessage
	c.wait("the question", func(fs []frame) bool {
		for _, f := range fs {
			if f.Method == "session/request_permission" {
				question = f.ID
				return true
			}
		}
		return false
	})
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if stop := stopReason(c.reply(id)); stop != "cancelled" {
		t.Error(stop)
	}
	c.send(map[string]any{"jsonrpc": "2.0", "id": question, "result": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow-once"}}})
	for _, u := range c.calls(s) {
		if u.Status != "failed" {
			t.Errorf("%s is left %s", u.ToolCallID, u.Status)
		}
	}
	if stop := c.prompt(s, "/say again"); stop != "end_turn" {
		t.Error(stop)
	}
	if _, err := os.Stat(filepath.Join(c.cwd, "made.txt")); err == nil {
		t.Error("the call ran")
	}
}
