package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func tree(t testing.TB, paths ...string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		at := filepath.Join(base, filepath.FromSlash(p))
		dir := at
		if !strings.HasSuffix(p, "/") {
			dir = filepath.Dir(at)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir != at {
			if err := os.WriteFile(at, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return base
}

func TestWritable(t *testing.T) {
	base := tree(t, "work/.git/HEAD", "work/.git/config", "work/.git/hooks/", "work/.git/modules/a/b/HEAD", "work/.git/modules/a/b/config",
		"work/.vscode/tasks.json", "work/lib/.git/HEAD", "work/lib/.git/config", "tmp/home/.bashrc", "tmp/home/.ssh/id", "tmp/home/code/x", "tmp/state/log", "more/")
	l := NewLayout(Policy{
		Mode: WorkspaceWrite, Roots: []string{base + "/work", base + "/more", base + "/missing"}, Temp: []string{base + "/tmp"},
		Home: base + "/tmp/home", Protected: []string{base + "/tmp/state"},
	})
	for path, want := range map[string]bool{
		"work": true, "work/a": true, "work/deep/a": true, "more/a": true, "tmp/a": true, "tmp/home/code/y": true,
		"work/.git/index": true, "work/.git/objects/aa": true, "work/.github/x": true, "work/AGENTS.md": true, "work/sub/.envrc": true,
		"": false, "a": false, "work2": false, "missing/a": false,
		"work/.git/config": false, "work/.git/hooks/pre-commit": false, "work/.git/HOOKS/x": false, "work/.git/commondir": false, "work/.git": false,
		"work/.git/modules/a/b/config": false, "work/.git/modules/c/hooks/x": false, "work/.git/worktrees/w/gitdir": false,
		"work/.vscode/tasks.json": false, "work/.vscode/new": false, "work/.envrc": false, "work/.ENVRC": false, "work/.dsh-acp.yaml": false,
		"work/lib/.git/config": false, "work/lib/a": true,
		"tmp/home/.bashrc": false, "tmp/home/.bash_profile": false, "tmp/home/.ssh/id": false, "tmp/home/new": false, "tmp/home": false,
		"tmp/state/log": false, "tmp/state": false,
	} {
		if got := l.Writable(filepath.Join(base, filepath.FromSlash(path))); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestReadOnlyAndTheWholeFileSystem(t *testing.T) {
	base := tree(t, "work/a")
	if l := NewLayout(Policy{Mode: ReadOnly, Roots: []string{base}}); l.Writable(base+"/work/a") || len(l.Roots()) > 0 {
		t.Error("read-only has something writable")
	}
	if l := NewLayout(Policy{Mode: WorkspaceWrite, Roots: []string{"/", "relative", ""}}); len(l.Roots()) > 0 {
		t.Errorf("%q", l.Roots())
	}
}

// The mounts and the answers must say the same: replaying the mounts over what
// Landlock allows gives what Writable says, for every path of a random tree.
func TestStepsMatchWritable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", ".c"})
		path := rapid.Custom(func(r *rapid.T) string {
			return "/" + strings.Join(rapid.SliceOfN(name, 1, 4).Draw(r, "parts"), "/")
		})
		l := &Layout{}
		for range rapid.IntRange(0, 3).Draw(r, "roots") {
			l.add(path.Draw(r, "root"), true)
		}
		for range rapid.IntRange(0, 4).Draw(r, "kept") {
			if p := path.Draw(r, "kept"); l.above(p) {
				l.add(p, false)
			}
		}
		slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
		at := path.Draw(r, "at")
		allowed := slices.ContainsFunc(l.Roots(), func(root string) bool { return within(at, root) })
		mounted, longest := true, -1
		pinned := map[string]bool{}
		for i, s := range l.steps() {
			pinned[s.path] = true
			if i > 0 && l.steps()[i-1].path >= s.path {
				r.Fatalf("steps are out of order: %v", l.steps())
			}
			if within(at, s.path) && len(s.path) > longest {
				switch s.kind {
				case readOnly:
					mounted, longest = false, len(s.path)
				case writable:
					mounted, longest = true, len(s.path)
				}
			}
		}
		if got, want := allowed && mounted, l.Writable(at); got != want {
			r.Fatalf("%s: the mounts say %v, Writable %v; entries %v, steps %v", at, got, want, l.entries, l.steps())
		}
		// Whatever is kept cannot be moved away: each folder from the outermost root
		// down to it is a mount point, or read-only.
		for _, kept := range l.Kept() {
			for dir := kept; within(dir, l.topAbove(kept)); dir = filepath.Dir(dir) {
				if !pinned[dir] && l.Writable(dir) {
					r.Fatalf("%s can be renamed with %s in it; steps %v", dir, kept, l.steps())
				}
			}
		}
	})
}

func TestSeatbelt(t *testing.T) {
	base := tree(t, "work/.git/HEAD", "work/.git/config", "home/.bashrc", "tmp/")
	p := Policy{Mode: WorkspaceWrite, Roots: []string{base + "/work"}, Temp: []string{base + "/tmp"}, Home: base + "/home"}
	got := strings.ReplaceAll(seatbelt(p, NewLayout(p)), base, "/B")
	for _, want := range []string{
		"(deny file-write*)\n", `(allow file-write* (subpath "/B/work"))`, `(deny file-write* (subpath "/B/work/.git/config"))`,
		`(deny file-write* (subpath "/B/work/.git/hooks"))`, `(deny file-write* (subpath "/B/work/.envrc"))`, `(allow file-write* (subpath "/B/tmp"))`,
		"(deny network*)\n", `(allow network-outbound (remote ip "localhost:*"))`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the profile has no %s:\n%s", want, got)
		}
	}
	if last := strings.LastIndex(got, `(subpath "/B/work"))`); last > strings.Index(got, ".git/config") {
		t.Error("the workspace is allowed after what is protected in it, and the last rule counts")
	}
	p.Network = true
	if got := seatbelt(p, NewLayout(p)); strings.Contains(got, "(deny network*)") || !strings.Contains(got, "unix-socket") {
		t.Error(got)
	}
	p.Mode = ReadOnly
	if got := seatbelt(p, NewLayout(p)); !strings.Contains(got, "(deny network*)") || strings.Contains(got, "/work") {
		t.Error(got)
	}
	if q := quote("a\"b\\c\nd"); q != `"a\"b\\c\nd"` {
		t.Error(q)
	}
}

func TestHomeAsWorkspaceInTheProfile(t *testing.T) {
	base := tree(t, "home/.bashrc", "home/code/a")
	p := Policy{Mode: WorkspaceWrite, Roots: []string{base + "/home"}, Home: base + "/home"}
	got := strings.ReplaceAll(seatbelt(p, NewLayout(p)), base, "/B")
	if !strings.Contains(got, `(deny file-write* (subpath "/B/home"))`) || !strings.Contains(got, `(allow file-write* (subpath "/B/home/code"))`) {
		t.Error(got)
	}
}
