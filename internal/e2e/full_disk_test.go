package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFullDiskFailsTheTurnAndSaysSo lets the session logs live on a tiny file
// system that fills up.
func TestAFullDiskFailsTheTurnAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	c := start(t, setup{config: fmt.Sprintf("model: {provider: local}\nsessions: {dir: %q}\n", filepath.Join(dir, "sessions"))})
	s := c.open(nil)
	f := c.call("session/prompt", textPrompt(s, "/say "+strings.Repeat("filler ", 20_000)))
	if f.Error == nil || !strings.Contains(f.Error.Message, "the session log could not be written") || !strings.Contains(f.Error.Message, "no space left") {
		t.Fatalf("%+v %s", f.Error, f.Result)
	}
	// What was shown is in the log; what is in the log is whole lines.
	log, err := os.ReadFile(filepath.Join(dir, "sessions", s, "events.jsonl"))
	if err != nil || !strings.HasSuffix(string(log), "\n") {
		t.Errorf("the log does not end with a whole line (%v)", err)
	}
	f = c.call("session/prompt", textPrompt(s, "/say again"))
	if f.Error == nil {
		t.Error("a session whose log is broken took another prompt")
	}
	// Nothing is left of sessions that could not be made.
	for i := 0; err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprint("filler", i)), make([]byte, 4096), 0o600)
	}
	for method, want := range map[string]string{
		"session/new": "the session could not be created: ", "session/fork": "the session could not be copied: ",
	} {
		f = c.call(method, map[string]any{"sessionId": s, "cwd": c.cwd, "mcpServers": []any{}})
		if f.Error == nil || !strings.Contains(f.Error.Message, want) || !strings.Contains(f.Error.Message, "no space left") {
			t.Errorf("%s: %+v %s", method, f.Error, f.Result)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "sessions", "*-*")); err != nil || len(left) != 1 {
		t.Errorf("left: %q %v", left, err)
	}
	if code, _ := c.closeInput(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
