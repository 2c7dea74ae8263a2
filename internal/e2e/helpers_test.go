package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asking is the configuration of the local model whose commands ask, which they do
// where nothing confines them.
const asking = "model:\n  provider: local\nsandbox:\n  mechanism: none\n"

// fullAccess is the configuration of the local model without questions.
const fullAccess = "model:\n  provider: local\npermissions:\n  preset: danger-full-access\n"

func itoa(n int) string { return strconv.Itoa(n) }

// waitForFile waits for a file with a process id in it.
func waitForFile(t *testing.T, path string) int {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(data), "\n") {
			pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the command did not start: no " + path)
	return 0
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// wantGone makes sure that a process which had been told to end ends. A killed
// process has to run once more to be gone, and may wait for a processor.
func wantGone(t *testing.T, pid int, what string) {
	t.Helper()
	for end := time.Now().Add(soon); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s goes on", what)
			return
		}
	}
}

// inTime plays something that has to take no longer than limit, again when it
// did: how long a thing takes on a busy machine tells little of the thing.
func inTime(t *testing.T, limit time.Duration, play func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 5 {
		d := play()
		if d <= limit || t.Failed() {
			return
		}
		took = append(took, d)
	}
	t.Errorf("it took %v each time, wanted %v", took, limit)
}

// waitUntil waits for something that no frame tells.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// chunk is one chunk of a scripted model answer.
type chunk map[string]any

// textChunks is an answer in words.
func textChunks(text string) []chunk {
	return []chunk{
		{"type": "block-start", "index": 0, "blockType": "text"},
		{"type": "text-delta", "index": 0, "text": text},
		{"type": "block-end", "index": 0, "block": chunk{"type": "text", "text": text}},
	}
}

// callChunks is an answer with one tool call; arguments are raw text.
func callChunks(name, arguments string) []chunk {
	return []chunk{
		{"type": "block-start", "index": 0, "blockType": "tool-call"},
		{"type": "block-end", "index": 0, "block": chunk{"type": "tool-call", "id": "c1", "name": name, "arguments": arguments}},
	}
}

// replayOf is a configuration, without permission questions, whose model gives
// these answers: chunks and finish kind in turn.
func replayOf(t *testing.T, answers ...any) string {
	t.Helper()
	dir := t.TempDir()
	var script []chunk
	for i := 0; i < len(answers); i += 2 {
		chunks := append(answers[i].([]chunk), chunk{"type": "finish", "reason": chunk{"kind": answers[i+1]}})
		script = append(script, chunk{"kind": "chunks", "chunks": chunks})
	}
	override, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "override.json"), string(override))
	write(t, filepath.Join(dir, "session.jsonl"), `{"type":"session","version":0,"id":"x","createdAt":0,"delegationDepth":0}`+"\n")
	return fmt.Sprintf("model:\n  provider: replay\n  replay:\n    script: %q\n    override: %q\npermissions:\n  preset: danger-full-access\n",
		filepath.Join(dir, "session.jsonl"), filepath.Join(dir, "override.json"))
}

// startPipes runs the agent with the local model in a home of its own and gives
// its pipes. It must leave by itself when its input is closed.
func startPipes(t *testing.T, cwd string) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(bin, "--model", "local")
	cmd.Dir = cwd
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "TMPDIR=" + os.TempDir()}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			t.Errorf("the agent left with %v", err)
		}
		late.Stop()
	})
	return in, out
}
