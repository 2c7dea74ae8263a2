package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// However a call is refused or cancelled, its card ends failed and says why, as
// content or in its terminal, and as raw output.
func TestEveryRefusalSaysWhy(t *testing.T) {
	touchIt := tool("bash", map[string]any{"command": "touch made", "description": "Make it"})
	answer := func(kind string) func(json.RawMessage) string { return func(json.RawMessage) string { return kind } }
	for name, c := range map[string]struct {
		config, prompt string
		permit         func(json.RawMessage) string
		cancel         bool
		why            string
	}{
		"by a preset":       {config: "model: {provider: local}\npermissions: {preset: read-only}\n", prompt: tool("write", map[string]any{"file_path": "a", "content": "x"}), permit: answer("reject_once"), why: "read-only"},
		"by a rule":         {config: fullAccess + "  rules: [{tool: bash, match: \"touch*\", decision: deny, reason: no touching}]\n", prompt: touchIt, why: "no touching"},
		"by the user":       {config: "model: {provider: local}\npermissions: {preset: workspace-write, rules: [{tool: bash, decision: ask}]}\n", prompt: touchIt, permit: answer("reject_once"), why: "the user rejected tool"},
		"dismissed":         {config: "model: {provider: local}\npermissions: {preset: workspace-write, rules: [{tool: bash, decision: ask}]}\n", prompt: touchIt, permit: answer("cancelled"), why: "aborted"},
		"a broken dialog":   {config: "model: {provider: local}\npermissions: {preset: workspace-write, rules: [{tool: bash, decision: ask}]}\n", prompt: touchIt, permit: answer("error"), why: "no approval channel"},
		"wrong arguments":   {config: fullAccess, prompt: tool("bash", map[string]any{"command": 7}), why: "invalid arguments"},
		"a bad value":       {config: fullAccess, prompt: tool("bash", map[string]any{"command": "x", "description": "x", "timeoutMs": -1}), why: "invalid timeoutMs"},
		"an unknown tool":   {config: fullAccess, prompt: tool("frobnicate", map[string]any{}), why: "frobnicate"},
		"an unknown task":   {config: fullAccess, prompt: tool("task_kill", map[string]any{"task_id": "x"}), why: "unknown task x"},
		"cancelled":         {config: fullAccess, prompt: tool("bash", map[string]any{"command": "echo $$ > pid; sleep 600", "description": "Wait"}), cancel: true, why: "command aborted"},
		"cancelled in line": {config: fullAccess, prompt: tool("bash", map[string]any{"command": "echo $$ > pid; sleep 600", "description": "Wait"}) + "\n" + touchIt, cancel: true, why: "aborted"},
	} {
		for client, caps := range map[string]map[string]any{"terminals": terminals, "content": nil} {
			t.Run(name+"/"+client, func(t *testing.T) {
				a := start(t, setup{config: c.config})
				if c.permit != nil {
					a.permit = c.permit
				}
				s := a.open(caps)
				turn := a.request("session/prompt", textPrompt(s, c.prompt))
				if c.cancel {
					waitForFile(t, filepath.Join(a.cwd, "pid"))
					a.notify("session/cancel", map[string]any{"sessionId": s})
				}
				a.reply(turn)
				calls := a.calls(s)
				if len(calls) == 0 {
					t.Fatal("no call was shown")
				}
				for _, call := range calls {
					text, exit := terminalOf(t, a.updates(s), call.ToolCallID)
					shown := string(call.Content) + text
					if call.Status != "failed" || !strings.Contains(shown, c.why) || !strings.Contains(string(call.RawOutput), c.why) || len(call.RawOutput) < 10 {
						t.Errorf("%s is %s: %s; raw %s", call.ToolCallID, call.Status, shown, call.RawOutput)
					}
					if text != "" && exit == nil {
						t.Errorf("the terminal of %s does not end", call.ToolCallID)
					}
				}
			})
		}
	}
}
