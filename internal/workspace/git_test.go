package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	idA = "0123456789abcdef0123456789abcdef01234567"
	idB = "fedcba9876543210fedcba9876543210fedcba98"
)

func TestGit(t *testing.T) {
	type files map[string]string
	for _, c := range []struct {
		name  string
		files files
		cwd   string
		want  string // without the top folder
	}{
		{"none", files{"x": ""}, "", "not a repository"},
		{"a branch", files{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": idA + "\n"}, "", "branch main at 0123456789"},
		{"from below", files{".git/HEAD": "ref: refs/heads/main\n", "a/b/x": ""}, "a/b", "branch main"},
		{"a branch with a slash, packed", files{".git/HEAD": "ref: refs/heads/feat/x\n", ".git/packed-refs": "# pack-refs\n" + idB + " refs/heads/feat\n" + idA + " refs/heads/feat/x\n^" + idB + "\n"}, "", "branch feat/x at 0123456789"},
		{"before the first commit", files{".git/HEAD": "ref: refs/heads/main\n"}, "", "branch main"},
		{"detached", files{".git/HEAD": idB + "\n"}, "", "detached at fedcba9876"},
		{"merging", files{".git/HEAD": "ref: refs/heads/main\n", ".git/MERGE_HEAD": idB}, "", "branch main, in the middle of a merge"},
		{"rebasing", files{".git/HEAD": idA, ".git/rebase-merge/onto": idB}, "", "detached at 0123456789, in the middle of a rebase"},
		{"a work tree", files{
			"repo/HEAD": "ref: refs/heads/main\n", "repo/refs/heads/side": idA, "repo/worktrees/w/HEAD": "ref: refs/heads/side\n",
			"repo/worktrees/w/commondir": "../..\n", "w/.git": "gitdir: ../repo/worktrees/w\n",
		}, "w", "branch side at 0123456789"},
		{"another store of references", files{".git/HEAD": "ref: refs/heads/.invalid\n"}, "", "a repository whose HEAD could not be read"},
		{"an empty HEAD", files{".git/HEAD": ""}, "", "a repository whose HEAD could not be read"},
		{"no HEAD", files{".git/config": ""}, "", "a repository whose HEAD could not be read"},
		{"a reference that leads out", files{".git/HEAD": "ref: refs/heads/../../../secret\n", "secret": idA}, "", "a repository whose HEAD could not be read"},
		{"a reference with more lines", files{".git/HEAD": "ref: refs/heads/a\x01b\n"}, "", "a repository whose HEAD could not be read"},
		{"a commit that is none", files{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": "SECRET KEY"}, "", "branch main"},
		{"a .git that is none", files{".git": "nonsense", "x": ""}, "", "not a repository"},
		{"HEAD is a folder", files{".git/HEAD/x": ""}, "", "a repository whose HEAD could not be read"},
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range c.files {
			write(t, filepath.Join(dir, name), text)
		}
		if got, _, _ := strings.Cut(readGit(filepath.Join(dir, c.cwd)).String(), ", top folder "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzGitHead(f *testing.F) {
	f.Add("ref: refs/heads/main\n", idA)
	f.Add(idA, "")
	f.Add("ref: refs/heads/../x", "\x00")
	f.Fuzz(func(t *testing.T, head, ref string) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ".git", "HEAD"), head)
		write(t, filepath.Join(dir, ".git", "packed-refs"), ref)
		if s := readGit(dir).String(); strings.ContainsAny(s, "\r\n\x00") || len(s) > 600+len(dir) {
			t.Errorf("%q", s)
		}
	})
}

func TestEnvironment(t *testing.T) {
	dir := project(t)
	write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	w := newWorld(t, dir)
	got := w.prompt()
	for _, want := range []string{"Working directory: " + dir + "\n", "\nPlatform: ", "\nDate when the session was opened: 2026-05-04\n", "\nGit when the session was opened: branch main, top folder " + dir} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	// It stays what it was: it says when it was true.
	if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := w.prompt(); again != got {
		t.Errorf("%s\n---\n%s", got, again)
	}
}
