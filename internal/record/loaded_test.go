package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// turn logs a whole turn.
func turn(t *testing.T, log *session.Log, n int, asked, said string) {
	t.Helper()
	at := func(pairs ...any) jsonvalue.Value {
		return session.Data(append([]any{"turn", n, "step", 1}, pairs...)...)
	}
	text := func(s string) []any { return []any{session.Data("type", "text", "text", s)} }
	for _, d := range []session.Draft{
		{Type: session.TypeTurnStart, Data: session.Data("turn", n)},
		{Type: session.TypeUserMessage, Data: session.Data("content", text(asked))},
		{Type: session.TypeStepStart, Data: at()},
		{Type: session.TypeAssistantChunk, Data: at("chunk", session.Data("type", "text-delta", "index", 0, "text", said))},
		{Type: session.TypeAssistantMessage, Data: at("content", text(said))},
		{Type: session.TypeStepEnd, Data: at()},
		{Type: session.TypeTurnEnd, Data: session.Data("turn", n, "reason", session.Data("kind", "completed"))},
	} {
		if _, err := log.Append(d); err != nil {
			t.Fatal(err)
		}
	}
}

// A session that began before the recording is recorded from where it was taken
// up; what came before is in its log, and nothing of it is the client's or the
// model's part.
func TestASessionThatWasLoaded(t *testing.T) {
	const key = "sk-0123456789abcdef"
	for _, method := range []string{"load", "resume"} {
		dir, old := t.TempDir(), t.TempDir()
		sessions := filepath.Join(dir, "sessions")
		if err := os.WriteFile(filepath.Join(old, "a.txt"), []byte("here"), 0o600); err != nil {
			t.Fatal(err)
		}
		store := session.NewStore(sessions, session.Options{})
		log, err := store.Create(session.Header{ID: "one", Cwd: old})
		if err != nil {
			t.Fatal(err)
		}
		turn(t, log, 1, "before "+key, "yes, before")
		r, err := Begin(Options{Dir: filepath.Join(dir, "out"), Sessions: sessions, Preset: "read-only", ToolMode: "native"})
		if err != nil {
			t.Fatal(err)
		}
		in := func(format string, args ...any) { r.frame("in", fmt.Appendf(nil, format, args...)) }
		out := func(format string, args ...any) { r.frame("out", fmt.Appendf(nil, format, args...)) }
		in(`{"id":1,"method":"initialize","params":{"protocolVersion":1}}`)
		out(`{"id":1,"result":{"protocolVersion":1}}`)
		// One that is not there, and one whose name leads elsewhere.
		in(`{"id":2,"method":"session/%s","params":{"sessionId":"two","cwd":%q}}`, method, old)
		out(`{"id":2,"error":{"code":-32002,"message":"no such session"}}`)
		in(`{"id":3,"method":"session/%s","params":{"sessionId":"../../one","cwd":%q}}`, method, old)
		out(`{"id":3,"error":{"code":-32002,"message":"no such session"}}`)
		in(`{"id":4,"method":"session/%s","params":{"sessionId":"one","cwd":%q,"mcpServers":[]}}`, method, old)
		out(`{"method":"session/update","params":{"sessionId":"one","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"before %s"}}}}`, key)
		out(`{"id":4,"result":{}}`)
		in(`{"id":5,"method":"session/prompt","params":{"sessionId":"one","prompt":[{"type":"text","text":"after"}]}}`)
		turn(t, log, 2, "after", "yes, after")
		out(`{"method":"session/update","params":{"sessionId":"one","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"yes, after"}}}}`)
		out(`{"id":5,"result":{"stopReason":"end_turn"}}`)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(dir, "out", "*"))
		if len(found) != 1 {
			t.Fatalf("%s: %q", method, found)
		}
		read := func(name string) string {
			data, err := os.ReadFile(filepath.Join(found[0], name))
			if err != nil {
				t.Error(err)
			}
			if strings.Contains(string(data), key) || strings.Contains(string(data), old) {
				t.Errorf("%s: a key or a path is in %s", method, name)
			}
			return string(data)
		}
		input, model, wire := read("input.json"), read("replay.override.json"), read("stdout.expected.jsonl")
		if !strings.Contains(input, `"`+method+`Session"`) || strings.Contains(input, "newSession") || strings.Contains(input, "before") || !strings.Contains(input, `"text": "after"`) || strings.Contains(input, "setConfigOption") {
			t.Errorf("%s: %s", method, input)
		}
		if strings.Contains(model, "before") || strings.Count(model, "yes, after") != 1 {
			t.Errorf("%s: %s", method, model)
		}
		if all := read("session.jsonl"); !strings.Contains(all, "yes, before") || !strings.Contains(all, "yes, after") {
			t.Errorf("%s: %s", method, all)
		}
		if !strings.Contains(wire, "user_message_chunk") || !strings.Contains(wire, "end_turn") {
			t.Errorf("%s: %s", method, wire)
		}
		if about := read("recording.json"); !strings.Contains(about, `"loadedAfter": 7`) || !strings.Contains(about, "first 7 events") || !strings.Contains(about, `"complete"`) {
			t.Errorf("%s: %s", method, about)
		}
		if read("workspace/a.txt") != "here" {
			t.Errorf("%s: no workspace", method)
		}
	}
}
