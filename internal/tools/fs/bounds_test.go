package fs

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// A change outside of the bounds is refused with the lines that every refusal of
// the confinement has, and the place is judged where the links lead.
func TestBounds(t *testing.T) {
	var f *fixture
	var asked []string
	f = setupWith(t, Options{Escalation: true, Bounds: func(_ *registry.Execution, real string) (string, bool) {
		asked = append(asked, real)
		return "workspace-write", !strings.Contains(real, "kept")
	}})
	if err := os.Mkdir(f.path("kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.put("kept/file", "old\n")
	if err := os.Symlink("kept", f.path("link")); err != nil {
		t.Skip("symbolic links cannot be made here")
	}
	want := "[sandbox: file access denied under workspace-write mode]\n[sandbox: escalation available — retry this exact operation once with sandbox_permissions (the narrowest wider mode that suffices) + justification; the approval prompt asks the user]"
	f.do("read", map[string]any{"file_path": "link/file"})
	for _, r := range []result{
		f.do("write", map[string]any{"file_path": "link/new", "content": "x"}),
		f.do("write", map[string]any{"file_path": "kept/deep/new", "content": "x"}),
		f.do("edit", map[string]any{"file_path": "link/file", "old_string": "old", "new_string": "new"}),
	} {
		var coded *Error
		if r.err == nil || r.err.Error() != want || !errors.As(r.err, &coded) || coded.Code() != CodeSandboxDenied {
			t.Errorf("%v", r.err)
		}
	}
	if got := f.get("kept/file"); got != "old\n" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(f.path("kept/deep")); !errors.Is(err, iofs.ErrNotExist) {
		t.Error("a folder was made for a file that was refused")
	}
	if r := f.do("write", map[string]any{"file_path": "free", "content": "x"}); r.err != nil {
		t.Error(r.err)
	}
	if len(asked) != 4 || asked[0] != f.path("kept/new") {
		t.Errorf("%q", asked)
	}
}

// What a path was resolved to is where the change goes, whatever has become of
// the folders on the way since.
func TestALinkThatAppearsLeadsNowhere(t *testing.T) {
	f := setup(t)
	outside := t.TempDir()
	for _, exists := range []bool{true, false} {
		if err := os.MkdirAll(f.path("d/e"), 0o755); err != nil {
			t.Fatal(err)
		}
		name := "d/e/new"
		if exists {
			name = "d/e/old"
			f.put(name, "old\n")
		}
		target, err := Disk{}.Resolve(t.Context(), f.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(f.path("d"), f.path("away")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, f.path("d")); err != nil {
			t.Skip("symbolic links cannot be made here")
		}
		if err := os.MkdirAll(filepath.Join(outside, "e"), 0o755); err != nil {
			t.Fatal(err)
		}
		if exists {
			// The same file under another name, so that the last look alone sees nothing.
			if err := os.Link(f.path("away/e/old"), filepath.Join(outside, "e", "old")); err != nil && runtime.GOOS != "windows" {
				t.Fatal(err)
			}
		}
		if _, err := (Disk{}).Write(t.Context(), target, []byte("new\n")); !errors.Is(err, ErrChanged) {
			t.Errorf("exists %v: %v", exists, err)
		}
		if got, _ := os.ReadFile(filepath.Join(outside, "e", filepath.Base(name))); strings.Contains(string(got), "new") {
			t.Error("the change went where the link leads")
		}
		if _, err := openDirAndLook(f.path("d/e")); !errors.Is(err, ErrChanged) {
			t.Errorf("the slower look: %v", err)
		}
		_ = os.Remove(f.path("d"))
		_ = os.RemoveAll(f.path("away"))
	}
}
