package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// busy is a prompt that keeps the agent at everything at once: reads that overlap,
// commands that leave children, a program whose calls are nested.
func busy() string {
	return strings.Repeat(tool("read", map[string]any{"file_path": "a.txt"})+"\n"+
		tool("bash", map[string]any{"command": "(sleep 30 & setsid sleep 30 & :) >/dev/null 2>&1; for i in 1 2 3; do echo $i; sleep 0.01; done", "description": "Count"})+"\n"+
		tool("run_code", map[string]any{"code": `for (let i = 0; i < 4; i++) await tools.read({ file_path: "a.txt" });
await tools.bash({ command: "sleep 0.02; echo done", description: "Wait" }); for (let i = 0; i < 1e6; i++);`})+"\n", 4)
}

// kills is how many rounds TestKillAtAnyMoment plays: DSH_ACP_KILLS, else few
// enough for every day.
func kills(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("DSH_ACP_KILLS")); err == nil {
		return n
	}
	if testing.Short() {
		return 3
	}
	return 25
}

// TestKillAtAnyMoment kills the agent without warning in the middle of busy
// turns. Every session must load, with every call ended exactly once, nothing
// lost that was in the log or had been shown, and no process left.
func TestKillAtAnyMoment(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	program := ownProgram(t)
	write(t, filepath.Join(cwd, "a.txt"), strings.Repeat("line\n", 200))
	config := withSessions(dir) + "tools: {mode: both}\n"
	for round := range kills(t) {
		c := start(t, setup{config: config, cwd: cwd, program: program})
		s := c.open(nesting)
		c.request("session/prompt", textPrompt(s, busy()))
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		c.kill()
		before := c.shown(s, false)
		logPath := filepath.Join(dir, s, "events.jsonl")
		logged, err := os.ReadFile(logPath)
		if err != nil {
			t.Fatal(err)
		}
		nothingRuns(t, program)

		again := start(t, setup{config: config, cwd: cwd, program: program})
		again.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": nesting})
		if f := again.load(s); f.Error != nil {
			t.Fatalf("round %d: a session does not load after a kill: %+v", round, f.Error)
		}
		after := again.shown(s, false)
		if len(after) < len(before) || !slices.Equal(after[:len(before)], before) {
			t.Fatalf("round %d: shown before the kill:\n%s\nafter:\n%s", round, strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		whole := logged[:bytes.LastIndexByte(logged, '\n')+1] // a torn last line was never an event
		if now, err := os.ReadFile(logPath); err != nil || !bytes.HasPrefix(now, whole) {
			t.Fatalf("round %d: logged events were lost: %v", round, err)
		}
		for _, call := range again.calls(s) {
			if call.Status != "completed" && call.Status != "failed" {
				t.Errorf("round %d: call %s is %s after the repair", round, call.ToolCallID, call.Status)
			}
		}
		if stop := again.prompt(s, "/say alive"); stop != "end_turn" {
			t.Error(stop)
		}
		again.closeInput()
		if t.Failed() {
			return
		}
	}
	nothingRuns(t, program)
}

// nothingRuns makes sure that no agent and nothing that an agent started is left.
// What a killed agent had started may take a moment to go.
func nothingRuns(t *testing.T, program string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return
	}
	homes := []byte("HOME=" + filepath.Dir(t.TempDir()) + "/") // the test's own, all of them
	left := func() (out []string) {
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid == os.Getpid() || !alive(pid) {
				continue
			}
			exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			if exe == program || bytes.Contains(env, homes) {
				cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				out = append(out, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
			}
		}
		return out
	}
	for end := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) {
		switch list := left(); {
		case len(list) == 0:
			return
		case time.Now().After(end):
			t.Fatalf("still running:\n%s", strings.Join(list, "\n"))
		}
	}
}

// ownProgram is the program under a name of this test's own, so that its
// processes are told from those that other tests on the machine start.
func ownProgram(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "dsh-acp")
	if os.Link(bin, path) == nil {
		return path
	}
	data, err := os.ReadFile(bin) // on another file system
	if err == nil {
		err = os.WriteFile(path, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
