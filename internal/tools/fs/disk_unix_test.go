//go:build unix

package fs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func (f *fixture) stat(name string) os.FileInfo {
	f.t.Helper()
	info, err := os.Lstat(f.path(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return info
}

// noTemps checks that no temporary file is left anywhere.
func (f *fixture) noTemps() {
	f.t.Helper()
	_ = filepath.WalkDir(f.dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".tmp") {
			f.t.Errorf("%s was left behind", path)
		}
		return nil
	})
}

func TestModeStays(t *testing.T) {
	f := setup(t)
	for _, mode := range []os.FileMode{0o755, 0o600, 0o644, 0o640, 0o755 | os.ModeSetgid} {
		f.put("f", "#!/bin/sh\n")
		if err := os.Chmod(f.path("f"), mode); err != nil {
			t.Fatal(err)
		}
		f.read("f")
		f.ok("edit", m{"file_path": "f", "old_string": "sh", "new_string": "bash"})
		if got := f.stat("f").Mode(); got != mode {
			t.Errorf("edit made %v of %v", got, mode)
		}
		f.ok("write", m{"file_path": "f", "content": "x"})
		if got := f.stat("f").Mode(); got != mode {
			t.Errorf("write made %v of %v", got, mode)
		}
	}
	f.noTemps()
}

func TestNewFilesFollowTheUmask(t *testing.T) {
	f := setup(t)
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	f.ok("write", m{"file_path": "d/f", "content": "x"})
	if got := f.stat("d/f").Mode(); got != 0o640 {
		t.Errorf("file mode %v", got)
	}
	if got := f.stat("d").Mode().Perm(); got != 0o750 {
		t.Errorf("folder mode %v", got)
	}
	f.noTemps()
}

func TestOwnerStays(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	f := setup(t)
	f.put("f", "one\n")
	if err := os.Chown(f.path("f"), 12345, 54321); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.path("f"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	f.read("f")
	f.ok("edit", m{"file_path": "f", "old_string": "one", "new_string": "two"})
	st := f.stat("f").Sys().(*syscall.Stat_t)
	if st.Uid != 12345 || st.Gid != 54321 || f.stat("f").Mode() != 0o755|os.ModeSetuid {
		t.Errorf("owner %d:%d, mode %v", st.Uid, st.Gid, f.stat("f").Mode())
	}
}

func TestSymbolicLinksStay(t *testing.T) {
	f := setup(t)
	f.put("target", "one\n")
	for link, to := range map[string]string{"link": "target", "chain": "link", "abs": f.path("target"), "dangling": "sub/made", "dirlink": "realdir"} {
		if err := os.Symlink(to, f.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(f.path("realdir"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.read("chain")
	r := f.ok("edit", m{"file_path": "link", "old_string": "one", "new_string": "two"})
	if !strings.Contains(r.text, f.path("link")) {
		t.Errorf("the message shows another path: %q", r.text)
	}
	f.ok("edit", m{"file_path": "abs", "old_string": "two", "new_string": "three"})
	if f.get("target") != "three\n" {
		t.Errorf("target holds %q", f.get("target"))
	}
	f.ok("write", m{"file_path": "dangling", "content": "new"})
	if f.get("sub/made") != "new" {
		t.Errorf("the dangling link's target holds %q", f.get("sub/made"))
	}
	f.ok("write", m{"file_path": "dirlink/new/file", "content": "new"})
	if f.get("realdir/new/file") != "new" {
		t.Error("the file is not where the folder's link points")
	}
	for _, link := range []string{"link", "chain", "abs", "dangling", "dirlink"} {
		if f.stat(link).Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", link)
		}
	}
	f.noTemps()
}

// Other names of the file keep the old content: see the comment on Disk.
func TestHardLinksPart(t *testing.T) {
	f := setup(t)
	f.put("a", "one\n")
	if err := os.Link(f.path("a"), f.path("b")); err != nil {
		t.Fatal(err)
	}
	f.read("a")
	f.ok("edit", m{"file_path": "a", "old_string": "one", "new_string": "two"})
	if f.get("a") != "two\n" || f.get("b") != "one\n" {
		t.Errorf("a holds %q, b holds %q", f.get("a"), f.get("b"))
	}
}

func TestSpecialFilesAreRefusedWithoutWaiting(t *testing.T) {
	f := setup(t)
	if err := syscall.Mkfifo(f.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.fails(f.do("read", m{"file_path": "pipe"}), CodeNotRegularFile, `cannot read "DIR/pipe": not a regular file`)
	f.fails(f.do("write", m{"file_path": "pipe", "content": "x"}), CodeNotRegularFile, `cannot write "DIR/pipe": not a regular file`)
	// One that takes a file's place between the two looks.
	if _, err := (Disk{}).Open(t.Context(), Target{Path: f.path("pipe"), Real: f.path("pipe")}); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}

func TestChangeBetweenReadAndRename(t *testing.T) {
	f := setup(t)
	path := f.put("f", "one\n")
	target, err := Disk{}.Resolve(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	f.put("f", "one and more\n")
	if _, err := (Disk{}).Write(t.Context(), target, []byte("two\n")); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := (Disk{}).Write(t.Context(), target, []byte("two\n")); err == nil {
		t.Error("a vanished file was written")
	}
	missing, err := Disk{}.Resolve(t.Context(), path)
	if err != nil || missing.Exists {
		t.Fatalf("%+v, %v", missing, err)
	}
	f.put("f", "appeared\n")
	if _, err := (Disk{}).Write(t.Context(), missing, []byte("two\n")); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
	if f.get("f") != "appeared\n" {
		t.Errorf("file %q", f.get("f"))
	}
	f.noTemps()
}

func TestRewriteInPlace(t *testing.T) {
	f := setup(t)
	for _, after := range []string{"longer than before\n", "x", ""} {
		path := f.put("f", "before\n")
		target, err := Disk{}.Resolve(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := openDir(filepath.Dir(target.Real))
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		if err := rewrite(dir, target, []byte(after)); err != nil || f.get("f") != after {
			t.Errorf("%v, file %q", err, f.get("f"))
		}
		if !os.SameFile(target.info, f.stat("f")) {
			t.Error("it is another file now")
		}
	}
}

func TestPermissionDenied(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may do everything")
	}
	f := setup(t)
	f.put("f", "one\n")
	f.read("f")
	if err := os.Chmod(f.path("f"), 0o400); err != nil {
		t.Fatal(err)
	}
	f.fails(f.do("edit", m{"file_path": "f", "old_string": "one", "new_string": "x"}), CodePermission, `cannot edit "DIR/f": permission denied`)
	// A folder that takes no new files: the file itself may still be changed.
	if err := errors.Join(os.Chmod(f.path("f"), 0o600), os.Chmod(f.dir, 0o500)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(f.dir, 0o700)
	f.ok("edit", m{"file_path": "f", "old_string": "one", "new_string": "two"})
	f.fails(f.do("write", m{"file_path": "new", "content": "x"}), CodePermission, `cannot write "DIR/new": permission denied`)
}
