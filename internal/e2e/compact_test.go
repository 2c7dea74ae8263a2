package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// knowsCompaction are the capabilities of an editor that shows compactions.
var knowsCompaction = map[string]any{"session": map[string]any{"compaction": map[string]any{}}}

// compactionUpdates are the updates about compactions, as JSON.
func (c *client) compactionUpdates(session string) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.frames {
		var p struct {
			SessionID string
			Update    json.RawMessage
		}
		if f.Method == "session/update" && json.Unmarshal(f.Params, &p) == nil && p.SessionID == session && strings.Contains(string(p.Update), `"compactionId"`) {
			out = append(out, string(p.Update))
		}
	}
	return out
}

func TestCompactionIsShownLiveAndOnLoadAlike(t *testing.T) {
	c := start(t, setup{})
	id := c.open(knowsCompaction)
	if stop := c.prompt(id, "/compact"); stop != "end_turn" || !strings.Contains(c.message(id), "nothing to compact") || len(c.compactionUpdates(id)) > 0 {
		t.Errorf("an empty conversation: %s, %q", stop, c.message(id))
	}
	c.prompt(id, "/say "+strings.Repeat("a long answer ", 300))
	c.prompt(id, "/say short")
	if stop := c.prompt(id, "/compact mind the gap"); stop != "end_turn" {
		t.Error(stop)
	}
	live := c.compactionUpdates(id)
	if n := len(live); n < 4 || !strings.Contains(live[0], `"in_progress"`) || !strings.Contains(live[1], "/say a long answer") || !strings.Contains(live[n-1], `"completed"`) {
		t.Fatalf("%q", live)
	}
	for _, u := range live[1 : len(live)-1] {
		if !strings.Contains(u, `"compaction_summary_chunk"`) {
			t.Errorf("in the middle of the summary: %s", u)
		}
	}
	if said := c.message(id); strings.Contains(said, "ummar") {
		t.Errorf("an editor that knows compactions is told twice: %q", said)
	}
	// The model goes on, and the session can be loaded.
	c.prompt(id, "/say after")
	c.call("session/close", map[string]any{"sessionId": id})
	seen := len(c.compactionUpdates(id))
	c.call("session/load", map[string]any{"sessionId": id, "cwd": c.cwd, "mcpServers": []any{}})
	if again := c.compactionUpdates(id)[seen:]; strings.Join(again, "\n") != strings.Join(live, "\n") {
		t.Errorf("live\n%s\nloaded\n%s", strings.Join(live, "\n"), strings.Join(again, "\n"))
	}
}

func TestCompactionIsToldToOtherEditors(t *testing.T) {
	c := start(t, setup{})
	id := c.open(nil)
	c.prompt(id, "/say "+strings.Repeat("a long answer ", 300))
	c.prompt(id, "/say short")
	c.prompt(id, "/compact")
	if said := c.message(id); !strings.Contains(said, "[Summarising the conversation …]") || !strings.Contains(said, "goes on from a summary of the older part.") {
		t.Errorf("%q", said)
	}
	if got := c.compactionUpdates(id); got != nil {
		t.Errorf("sent without the capability: %q", got)
	}
}

// A server with a small context refuses a conversation that has grown; the turn
// goes on from a summary, and what the server is sent afterwards is shorter and
// grows from there.
func TestAServerThatRefusesALongConversation(t *testing.T) {
	var asked atomic.Int64
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.WriteHeader(404)
			return
		}
		var body strings.Builder
		buf := make([]byte, 1<<20)
		for {
			n, err := r.Body.Read(buf)
			body.Write(buf[:n])
			if err != nil {
				break
			}
		}
		bodies = append(bodies, body.String()) // requests come one at a time
		n := asked.Add(1)
		say := func(text string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
		}
		switch {
		case strings.Contains(body.String(), "<transcript>"):
			say("THE GIST")
		case strings.Contains(body.String(), "padding") && n > 1:
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"message":"This model's maximum context length is 1000 tokens.","code":"context_length_exceeded"}}`)
		default:
			say("fine")
		}
	}))
	defer srv.Close()
	sessions := t.TempDir()
	c := start(t, setup{config: fmt.Sprintf("model: {provider: openai, name: small, base_url: %q}\nsessions: {dir: %q}\n", srv.URL, sessions)})
	id := c.open(knowsCompaction)
	c.prompt(id, "first "+strings.Repeat("padding ", 600))
	if stop := c.prompt(id, "the second request"); stop != "end_turn" {
		t.Error(stop)
	}
	c.prompt(id, "the third request")
	if got := c.compactionUpdates(id); len(got) != 3 || !strings.Contains(got[1], "THE GIST") {
		t.Errorf("%q", got)
	}
	if len(bodies) != 5 {
		t.Fatalf("%d requests", len(bodies))
	}
	if retried := bodies[3]; strings.Contains(retried, "padding") || !strings.Contains(retried, "THE GIST") || !strings.Contains(retried, "the second request") {
		t.Errorf("after the summary: %s", retried)
	}
	// The cache of the server: everything up to the last message is the same.
	messages := func(body string) string {
		_, rest, _ := strings.Cut(body, `"messages":[`)
		list, _, _ := strings.Cut(rest, `],"stream"`)
		return list
	}
	if a, b := messages(bodies[3]), messages(bodies[4]); a == "" || !strings.HasPrefix(b, a) {
		t.Errorf("the prefix changed:\n%s\nafter\n%s", b, a)
	}
	if strings.Contains(bodies[2], `"tools"`) {
		t.Error("a summary is asked for with tools")
	}
	// The log still has all of it.
	logs, _ := filepath.Glob(filepath.Join(sessions, id, "events.jsonl"))
	if len(logs) != 1 {
		t.Fatalf("no log of %s", id)
	}
	if data, err := os.ReadFile(logs[0]); err != nil || !strings.Contains(string(data), "first padding padding") {
		t.Errorf("the log lost something: %v", err)
	}
}

// A summary that is being written when the client cancels, or when the program is
// killed, leaves the conversation as it was.
func TestASummaryThatIsCutShort(t *testing.T) {
	long := strings.Repeat("a long story ", 200)
	srv := newChatServer(t, words("stop", long), untilCancelled("half a sum"), untilCancelled("half a sum"), words("stop", "still here"))
	sessions, cwd := t.TempDir(), t.TempDir()
	config := fmt.Sprintf("model: {provider: openai, name: m, base_url: %q}\nsessions: {dir: %q}\n", srv.URL, sessions)
	c := start(t, setup{config: config, cwd: cwd})
	id := c.open(knowsCompaction)
	c.prompt(id, "tell me "+long)
	begun := func(n int) func() bool {
		return func() bool { srv.mu.Lock(); defer srv.mu.Unlock(); return srv.asked >= n }
	}
	compact := c.request("session/prompt", textPrompt(id, "/compact"))
	waitUntil(t, "the first summary", begun(2))
	c.notify("session/cancel", map[string]any{"sessionId": id})
	if f := c.reply(compact); f.Error != nil || stopReason(f) != "cancelled" {
		t.Errorf("%+v %s", f.Error, f.Result)
	}
	if got := c.compactionUpdates(id); len(got) != 2 || !strings.Contains(got[1], `"cancelled"`) {
		t.Errorf("%q", got)
	}
	c.request("session/prompt", textPrompt(id, "/compact"))
	waitUntil(t, "the second summary", begun(3))
	c.kill()

	again := start(t, setup{config: config, cwd: cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": knowsCompaction})
	if f := again.call("session/load", map[string]any{"sessionId": id, "cwd": cwd, "mcpServers": []any{}}); f.Error != nil {
		t.Fatalf("%+v", f.Error)
	}
	if got := again.compactionUpdates(id); len(got) != 4 || !strings.Contains(got[3], `"failed"`) || !strings.Contains(got[3], "nothing was replaced") {
		t.Errorf("%q", got)
	}
	if stop := again.prompt(id, "go on"); stop != "end_turn" {
		t.Error(stop)
	}
	if last := srv.lastBody(); !strings.Contains(last, "tell me a long story") || strings.Contains(last, "half a sum") {
		t.Errorf("the model was sent %.300s", last)
	}
}
