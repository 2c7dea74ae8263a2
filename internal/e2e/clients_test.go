package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// These tests drive the program with real ACP clients from npm and, when it is
// there, with the material of a checkout that has it beside it.

// repoRoot is the top of the repository.
func repoRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// needClients returns the folder with the npm clients. Without it the test is
// skipped, except in CI, where a skipped client is a gap that nobody sees.
func needClients(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(repoRoot(t), "testdata", "clients")
	if _, err := exec.LookPath("node"); err != nil {
		skipOutsideCI(t, "node is not installed")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@agentclientprotocol", "sdk")); err != nil {
		skipOutsideCI(t, "the npm clients are not installed: run make clients")
	}
	return dir
}

func skipOutsideCI(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("in CI this must not be skipped: " + why)
	}
	t.Skip(why)
}

// needMaterial finds an optional file beside the repository.
func needMaterial(t *testing.T, rel string) string {
	t.Helper()
	path := filepath.Join(repoRoot(t), "..", "shared", rel)
	if _, err := os.Stat(path); err != nil {
		t.Skip("not there: " + rel + " (the project's own tests cover the same ground)")
	}
	return path
}

// runClient runs a client program in a home of its own.
func runClient(t *testing.T, dir string, name string, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, "dsh-acp", "config.yaml"), "sandbox: {mechanism: none}\n") // so that commands ask
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const slowPrompt = "/slow 300"

var bashPrompt = tool("bash", map[string]any{"command": "echo from the shell", "description": "Say where from"})

func TestSDKClient(t *testing.T) {
	dir := needClients(t)
	script := filepath.Join(dir, "sdk-drive.mjs")
	work := t.TempDir()
	t.Run("turn with a tool call and a permission", func(t *testing.T) {
		out, err := runClient(t, dir, "node", script, work, bashPrompt, "allow", bin, "--model", "local")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, want := range []string{"permission", "from the shell", `"stopReason":"end_turn"`} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	})
	t.Run("rejected", func(t *testing.T) {
		out, err := runClient(t, dir, "node", script, work, bashPrompt, "reject", bin, "--model", "local")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !strings.Contains(out, `the user rejected tool`) || !strings.Contains(out, `"status":"failed"`) {
			t.Errorf("the refusal is not shown:\n%s", out)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		out, err := runClient(t, dir, "node", script, work, slowPrompt, "cancel-after", bin, "--model", "local")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !strings.Contains(out, `"stopReason":"cancelled"`) {
			t.Errorf("not cancelled:\n%s", out)
		}
	})
}

func TestACPX(t *testing.T) {
	dir := needClients(t)
	acpx := filepath.Join(dir, "node_modules", ".bin", "acpx")
	work := t.TempDir()
	agent := bin + " --model local"
	out, err := runClient(t, work, acpx, "--cwd", work, "--agent", agent, "--approve-all", "exec", bashPrompt)
	if err != nil || !strings.Contains(out, "from the shell") || !strings.Contains(out, "end_turn") {
		t.Errorf("approved: %v\n%s", err, out)
	}
	out, err = runClient(t, work, acpx, "--cwd", work, "--agent", agent, "--deny-all", "exec", bashPrompt)
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 5 {
		t.Errorf("a denied permission should make acpx exit 5, got %v\n%s", err, out)
	}
	out, err = runClient(t, work, acpx, "--cwd", work, "--agent", agent, "--timeout", "2", "exec", slowPrompt)
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 {
		t.Errorf("a timeout should make acpx exit 3, got %v\n%s", err, out)
	}
}

func TestProbe(t *testing.T) {
	dir := needClients(t)
	probe := needMaterial(t, "tools/acp/acp-probe.mjs")
	trace := filepath.Join(t.TempDir(), "trace.ndjson")
	// Some of its limits are fixed: on a busy machine what failed is tried again.
	var passed []string
	for try := 1; ; try++ {
		out, err := runClient(t, dir, "node", probe, "--cwd", t.TempDir(), "--timeout", "60000", "--skip", strings.Join(passed, ","),
			"--prompt", bashPrompt, "--slow-prompt", slowPrompt, "--trace", trace, "--", bin, "--model", "local")
		if err == nil {
			break
		}
		if try == 3 {
			t.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(out) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PASS "); ok {
				passed = append(passed, name)
			}
		}
	}
	checkTrace(t, trace)
}

func TestRecordedScenarios(t *testing.T) {
	checker := needMaterial(t, "tools/check_transcripts.py")
	if _, err := exec.LookPath("python3"); err != nil {
		skipOutsideCI(t, "python3 is not installed")
	}
	out, err := runClient(t, t.TempDir(), "python3", checker, "--only", strings.Join(scenarios, ","), "--", bin)
	if err != nil || !strings.Contains(out, " 0 failed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// scenarios are the recorded scenarios whose features are built.
var scenarios = []string{
	"handshake", "text-turn", "multi-turn", "tool-call-turn", "workspace-edit", "fs-read", "fs-edit", "fs-write",
	"fs-policy-reject", "fs-terminal-card", "parallel-tool-calls", "error-finish", "cancel", "cancel-tool-calls",
	"config-options", "modes-advertise", "model-switching", "todo-plan", "plan-mode", "escalation-approved",
	"hook-cc-posttool-context", "hook-cc-pretool-deny", "hook-cc-promptsubmit-block", "hook-codex-posttool-block",
	"hook-codex-stop-continue", "packed-chunks", "workspace-context", "skill-load", "subagent-spawn",
}
