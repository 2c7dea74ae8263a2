package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
)

// BenchmarkSubagent measures what handing a task to a subagent costs beside the
// models: a turn whose one call is a subagent that says a word, next to a turn
// that says it itself.
func BenchmarkSubagent(b *testing.B) {
	for name, prompt := range map[string]string{"itself": "/say word", "subagent": delegated("/say word"), "fork": tool("subagent_fork", map[string]any{"description": "Side task", "prompt": "/say word"})} {
		b.Run(name, func(b *testing.B) {
			a := spawn(b, b.TempDir(), bin, "--model", "local", "--permissions", "danger-full-access")
			defer a.stop()
			a.ask(b, 1, "initialize", `{"protocolVersion":1}`)
			f := a.ask(b, 2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, b.TempDir()))
			var r struct{ SessionID string }
			if err := json.Unmarshal(f.Result, &r); err != nil || r.SessionID == "" {
				b.Fatalf("%s", f.Result)
			}
			params, err := json.Marshal(textPrompt(r.SessionID, prompt))
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				if f := a.ask(b, 3+i, "session/prompt", string(params)); stopReason(f) != "end_turn" {
					b.Fatalf("%s", f.Result)
				}
			}
		})
	}
}
