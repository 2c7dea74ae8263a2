package e2e

import (
	"strings"
	"testing"
)

// What a cancelled command had printed stays on its card, with every kind of
// client, and is there again when the session is loaded.
func TestACancelledCommandKeepsWhatItPrinted(t *testing.T) {
	for name, caps := range map[string]map[string]any{"terminal": terminals, "content": {}} {
		t.Run(name, func(t *testing.T) {
			config := withSessions(t.TempDir())
			c := start(t, setup{config: config})
			s := c.open(caps)
			turn := c.request("session/prompt", textPrompt(s, runPrompt(untilGo)))
			c.waitUpdate("live output", s, func(u update) bool {
				return strings.Contains(string(u.Meta), `"one\n"`) || strings.Contains(string(u.Content), "console\\none\\n```")
			})
			c.notify("session/cancel", map[string]any{"sessionId": s})
			if stop := stopReason(c.reply(turn)); stop != "cancelled" {
				t.Errorf("stop reason %q", stop)
			}
			c.closeInput()

			again := start(t, setup{config: config, cwd: c.cwd})
			again.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps})
			if f := again.call("session/load", map[string]any{"sessionId": s, "cwd": c.cwd, "mcpServers": []any{}}); f.Error != nil {
				t.Fatalf("%+v", f.Error)
			}
			for which, x := range map[string]*client{"live": c, "loaded": again} {
				call := x.calls(s)[0]
				if call.Status != "failed" {
					t.Errorf("%s: %s", which, call.Status)
				}
				if name == "terminal" {
					if text, exit := terminalOf(t, x.updates(s), call.ToolCallID); text != "one\nError: command aborted" || exit == nil {
						t.Errorf("%s: the terminal shows %q and ends with %v", which, text, exit)
					}
				} else if !strings.Contains(string(call.Content), "console\\none\\nError: command aborted\\n```") {
					t.Errorf("%s: %s", which, call.Content)
				}
			}
		})
	}
}
