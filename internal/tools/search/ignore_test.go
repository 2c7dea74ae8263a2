package search

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// gitFiles is what git lists in a repository that has nothing tracked: the
// oracle of the ignore rules.
func gitFiles(t testing.TB, procs *proc.Supervisor, dir string) []string {
	t.Helper()
	git := lookPath("git")
	out, err := procs.Run(context.Background(), proc.Command{Spec: proc.Spec{
		Args: []string{git, "-c", "core.quotepath=off", "ls-files", "-z", "--others", "--exclude-standard"}, Dir: dir,
	}}, proc.RunOptions{Limit: 1 << 20, Timeout: time.Minute})
	if err != nil || out.Code != 0 {
		t.Fatalf("git: %v %v %s", err, out.Exit, out.Stderr.Text)
	}
	var files []string
	for f := range strings.SplitSeq(out.Stdout.Text, "\x00") {
		if f != "" && !strings.HasSuffix(f, "/") { // another repository
			files = append(files, f)
		}
	}
	slices.Sort(files)
	return files
}

func ourFiles(t testing.TB, dir string) []string {
	t.Helper()
	w := walk{root: dir, hidden: true, skips: &skips{}}
	files, err := w.files(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func needGit(t testing.TB) {
	if lookPath("git") == "" {
		t.Skip("git is not installed: it is what the ignore rules are compared with")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
}

func initRepository(t testing.TB, procs *proc.Supervisor, dir string) {
	t.Helper()
	out, err := procs.Run(context.Background(), proc.Command{Spec: proc.Spec{Args: []string{lookPath("git"), "init", "-q", dir}, Dir: dir}}, proc.RunOptions{Timeout: time.Minute})
	if err != nil || out.Code != 0 {
		t.Fatalf("git init: %v %s", err, out.Stderr.Text)
	}
}

// tree has names that the patterns of the tests are about.
var tree = []string{
	"b", "c.o", "d.txt", "#x", "!y", "sp ace", "sp", "[z]", "é", "A.TXT", `back\slash`, ".dot", "foo.bar", "f-g", "a/b", "a/c.o", "a/d/b", "a/d/e/z", "a/d/e/f/z", "a/z", "foo/bar/baz", "foo/bar.txt", "foo/foo/x", "x/foo/y.o",
	"build/out", "build/keep/me", "doc/a.md", "doc/sub/a.md", "0", "5/9", "ab", "abc", "aXc", "axc/ab", "deep/1/2/3/4/5",
}

func plant(t testing.TB, dir string) {
	t.Helper()
	for _, name := range tree {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
			continue // a name that is a file already
		}
		_ = os.WriteFile(path, nil, 0o644)
	}
}

func TestIgnoreLikeGit(t *testing.T) {
	needGit(t)
	procs := supervisor(t)
	for _, test := range []map[string]string{
		{".gitignore": "*.o\n"},
		{".gitignore": "/b\n*.txt\n!d.txt\n"},
		{".gitignore": "\\#x\n\\!y\nsp\\ ace\n"},
		{".gitignore": "sp \n#x\n\n  \n"},
		{".gitignore": "sp ace  \r\nb\r\n"},
		{".gitignore": "a/**/z\n**/foo\n"},
		{".gitignore": "foo/**\n!foo/bar\n!foo/bar/baz\n"},
		{".gitignore": "a/*\n!a/d\n"},
		{".gitignore": "a/\nbuild/*\n!build/keep/\n"},
		{".gitignore": "[a-b]\n[[:digit:]]\n[!a-z]bc\n", "foo/.gitignore": "bar.txt\n!x\n"},
		{".gitignore": "*.md\n", "doc/.gitignore": "!a.md\n/sub\n"},
		{".gitignore": "*\n!*/\n!*.o\n"},
		{".gitignore": "\xEF\xBB\xBFb\n", ".git/info/exclude": "d.txt\n/doc/*.md\n"},
		{".git/info/exclude": "*.o\n", ".gitignore": "!c.o\n"},
		{".gitignore": "deep/**/5\nfoo**\n**bar\na**/z\n"},
		{".gitignore": "a/d/**\n"},
		{".gitignore": "**\n!d.txt\n"},
		{".gitignore": "a/**\\/z\n[\n[]z]\n[\\[]z[\\]]\n\\\nb\\\n"},
		{".gitignore": "?\n\xc3?\n"},
		{".gitignore": "/\n!\n//\n/a/\n"},
		{".gitignore": "doc/sub/\n/foo/foo\nx/foo/\n"},
	} {
		dir := t.TempDir()
		initRepository(t, procs, dir)
		plant(t, dir)
		for name, text := range test {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		ours, gits := ourFiles(t, dir), gitFiles(t, procs, dir)
		if !slices.Equal(ours, gits) {
			t.Errorf("%q:\nours %q\ngit  %q", test, ours, gits)
		}
	}
}

// A search further down knows the rules above it, a repository inside another
// has its own only, and a linked working tree finds its exclude file.
func TestIgnoreAboveAndInside(t *testing.T) {
	needGit(t)
	f := setup(t)
	needGit(t)
	procs := supervisor(t)
	initRepository(t, procs, f.dir)
	f.put(".gitignore", "*.log\n/sub/out\nx/y/z\n")
	f.put("sub/.gitignore", "!keep.log\n")
	f.put(".git/info/exclude", "/sub/secret\n")
	for _, name := range []string{"a.log", "sub/keep.log", "sub/b.log", "sub/out/f", "sub/secret", "sub/x/y/z", "sub/plain", "sub/in/out/f", "sub/in/keep.log"} {
		f.put(name, "")
	}
	sub := f.path("sub/in")
	if got := ourFiles(t, sub); !slices.Equal(got, []string{"keep.log", "out/f"}) {
		t.Errorf("in sub/in: %q", got)
	}
	got := ourFiles(t, f.path("sub"))
	if want := gitFiles(t, procs, f.path("sub")); !slices.Equal(got, want) {
		t.Errorf("in sub: %q, git %q", got, want)
	}

	inner := f.path("inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	initRepository(t, procs, inner)
	f.put("inner/own.log", "")
	f.put("inner/.git/info/exclude", "hid\n")
	f.put("inner/hid", "")
	for _, dir := range []string{f.dir, inner} {
		got := strings.Join(ourFiles(t, dir), " ")
		if !strings.Contains(got, "own.log") || strings.Contains(got, "hid") {
			t.Errorf("%s: %s", dir, got)
		}
	}

	// What `git worktree add` makes of it.
	f.put(".git/worktrees/w/commondir", "../..\n")
	linked := t.TempDir()
	for name, text := range map[string]string{".git": "gitdir: " + f.path(".git/worktrees/w") + "\n", "sub": "", "secret": ""} {
		if err := os.WriteFile(filepath.Join(linked, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.put(".git/info/exclude", "/secret\n")
	if got := ourFiles(t, linked); !slices.Equal(got, []string{"sub"}) {
		t.Errorf("in the linked tree: %q", got)
	}
}

func TestUsersOwnIgnoreFile(t *testing.T) {
	needGit(t)
	procs := supervisor(t)
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	if err := os.Mkdir(filepath.Join(config, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "git", "ignore"), []byte("*.o\n/b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	initRepository(t, procs, dir)
	plant(t, dir)
	if ours, gits := ourFiles(t, dir), gitFiles(t, procs, dir); !slices.Equal(ours, gits) {
		t.Errorf("ours %q\ngit  %q", ours, gits)
	}
}

// FuzzIgnore compares the rules with git's on a small tree.
func FuzzIgnore(f *testing.F) {
	needGit(f)
	for _, seed := range []string{"*.o\n!c.o\n", "/a/**/z\n", "[a-c]*\n!ab", "foo/\n", "**/x", "a/b\\", "[[:alpha:]-b]", "[]-a]", "[a-", "x*[^o]", "*a*b*c", "***", "a***/z", "\\*", "!*/\n*", "foo/*/baz", "a//b", "[!/]d", "[[:foo:]]\na", "[[:alpha]", "[[:]"} {
		f.Add([]byte(seed), []byte("b\n"))
	}
	procs := supervisor(f)
	dir := f.TempDir()
	initRepository(f, procs, dir)
	plant(f, dir)
	f.Fuzz(func(t *testing.T, top, inner []byte) {
		if len(top) > 200 || len(inner) > 200 || bytes.Contains(top, []byte("\x00")) || bytes.Contains(inner, []byte("\x00")) {
			return
		}
		for name, data := range map[string][]byte{".gitignore": top, "foo/.gitignore": inner, "a/.gitignore": inner} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if ours, gits := ourFiles(t, dir), gitFiles(t, procs, dir); !slices.Equal(ours, gits) {
			t.Errorf("%q, %q:\nours %q\ngit  %q", top, inner, ours, gits)
		}
	})
}

// A hostile pattern costs time in proportion to its length.
func TestWildcardTime(t *testing.T) {
	w := compileWildcard(strings.Repeat("*a", 60) + "b")
	began := time.Now()
	if w.match(strings.Repeat("a", 4000)) {
		t.Error("matched")
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}
