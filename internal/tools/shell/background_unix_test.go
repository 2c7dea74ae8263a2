//go:build unix

package shell

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A job ends with everything that it has started, by task_kill and with its
// session.
func TestJobsEndAsAGroup(t *testing.T) {
	f, m := background(t, Options{})
	start := func(name string) (id string, child int) {
		v, _, err := f.call(t.Context(), map[string]any{
			"command": "sleep 100 & echo $! > " + name + "; wait", "run_in_background": true,
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 6000 {
			data, _ := os.ReadFile(filepath.Join(f.agent.cwd, name))
			if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				return v.GetString("taskId"), n
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("it did not start")
		return "", 0
	}
	gone := func(pid int) {
		t.Helper()
		for range 6000 {
			if syscall.Kill(pid, 0) != nil {
				return
			}
			if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
				return // only nobody has looked yet
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("process %d is still there", pid)
	}
	id, child := start("a")
	if got := f.tool2("task_kill", map[string]any{"task_id": id}); got != "requested cancellation of task "+id {
		t.Errorf("%q", got)
	}
	gone(child)
	if got := f.tool2("task_output", map[string]any{"task_id": id, "wait": true}); got != "(no new output)\n[status: killed, signal: SIGTERM]" {
		t.Errorf("%q", got)
	}
	_, child = start("b")
	if err := m.CloseSession(t.Context(), "S1"); err != nil {
		t.Error(err)
	}
	gone(child)
}
