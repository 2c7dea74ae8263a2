package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
)

func TestRootsAreCanonicalAndDistinct(t *testing.T) {
	dir := agent.CanonicalDir(t.TempDir())
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, agent.Config{AdditionalDirectories: []string{link, real + "/", "/work/", "/gone/../nowhere"}})
	if got, want := w.s.Roots(), []string{"/work", real, "/nowhere"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := newWorld(t, agent.Config{}).s.Roots(); !slices.Equal(got, []string{"/work"}) {
		t.Errorf("without additional directories: %q", got)
	}
}
