package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program has all of what its calls gave; the log has the ends, and a file the
// whole.
func TestLongResultsOfAProgramsCalls(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	write(t, filepath.Join(cwd, "long.txt"), strings.Repeat("a line of text\n", 1000))
	c := start(t, setup{config: fullAccess + fmt.Sprintf("tools: {mode: both, max_inline_bytes: 800}\nsessions: {dir: %q}\n", dir), cwd: cwd})
	s := c.open(nil)
	c.prompt(s, fenced(`return (await tools.read({file_path: "long.txt"})).lines.length`))
	if calls := c.calls(s); len(calls) != 1 || calls[0].Status != "completed" || !strings.Contains(string(calls[0].RawOutput), "1000") {
		t.Errorf("%+v", calls)
	}
	log, err := os.ReadFile(filepath.Join(dir, s, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "a line of text"); n > 60 || !strings.Contains(string(log), "(Omitted ") {
		t.Errorf("the line is %d times in the log", n)
	}
	files, _ := filepath.Glob(filepath.Join(dir, s, "results", "*-read.txt"))
	if len(files) != 1 {
		t.Errorf("%q", files)
	}
}
