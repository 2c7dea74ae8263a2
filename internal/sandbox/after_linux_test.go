package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Where nothing keeps a repository from being exchanged for a link, nothing is
// removed by way of it.
func TestUndoFollowsNoLink(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"work/own/.git", "work/sub", "other/.git"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own, others := filepath.Join(base, "work/own/.git/config.worktree"), filepath.Join(base, "other/.git/config.worktree")
	for _, path := range []string{own, others} {
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(others), filepath.Join(base, "work/sub/.git")); err != nil {
		t.Fatal(err)
	}
	if got := undo([]string{filepath.Join(base, "work/sub/.git/config.worktree"), own}); !slices.Equal(got, []string{own}) {
		t.Errorf("undone %q", got)
	}
	if _, err := os.Lstat(others); err != nil {
		t.Error("removed elsewhere:", err)
	}
	if _, err := os.Lstat(own); err == nil {
		t.Error("not removed")
	}
}
