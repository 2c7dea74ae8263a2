package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Without a key a session is refused with the code for it, and once there is one
// the same agent goes on.
func TestAKeyIsAskedForAndFoundLater(t *testing.T) {
	c := start(t, setup{args: []string{"--model", "deepseek/deepseek-chat"}})
	f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"auth": map[string]any{"terminal": true}}})
	for _, want := range []string{`"id":"key"`, `"id":"login"`, `"type":"terminal"`, "DEEPSEEK_API_KEY"} {
		if !strings.Contains(string(f.Result), want) {
			t.Errorf("no %s in %s", want, f.Result)
		}
	}
	open := map[string]any{"cwd": c.cwd, "mcpServers": []any{}}
	if f := c.call("session/new", open); f.Error == nil || f.Error.Code != -32000 || !strings.Contains(f.Error.Message+string(f.Error.Data), "DEEPSEEK_API_KEY") {
		t.Errorf("without a key: %+v", f.Error)
	}
	if f := c.call("authenticate", map[string]any{"methodId": "key"}); f.Error == nil || f.Error.Code != -32000 {
		t.Errorf("authenticate without a key: %+v", f.Error)
	}
	if f := c.call("authenticate", map[string]any{"methodId": "login"}); f.Error == nil || f.Error.Code != -32602 {
		t.Errorf("a terminal method is not for authenticate: %+v", f.Error)
	}
	login := exec.Command(bin, "login")
	login.Env = c.cmd.Env
	login.Stdin = strings.NewReader("sk-test-0123456789\n")
	if out, err := login.CombinedOutput(); err != nil || strings.Contains(string(out), "sk-test") {
		t.Fatalf("%v\n%s", err, out)
	}
	if f := c.call("authenticate", map[string]any{"methodId": "key"}); f.Error != nil || string(f.Result) != "{}" {
		t.Errorf("authenticate with a key: %+v %s", f.Error, f.Result)
	}
	if f := c.call("session/new", open); f.Error != nil {
		t.Errorf("with a key: %+v", f.Error)
	}
}

// The key is nowhere in what a turn writes, shows or reports.
func TestTheKeyIsWrittenNowhere(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	sessions := t.TempDir()
	c := start(t, setup{
		config: "model:\n  provider: openai\n  name: some-model\n  base_url: http://127.0.0.1:9/v1\nlog: {level: debug}\nsessions: {dir: " + sessions + "}\nlimits: {max_steps: 3}\n",
		env:    []string{"OPENAI_API_KEY=" + key},
	})
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, "hello"))
	c.wait("a retry or a failure", func(fs []frame) bool {
		for _, f := range fs {
			if u, _ := updateOf(f); string(f.ID) == itoa(id) || strings.Contains(string(u.Content), "attempt") {
				return true
			}
		}
		return false
	})
	c.notify("session/cancel", map[string]any{"sessionId": s})
	c.reply(id)
	c.closeInput()
	c.mu.Lock()
	shown := dump(c.frames)
	c.mu.Unlock()
	if strings.Contains(shown, key) || strings.Contains(c.stderr.String(), key) {
		t.Error("the key was shown or logged")
	}
	err := filepath.WalkDir(sessions, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), key) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func (c *client) newCode() int {
	c.t.Helper()
	if f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": []any{}}); f.Error != nil {
		return f.Error.Code
	}
	return 0
}

// Logging out forgets the stored key, and uses none until somebody logs in again.
func TestLogout(t *testing.T) {
	c := start(t, setup{args: []string{"--model", "deepseek/deepseek-chat"}})
	login := exec.Command(bin, "--model", "deepseek/deepseek-chat", "login") // as an editor appends it
	login.Env = c.cmd.Env
	login.Stdin = strings.NewReader("sk-test-0123456789\n")
	if out, err := login.CombinedOutput(); err != nil || !strings.Contains(string(out), "deepseek") {
		t.Fatalf("%v\n%s", err, out)
	}
	if f := c.call("initialize", map[string]any{"protocolVersion": 1}); !strings.Contains(string(f.Result), `"auth":{"logout":{}}`) {
		t.Errorf("%s", f.Result)
	}
	if code := c.newCode(); code != 0 {
		t.Fatalf("with a key: %d", code)
	}
	if f := c.call("logout", map[string]any{}); f.Error != nil || string(f.Result) != "{}" {
		t.Errorf("%+v %s", f.Error, f.Result)
	}
	if code := c.newCode(); code != -32000 {
		t.Errorf("after logout: %d", code)
	}
	if f := c.call("authenticate", map[string]any{"methodId": "key"}); f.Error == nil || f.Error.Code != -32000 {
		t.Errorf("the stored key is still there: %+v", f.Error)
	}
	if f := c.call("logout", nil); f.Error != nil {
		t.Errorf("logging out twice: %+v", f.Error)
	}

	// A key of the environment counts again after authenticate only.
	env := start(t, setup{args: []string{"--model", "deepseek/deepseek-chat"}, env: []string{"DEEPSEEK_API_KEY=sk-environment-0123456789"}})
	s := env.open(nil)
	env.call("logout", map[string]any{})
	if code := env.newCode(); code != -32000 {
		t.Errorf("after logout, with a key in the environment: %d", code)
	}
	if f := env.call("session/prompt", textPrompt(s, "hello")); f.Error == nil || f.Error.Code != -32000 || strings.Contains(f.Error.Message, "sk-env") || !strings.Contains(f.Error.Message, "logged out") {
		t.Errorf("an open session after logout: %+v", f.Error)
	}
	if f := env.call("authenticate", map[string]any{"methodId": "key"}); f.Error != nil {
		t.Errorf("%+v", f.Error)
	}
	if code := env.newCode(); code != 0 {
		t.Errorf("after authenticate: %d", code)
	}

	local := start(t, setup{})
	if f := local.call("initialize", map[string]any{"protocolVersion": 1}); strings.Contains(string(f.Result), "logout") {
		t.Errorf("a model without a key advertises logout: %s", f.Result)
	}
	if f := local.call("logout", map[string]any{}); f.Error == nil || f.Error.Code != -32601 {
		t.Errorf("%+v", f.Error)
	}
}

// A client with a gateway brings its own address and headers; nobody reads them
// anywhere but the gateway.
func TestGateway(t *testing.T) {
	const secret = "gateway-secret-0123456789"
	sessions := t.TempDir()
	m := newModelServer(t)
	c := start(t, setup{
		config: "model: {provider: openai, name: seer, context_window: 9000}\nlog: {level: debug}\nsessions: {dir: " + sessions + "}\n",
	})
	f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"auth": map[string]any{"_meta": map[string]any{"gateway": true}}}})
	if !strings.Contains(string(f.Result), `"id":"gateway"`) || !strings.Contains(string(f.Result), `"_meta":{"gateway":{"protocol":"openai"}}`) {
		t.Errorf("%s", f.Result)
	}
	if code := c.newCode(); code != -32000 {
		t.Errorf("without anything: %d", code)
	}
	authenticate := func(gateway any) frame {
		return c.call("authenticate", map[string]any{"methodId": "gateway", "_meta": map[string]any{"gateway": gateway}})
	}
	headers := map[string]any{"Authorization": "Bearer " + secret}
	for _, bad := range []any{nil, "x", map[string]any{"headers": headers}, map[string]any{"baseUrl": "nowhere", "headers": headers}, map[string]any{"baseUrl": m.URL, "headers": map[string]any{"A": 1}}} {
		if f := authenticate(bad); f.Error == nil || f.Error.Code != -32602 || strings.Contains(f.Error.Message+string(f.Error.Data), secret) {
			t.Errorf("%v: %+v", bad, f.Error)
		}
	}
	if f := authenticate(map[string]any{"baseUrl": m.URL, "headers": headers}); f.Error != nil || string(f.Result) != "{}" {
		t.Fatalf("%+v", f.Error)
	}
	s := c.newSession()
	c.prompt(s, "hello")
	if !strings.Contains(c.message(s), "seen") || m.header("Authorization") != "Bearer "+secret {
		t.Errorf("%q, with %q", c.message(s), m.header("Authorization"))
	}
	c.call("logout", map[string]any{})
	if code := c.newCode(); code != -32000 {
		t.Errorf("after logout: %d", code)
	}
	n := m.requests()
	if f := c.call("session/prompt", textPrompt(s, "hello")); f.Error == nil || f.Error.Code != -32000 || m.requests() != n {
		t.Errorf("after logout the gateway was still asked: %+v", f.Error)
	}
	c.closeInput()
	c.mu.Lock()
	shown := dump(c.frames)
	c.mu.Unlock()
	if strings.Contains(shown, secret) || strings.Contains(c.stderr.String(), secret) {
		t.Error("the gateway's key was shown or logged")
	}
	_ = filepath.WalkDir(sessions, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if data, _ := os.ReadFile(path); strings.Contains(string(data), secret) {
				t.Errorf("the gateway's key is in %s", path)
			}
		}
		return nil
	})
}

// Clients of the older convention get the whole command for their terminal.
func TestTerminalAuthOfOlderClients(t *testing.T) {
	c := start(t, setup{args: []string{"--model", "openai/gpt-4o"}})
	f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"_meta": map[string]any{"terminal-auth": true}}})
	for _, want := range []string{`"id":"login"`, `"_meta":{"terminal-auth":{"command":"`, `"args":["--model","openai/gpt-4o","login"]`, `"label":"dsh-acp login"`} {
		if !strings.Contains(string(f.Result), want) {
			t.Errorf("no %s in %s", want, f.Result)
		}
	}
	if strings.Contains(string(f.Result), `"type":"terminal"`) {
		t.Errorf("a terminal method for a client that does not know them: %s", f.Result)
	}
	if f := c.call("authenticate", map[string]any{"methodId": "login"}); f.Error == nil || f.Error.Code != -32000 {
		t.Errorf("before the login: %+v", f.Error)
	}
	login := exec.Command(bin, "--model", "openai/gpt-4o", "login")
	login.Env = c.cmd.Env
	login.Stdin = strings.NewReader("sk-test-0123456789\n")
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if f := c.call("authenticate", map[string]any{"methodId": "login"}); f.Error != nil {
		t.Errorf("after the login: %+v", f.Error)
	}
	if code := c.newCode(); code != 0 {
		t.Errorf("session/new: %d", code)
	}
	if out, err := exec.Command(bin, "--model", "local", "logon").CombinedOutput(); err == nil || !strings.Contains(string(out), `unexpected argument "logon"`) {
		t.Errorf("%v %s", err, out)
	}
}
