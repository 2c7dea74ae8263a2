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
