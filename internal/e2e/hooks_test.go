package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withHooks is an agent whose configuration names a hook file of the workspace.
func withHooks(t *testing.T, file string) *client {
	t.Helper()
	cwd := t.TempDir()
	write(t, filepath.Join(cwd, "hooks.json"), file)
	return start(t, setup{config: fullAccess + "hooks:\n  claude_code: hooks.json\n  codex: absent.json\n", cwd: cwd})
}

// hookFile is a hook file with one command at a point.
func hookFile(t *testing.T, point, matcher, command string) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"hooks": map[string]any{point: []any{map[string]any{
		"matcher": matcher, "hooks": []any{map[string]any{"type": "command", "command": command}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAHookRefusesACallAndTheSessionGoesOn(t *testing.T) {
	c := withHooks(t, hookFile(t, "PreToolUse", "Bash", "echo 'no shell today' >&2; exit 2"))
	s := c.open(nil)
	if stop := c.prompt(s, tool("bash", map[string]any{"command": "touch ran", "description": "Leave a mark"})); stop != "end_turn" {
		t.Error(stop)
	}
	calls := c.calls(s)
	if len(calls) != 1 || calls[0].Status != "failed" || !strings.Contains(string(calls[0].Content), "no shell today") {
		t.Errorf("%+v", calls)
	}
	if _, err := os.Stat(filepath.Join(c.cwd, "ran")); err == nil {
		t.Error("the call ran")
	}
	if stop := c.prompt(s, tool("read", map[string]any{"file_path": "hooks.json"})); stop != "end_turn" || c.calls(s)[1].Status != "completed" {
		t.Error("another tool is refused too")
	}
}

func TestABlockedPromptReachesNoModelAndTheNextOneDoes(t *testing.T) {
	c := withHooks(t, hookFile(t, "UserPromptSubmit", "", "if grep -q secret; then echo 'no secrets' >&2; exit 2; fi"))
	s := c.open(nil)
	if stop := c.prompt(s, "the secret is 42"); stop != "cancelled" {
		t.Error(stop)
	}
	for _, u := range c.updates(s) {
		if strings.HasSuffix(u.SessionUpdate, "_chunk") || u.SessionUpdate == "session_info_update" {
			t.Errorf("something is shown: %+v", u)
		}
	}
	if stop := c.prompt(s, "hello"); stop != "end_turn" {
		t.Error(stop)
	}
}

// An editor that takes more than the recorded bridge gave is told why a prompt
// went nowhere, live and when the session is loaded; any other finds the reason
// beside the stop reason.
func TestABlockedPromptSaysWhy(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	write(t, filepath.Join(cwd, "hooks.json"), hookFile(t, "UserPromptSubmit", "", "if grep -q secret; then echo 'no secrets' >&2; exit 2; fi"))
	config := withSessions(dir) + "hooks:\n  claude_code: hooks.json\n"
	for _, caps := range []map[string]any{nil, {"_meta": map[string]any{"x": true}}, {"session": map[string]any{"notices": map[string]any{}}}} {
		c := start(t, setup{config: config, cwd: cwd})
		s := c.open(caps)
		f := c.call("session/prompt", textPrompt(s, "the secret is 42"))
		if stop := stopReason(f); stop != "cancelled" || !strings.Contains(string(f.Result), `"dsh/promptBlocked":{"reason":"no secrets"}`) {
			t.Errorf("%s", f.Result)
		}
		const want = "[A hook stopped this prompt, and no model has read it: no secrets]"
		if got := strings.TrimSpace(c.message(s)); (got == want) != (caps != nil) || caps == nil && got != "" {
			t.Errorf("%v: %q", caps, got)
		}
		c.closeInput()
		again := start(t, setup{config: config, cwd: cwd})
		if caps == nil {
			caps = map[string]any{}
		}
		again.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps})
		if f := again.load(s); f.Error != nil {
			t.Fatalf("%+v", f.Error)
		}
		if got := again.message(s); got != c.message(s) {
			t.Errorf("loaded: %q, live %q", got, c.message(s))
		}
	}
}

func TestABadMatcherIsReportedAndTheSessionGoesOn(t *testing.T) {
	c := withHooks(t, hookFile(t, "PreToolUse", "(", "exit 2"))
	s := c.open(nil)
	if stop := c.prompt(s, bashPrompt); stop != "end_turn" || c.calls(s)[0].Status != "completed" {
		t.Errorf("%s, %+v", stop, c.calls(s))
	}
	if !c.logged("matcher") {
		t.Error("nobody is told")
	}
}

func TestAHookFileThatCannotBeUsedRefusesTheSession(t *testing.T) {
	c := withHooks(t, `{"hooks":`)
	if f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}); f.Error != nil {
		t.Fatal(f.Error.Message)
	}
	f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": []any{}})
	if f.Error == nil || !strings.Contains(f.Error.Message+string(f.Error.Data), "hooks.json") {
		t.Errorf("%+v", f)
	}
}

func TestCancellingWhileAHookRuns(t *testing.T) {
	c := withHooks(t, hookFile(t, "PreToolUse", "", "sleep 600 & echo $! > pid; wait"))
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, bashPrompt))
	pid := waitForFile(t, filepath.Join(c.cwd, "pid"))
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if stop := stopReason(c.reply(id)); stop != "cancelled" {
		t.Error(stop)
	}
	wantGone(t, pid, "what the hook started")
	if calls := c.calls(s); len(calls) != 1 || calls[0].Status != "failed" {
		t.Errorf("%+v", calls)
	}
}

// A workspace's own hooks run once somebody has allowed them, as they are.
func TestHooksOfAWorkspaceNeedConsent(t *testing.T) {
	cwd, sessions := t.TempDir(), t.TempDir()
	file := filepath.Join(cwd, ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, file, hookFile(t, "PreToolUse", "bash", "touch hooked"))
	hooked := func() bool {
		t.Helper()
		_ = os.Remove(filepath.Join(cwd, "hooked"))
		c := start(t, setup{config: fullAccess, cwd: cwd, args: []string{"--sessions", sessions}})
		s := c.open(nil)
		if stop := c.prompt(s, bashPrompt); stop != "end_turn" || c.calls(s)[0].Status != "completed" {
			t.Errorf("%s, %+v", stop, c.calls(s))
		}
		if code, _ := c.closeInput(); code != 0 { // and all of stderr is there
			t.Errorf("exit code %d", code)
		}
		_, err := os.Stat(filepath.Join(cwd, "hooked"))
		if told := strings.Contains(c.stderr.String(), "dsh-acp hooks --allow"); told == (err == nil) {
			t.Errorf("ran %v, told how to allow it %v", err == nil, told)
		}
		return err == nil
	}
	consent := func(flag string) {
		t.Helper()
		cmd := exec.Command(bin, "hooks", "--sessions", sessions, flag, cwd)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + sessions}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "touch hooked") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if hooked() {
		t.Error("hooks that nobody has allowed ran")
	}
	consent("--allow")
	if !hooked() {
		t.Error("hooks that were allowed do not run")
	}
	write(t, file, hookFile(t, "PreToolUse", "bash", "touch hooked; true"))
	if hooked() {
		t.Error("hooks that have changed since ran")
	}
	consent("--allow")
	consent("--revoke")
	if hooked() {
		t.Error("hooks that are no more allowed ran")
	}
}

// A hook's question goes the way of every question: to the person, unless the
// preset never asks.
func TestAHookAsks(t *testing.T) {
	output := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?"}}`
	file := hookFile(t, "PreToolUse", "read", "echo '"+output+"'")
	for _, tt := range []struct {
		name, preset string
		asked        int
		status       string
	}{
		{"the person", "workspace-write", 1, "completed"},
		{"nobody", "danger-full-access", 0, "failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cwd, asked := t.TempDir(), 0
			write(t, filepath.Join(cwd, "hooks.json"), file)
			c := start(t, setup{config: "model:\n  provider: local\npermissions:\n  preset: " + tt.preset + "\nhooks:\n  claude_code: hooks.json\n", cwd: cwd})
			c.permit = func(json.RawMessage) string { asked++; return "allow_once" }
			s := c.open(nil)
			c.prompt(s, tool("read", map[string]any{"file_path": "hooks.json"}))
			calls := c.calls(s)
			if asked != tt.asked || len(calls) != 1 || calls[0].Status != tt.status {
				t.Errorf("asked %d times, %+v", asked, calls)
			}
		})
	}
}
