package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// modelServer is a server of a chat model that says "seen" to everything and
// keeps what it was sent.
type modelServer struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	sent   http.Header   // of the last request
	hold   chan struct{} // if not nil, an answer waits until something can be read
}

func newModelServer(t testing.TB) *modelServer {
	m := &modelServer{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		b, _ := io.ReadAll(r.Body)
		m.mu.Lock()
		m.bodies = append(m.bodies, string(b))
		m.sent = r.Header.Clone()
		m.mu.Unlock()
		if m.hold != nil {
			select {
			case <-m.hold:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"seen"},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":1200,"completion_tokens":30,"total_tokens":1230,"prompt_tokens_details":{"cached_tokens":1000}}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *modelServer) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.bodies) == 0 {
		return ""
	}
	return m.bodies[len(m.bodies)-1]
}

func (m *modelServer) header(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent.Get(name)
}

func (m *modelServer) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.bodies)
}

func (m *modelServer) config(dir, more string) string {
	return fmt.Sprintf("model: {provider: openai, name: seer, base_url: %q, api_key_env: TEST_KEY, %s}\nsessions: {dir: %q}\n", m.URL, more, dir)
}

func (c *client) promptBlocks(session string, blocks ...any) frame {
	c.t.Helper()
	return c.call("session/prompt", map[string]any{"sessionId": session, "prompt": blocks})
}

// Everything that a prompt may hold reaches the model, and is shown again as it
// was sent.
func TestPromptContent(t *testing.T) {
	dir := t.TempDir()
	m := newModelServer(t)
	c := start(t, setup{config: m.config(dir, "images: yes"), env: []string{"TEST_KEY=k"}})
	f := c.call("initialize", map[string]any{"protocolVersion": 1})
	if !strings.Contains(string(f.Result), `"image":true`) || !strings.Contains(string(f.Result), `"embeddedContext":true`) || !strings.Contains(string(f.Result), `"audio":false`) {
		t.Errorf("%s", f.Result)
	}
	s := c.newSession()
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n…"))
	sent := []any{
		map[string]any{"type": "text", "text": "Look: "},
		map[string]any{"type": "image", "data": png, "mimeType": "image/png", "uri": "file:///w/shot.png"},
		map[string]any{"type": "resource_link", "uri": "file:///w/a%20b.go#L3-7", "name": "a b.go", "mimeType": "text/x-go"},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///w/notes.md", "text": "# Notes", "mimeType": "text/markdown"}},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///w/data.json", "blob": base64.StdEncoding.EncodeToString([]byte(`{"a":1}`)), "mimeType": "application/json"}},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///w/lib.so", "blob": "f0VMRgD/", "mimeType": "application/x-sharedlib"}},
	}
	if f := c.promptBlocks(s, sent...); stopReason(f) != "end_turn" {
		t.Fatalf("%s %+v", f.Result, f.Error)
	}
	for _, want := range []string{
		"data:image/png;base64," + png, `Look: `, `name=\"a b.go\"`, `path=\"/w/a b.go\" lines=\"3-7\"`, `# Notes`, `{\"a\":1}`, `6 bytes of \"application/x-sharedlib\", not shown`,
	} {
		if !strings.Contains(m.last(), want) {
			t.Errorf("the model did not get %q:\n%s", want, m.last())
		}
	}
	if f := c.promptBlocks(s, map[string]any{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}); f.Error == nil || f.Error.Code != -32602 || !strings.Contains(f.Error.Message, "audio") {
		t.Errorf("audio: %+v", f.Error)
	}
	c.closeInput()

	again := start(t, setup{config: m.config(dir, "images: yes"), env: []string{"TEST_KEY=k"}, cwd: c.cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1})
	if f := again.load(s); f.Error != nil {
		t.Fatalf("%+v", f.Error)
	}
	var shown []any
	ids := map[string]bool{}
	for _, f := range again.seen() {
		var p struct {
			Update struct {
				SessionUpdate, MessageID string
				Content                  any
			}
		}
		if json.Unmarshal(f.Params, &p) == nil && p.Update.SessionUpdate == "user_message_chunk" {
			shown = append(shown, p.Update.Content)
			ids[p.Update.MessageID] = true
		}
	}
	want, _ := json.Marshal(sent)
	if got, _ := json.Marshal(shown); string(got) != string(want) || len(ids) != 1 {
		t.Errorf("sent  %s\nshown %s (messages %v)", want, got, ids)
	}
	again.prompt(s, "go on")
	if !strings.Contains(again.message(s), "seen") || !strings.Contains(m.last(), png) || !strings.Contains(m.last(), "# Notes") {
		t.Error("the loaded session has lost what the prompt held")
	}
}

func TestImagesForAModelThatTakesNone(t *testing.T) {
	m := newModelServer(t)
	c := start(t, setup{config: m.config(t.TempDir(), "images: no"), env: []string{"TEST_KEY=k"}})
	s := c.open(nil)
	f := c.promptBlocks(s, map[string]any{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"})
	if f.Error == nil || f.Error.Code != -32602 || !strings.Contains(f.Error.Message, "prompt[0].type: image blocks are not supported") {
		t.Errorf("%+v", f.Error)
	}
	if m.last() != "" {
		t.Error("a refused prompt reached the model")
	}
}

func TestSkillsAreCommands(t *testing.T) {
	dir := t.TempDir()
	m := newModelServer(t)
	c := start(t, setup{config: m.config(dir, "images: no"), env: []string{"TEST_KEY=k"}})
	skill := func(name, text string) {
		write(t, filepath.Join(c.cwd, ".agents", "skills", name, "SKILL.md"), "---\nname: "+name+"\ndescription: How to "+name+".\n---\n"+text)
	}
	skill("brew", "Boil the water first.")
	s := c.open(nil)
	commands := func() string {
		var last string
		for _, f := range c.seen() {
			if strings.Contains(string(f.Params), "available_commands_update") {
				last = string(f.Params)
			}
		}
		return last
	}
	c.prompt(s, "/brew\ttwo cups")
	if !strings.Contains(commands(), `{"name":"brew","description":"How to brew.","input":{"hint":"[what to do]"}}`) {
		t.Errorf("the skill is not announced: %s", commands())
	}
	if got := m.last(); !strings.Contains(got, "Boil the water first.") || !strings.Contains(got, "two cups") || strings.Contains(got, `/brew\ttwo`) {
		t.Errorf("the model was sent %.2000s", got)
	}
	skill("pour", "Slowly.")
	c.prompt(s, "hello")
	if !strings.Contains(commands(), `"pour"`) {
		t.Errorf("the new skill is not announced: %s", commands())
	}
	c.prompt(s, "/nothing like it")
	if !strings.Contains(m.last(), "/nothing like it") {
		t.Error("an unknown command did not reach the model")
	}
	c.closeInput()
	again := start(t, setup{config: m.config(dir, "images: no"), env: []string{"TEST_KEY=k"}, cwd: c.cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1})
	again.load(s)
	if users := strings.Join(again.shown(s, true), "\n"); !strings.Contains(users, `"text":"/brew\ttwo cups"`) || strings.Contains(users, "Boil the water") {
		t.Errorf("the replay shows %s", users)
	}
}
