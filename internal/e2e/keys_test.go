package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The model looks for the key in all the places where it can be found. Whatever
// it finds, the key is in nothing that is written, shown or sent.
func TestNoKeyIsWrittenShownOrSent(t *testing.T) {
	const stored, inFile, inHeader = "sk-e2e-stored-key-0123456789", "sk-e2e-other-providers-key-98", "gateway-secret-0123456789"
	state, cwd := t.TempDir(), t.TempDir()
	store := filepath.Join(state, "dsh-acp", "credentials.json")
	if err := os.MkdirAll(filepath.Dir(store), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(store, []byte(fmt.Sprintf(`{"openai": %q, "anthropic": %q}`, stored, inFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(name string, args map[string]any) string {
		text, _ := json.Marshal(args)
		return fmt.Sprintf(`{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":%q,"arguments":%q}}]},"finish_reason":"tool_calls"}`, name, text)
	}
	say := func(text string) string {
		return fmt.Sprintf(`{"delta":{"content":%q},"finish_reason":"stop"}`, text)
	}
	steps := []string{
		call("bash", map[string]any{"command": "cat ~/test.yaml", "description": "look"}),
		call("bash", map[string]any{"command": "cat " + store, "description": "look"}),
		call("bash", map[string]any{"command": "all=$(cat " + store + "); for i in $(seq 2000); do echo \"$all\"; done", "description": "a long look"}),
		call("bash", map[string]any{"command": "cat " + store + "; sleep 0.2", "description": "a look in the background", "run_in_background": true}),
		call("bash", map[string]any{"command": "sleep 0.6", "description": "wait for it"}),
		call("read", map[string]any{"file_path": store}),
		call("grep", map[string]any{"pattern": "sk-", "path": filepath.Dir(store)}),
		call("write", map[string]any{"file_path": filepath.Join(cwd, "found.txt"), "content": "it is " + stored}),
		say("The key is " + stored + "."),
	}
	var mu sync.Mutex
	var sent []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.WriteHeader(404)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+stored {
			w.WriteHeader(401)
			return
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, string(body))
		next := say("done")
		if len(steps) > 0 {
			next, steps = steps[0], steps[1:]
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[%s]}\n\ndata: [DONE]\n\n", next)
	}))
	defer srv.Close()
	sessions := filepath.Join(state, "dsh-acp", "sessions")
	c := start(t, setup{
		cwd: cwd, env: []string{"XDG_STATE_HOME=" + state},
		config: fmt.Sprintf("model: {provider: openai, name: m, base_url: %q, headers: {X-Gateway-Auth: Bearer %s}}\nsessions: {dir: %q}\npermissions: {preset: danger-full-access}\n", srv.URL, inHeader, sessions),
	})
	id := c.open(map[string]any{"_meta": map[string]any{"terminal_output": true}})
	if stop := c.prompt(id, "find it"); stop != "end_turn" {
		t.Fatal(stop)
	}
	c.prompt(id, "once more")
	holds := func(text string) bool {
		return strings.Contains(text, stored) || strings.Contains(text, inFile) || strings.Contains(text, inHeader)
	}
	mu.Lock()
	if len(sent) != 10 {
		t.Errorf("%d requests", len(sent))
	}
	for i, body := range sent {
		if holds(body) {
			t.Errorf("request %d holds a key", i)
		}
	}
	if last := sent[len(sent)-1]; !strings.Contains(last, "[key]") {
		t.Error("the model found nothing at all")
	}
	mu.Unlock()
	c.mu.Lock()
	for _, f := range c.frames {
		if holds(string(f.Params)) || holds(string(f.Result)) {
			t.Errorf("a frame holds a key: %s", f.Params)
		}
	}
	c.mu.Unlock()
	err := filepath.WalkDir(sessions, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && holds(string(data)) {
			t.Errorf("%s holds a key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	// What the model was asked to write is what is written.
	if data, err := os.ReadFile(filepath.Join(cwd, "found.txt")); err != nil || string(data) != "it is "+stored {
		t.Errorf("%v %q", err, data)
	}
}

// Arguments that an editor's reader of JSON would refuse are announced all the
// same, and do not go back to the server.
// A key in a variable whose name does not say so is kept from commands, hooks and
// MCP servers too.
func TestAKeyInAVariableOfAnyNameIsKeptFromCommands(t *testing.T) {
	cwd := t.TempDir()
	write(t, filepath.Join(cwd, "hooks.json"), hookFile(t, "PreToolUse", "", "env > hook.env"))
	c := start(t, setup{
		cwd: cwd, env: []string{"LLM_AUTH=sk-e2e-key-of-any-name", "LLM_SEARCH=other-key-of-any-name", "LLM_PLAIN=plain"},
		config: "model: {provider: local, api_key_env: LLM_AUTH}\nweb: {search: {provider: tavily, api_key_env: LLM_SEARCH}}\n" +
			"permissions: {preset: danger-full-access}\nhooks: {claude_code: hooks.json}\n",
	})
	s := c.openWith(nil, stdioServer("any", []string{"sh", "-c", "env > " + filepath.Join(cwd, "server.env")}))
	c.prompt(s, tool("bash", map[string]any{"command": "env > bash.env", "description": "Look around"}))
	for _, name := range []string{"hook.env", "bash.env", "server.env"} {
		text, err := os.ReadFile(filepath.Join(cwd, name))
		// The prompt waits for a server, but not for ever.
		for end := time.Now().Add(time.Minute); !strings.Contains(string(text), "LLM_PLAIN") && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			text, err = os.ReadFile(filepath.Join(cwd, name))
		}
		if err != nil || !strings.Contains(string(text), "LLM_PLAIN=plain") || strings.Contains(string(text), "of-any-name") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

func TestArgumentsThatNoReaderTakesAreAnnounced(t *testing.T) {
	steps := []string{
		`{"command":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
		`{"command":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		`{"command":"true","description":"d","timeout":1e400}`,
	}
	var mu sync.Mutex
	asked, last := 0, ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.WriteHeader(404)
			return
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		asked, last = asked+1, string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		if asked > len(steps) {
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			return
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call%d\",\"function\":{\"name\":\"bash\",\"arguments\":%q}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", asked, steps[asked-1])
	}))
	defer srv.Close()
	c := start(t, setup{config: fmt.Sprintf("model: {provider: openai, name: m, base_url: %q}\n", srv.URL)})
	id := c.open(nil)
	if stop := c.prompt(id, "go"); stop != "end_turn" {
		t.Fatal(stop)
	}
	started, ended := map[string]bool{}, 0
	c.mu.Lock()
	for _, f := range c.frames {
		var p struct {
			Update struct {
				SessionUpdate, ToolCallID, Status string
				RawInput                          json.RawMessage
			}
		}
		if f.Method != "session/update" || json.Unmarshal(f.Params, &p) != nil {
			continue
		}
		switch u := p.Update; {
		case u.SessionUpdate == "tool_call":
			started[u.ToolCallID] = true
			var v any
			if err := json.Unmarshal(u.RawInput, &v); err != nil || strings.Count(string(u.RawInput), "[") > 100 && u.RawInput[0] != '"' {
				t.Errorf("%s: %v", u.ToolCallID, err)
			}
		case u.SessionUpdate == "tool_call_update" && u.Status == "failed":
			if !started[u.ToolCallID] {
				t.Errorf("%s failed and was never announced", u.ToolCallID)
			}
			ended++
		}
	}
	c.mu.Unlock()
	if len(started) != 3 || ended != 3 {
		t.Errorf("%d announced, %d failed", len(started), ended)
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(last, "[[[[") || strings.Contains(last, "1e400") {
		t.Error("the server is sent what it may refuse")
	}
}
