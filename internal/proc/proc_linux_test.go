package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What called setsid and outlived its command is found at the end all the same.
func TestStraysAreEndedWithTheirOwner(t *testing.T) {
	dir := t.TempDir()
	s := NewSupervisor()
	start := func(owner, file string) int {
		t.Helper()
		_, err := s.Run(t.Context(), Command{Owner: owner, Spec: Spec{
			Args: []string{"bash", "-c", "setsid sleep 71 >/dev/null 2>&1 & echo $! > " + file}, Env: os.Environ(), Dir: dir,
		}}, RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	runs := func(pid int) bool {
		state, _, ok := processState(pid)
		return ok && state != 'Z'
	}
	mine, other := start("me", "a"), start("you", "b")
	if !runs(mine) || !runs(other) {
		t.Fatal("the strays do not run")
	}
	if err := s.CloseOwner(t.Context(), "me"); err != nil {
		t.Fatal(err)
	}
	waitGone(t, mine)
	if !runs(other) {
		t.Error("CloseOwner ended another owner's")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitGone(t, other)
}
