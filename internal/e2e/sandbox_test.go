package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/sandbox"
)

// confining starts a program whose temporary folder is its own, so that what is
// outside of the workspace is outside of all that may be written.
func confining(t *testing.T, config string) (*client, string) {
	t.Helper()
	if s := sandbox.New(sandbox.Auto).Status(); s.Mechanism == sandbox.None || !s.Protects {
		t.Skipf("nothing on this machine confines commands: %s", strings.Join(s.Details, "; "))
	}
	outside := t.TempDir()
	return start(t, setup{config: "model: {provider: local}\n" + config, env: []string{"TMPDIR=" + t.TempDir()}}), outside
}

func command(line string, more ...string) string {
	args := map[string]any{"command": line, "description": "Try it"}
	if len(more) > 0 {
		args["sandbox_permissions"], args["justification"] = more[0], "the user wants it"
	}
	return tool("bash", args)
}

const (
	deniedLine = "[sandbox: file access denied under workspace-write mode]"
	hintLine   = "[sandbox: escalation available — retry this exact command once with sandbox_permissions (the narrowest wider mode that suffices) + justification; the approval prompt asks the user]"
)

func lastText(c *client, s string) string {
	calls := c.calls(s)
	return string(calls[len(calls)-1].Content) + string(calls[len(calls)-1].RawOutput)
}

// A command runs unasked inside of its bounds; a write outside is told as the
// policy's doing; an approved escalation runs once with wider bounds.
func TestASandboxedCommandAndItsEscalation(t *testing.T) {
	c, outside := confining(t, "")
	asked := 0
	c.permit = func(json.RawMessage) string { asked++; return "allow_once" }
	s := c.open(nil)
	c.prompt(s, command("echo in > in.txt && cat in.txt"))
	if got, err := os.ReadFile(filepath.Join(c.cwd, "in.txt")); err != nil || string(got) != "in\n" || asked != 0 {
		t.Fatalf("%q, %v, asked %d times", got, err, asked)
	}
	line := "echo x > " + filepath.Join(outside, "f")
	c.prompt(s, command(line))
	text := lastText(c, s)
	denied, hint := strings.Index(text, deniedLine), strings.Index(text, hintLine)
	if exit := strings.LastIndex(text, "[exit code: 1]"); denied < 0 || hint < denied || exit < hint {
		t.Errorf("the denial is not told in order: %s", text)
	}
	if _, err := os.Stat(filepath.Join(outside, "f")); err == nil || asked != 0 {
		t.Errorf("written, or asked %d times", asked)
	}
	c.prompt(s, command(line, "danger-full-access"))
	if _, err := os.Stat(filepath.Join(outside, "f")); err != nil || asked != 1 {
		t.Errorf("%v; asked %d times", err, asked)
	}
	c.prompt(s, command("rm "+filepath.Join(outside, "f")))
	if _, err := os.Stat(filepath.Join(outside, "f")); err != nil || asked != 1 {
		t.Error("the escalation outlived its call")
	}
	// The system's own refusal is not ours, and no reason to escalate.
	c.prompt(s, command("cat no-such-file; echo '"+filepath.Join(outside, "f")+": not denied'; false"))
	if text := lastText(c, s); strings.Contains(text, "[sandbox:") {
		t.Error(text)
	}
}

func TestPresetsConfine(t *testing.T) {
	c, outside := confining(t, "permissions: {preset: read-only, rules: [{tool: bash, decision: allow}]}\n")
	s := c.open(nil)
	c.prompt(s, command("echo x > in.txt; python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9))' 2>&1 || cat < /dev/tcp/127.0.0.1/9"))
	if _, err := os.Stat(filepath.Join(c.cwd, "in.txt")); err == nil {
		t.Error("read-only wrote")
	}
	if text := lastText(c, s); !strings.Contains(text, "[sandbox: file access denied under read-only mode]") {
		t.Error(text)
	}
	c.setOption(s, "permission", "danger-full-access")
	c.prompt(s, command("echo x > in.txt; echo x > "+filepath.Join(outside, "f")))
	for _, path := range []string{filepath.Join(c.cwd, "in.txt"), filepath.Join(outside, "f")} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("full access: %v", err)
		}
	}
}

// The commands of subagents and of programs have the bounds of their session, and so
// have tasks in the background.
func TestEverybodysCommandsAreConfined(t *testing.T) {
	c, outside := confining(t, "tools: {mode: both}\n")
	s := c.open(nil)
	line := func(name string) string {
		return "echo x > " + name + "; echo x > " + filepath.Join(outside, name)
	}
	c.prompt(s, delegated(command(line("subagent"))))
	c.prompt(s, fenced("await tools.bash({ command: "+strconv.Quote(line("program"))+", description: \"Write\" })"))
	c.prompt(s, tool("bash", map[string]any{"command": line("task") + "; echo done > over", "description": "Write", "run_in_background": true}))
	waitUntil(t, "the task's end", func() bool { return exists(filepath.Join(c.cwd, "over")) })
	for _, name := range []string{"subagent", "program", "task"} {
		if _, err := os.Stat(filepath.Join(c.cwd, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(outside, name)); err == nil {
			t.Errorf("%s wrote outside of the workspace", name)
		}
	}
}

// Our own state and configuration stay as they are even inside of what may be
// written, for background children too.
func TestOurOwnStateIsKept(t *testing.T) {
	base := t.TempDir()
	sessions := filepath.Join(base, "sessions")
	c, _ := confining(t, "sessions: {dir: "+sessions+"}\nsandbox: {writable: ["+base+"]}\n")
	s := c.open(nil)
	c.prompt(s, command("echo x > "+base+"/free; for f in $(find "+sessions+" -type f); do echo x >> $f; done; rm -rf "+sessions+"; (rm -rf "+sessions+"; echo x > late) & wait"))
	if _, err := os.Stat(filepath.Join(base, "free")); err != nil {
		t.Errorf("a folder of sandbox.writable: %v", err)
	}
	logs, _ := filepath.Glob(filepath.Join(sessions, "*", "*.jsonl"))
	if more, _ := filepath.Glob(filepath.Join(sessions, "*.jsonl")); len(logs)+len(more) == 0 {
		t.Fatal("the sessions are gone")
	}
	if text := lastText(c, s); !strings.Contains(text, deniedLine) {
		t.Error(text)
	}
	if got := c.prompt(s, "hello"); got != "end_turn" {
		t.Error(got)
	}
}

// A link that appears between the decision about an edit and the edit leads to a
// file that nobody allowed.
func TestALinkAfterTheDecision(t *testing.T) {
	cwd, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim")
	write(t, filepath.Join(cwd, "hooks.json"), hookFile(t, "PreToolUse", "write", "ln -s "+victim+" d; true"))
	c := start(t, setup{
		cwd: cwd, env: []string{"TMPDIR=" + t.TempDir()},
		config: "model: {provider: local}\nhooks: {claude_code: hooks.json}\npermissions: {rules: [{tool: write, decision: allow}]}\n",
	})
	s := c.open(nil)
	c.prompt(s, tool("write", map[string]any{"file_path": "d", "content": "x"}))
	if _, err := os.Lstat(victim); err == nil {
		t.Error("the edit followed the link")
	}
	if text := lastText(c, s); !strings.Contains(text, deniedLine) || !strings.Contains(text, "retry this exact operation once") {
		t.Error(text)
	}
}

// What the person allows is done, wherever it is: the rule or the answer was about
// that file.
func TestAnEditOutsideIsTheUsersToAllow(t *testing.T) {
	outside := t.TempDir()
	c := start(t, setup{config: "model: {provider: local}\n", env: []string{"TMPDIR=" + t.TempDir()}})
	asked := 0
	c.permit = func(json.RawMessage) string { asked++; return "allow_once" }
	s := c.open(nil)
	for _, path := range []string{filepath.Join(outside, "f"), ".git/hooks/pre-commit"} {
		c.prompt(s, tool("write", map[string]any{"file_path": path, "content": "x"}))
	}
	if _, err := os.Stat(filepath.Join(outside, "f")); err != nil || asked != 2 {
		t.Errorf("%v; asked %d times", err, asked)
	}
}

func TestCheckShowsTheSandbox(t *testing.T) {
	out, _ := runProgram(t, "check", "--model", "local")
	s := sandbox.New(sandbox.Auto).Status()
	if s.Mechanism == sandbox.None {
		if !strings.Contains(out, "run unconfined") || !strings.Contains(out, s.Remedy) {
			t.Error(out)
		}
		return
	}
	for _, want := range []string{s.Details[0], "no network (sandbox.network)", "writable from here: "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
