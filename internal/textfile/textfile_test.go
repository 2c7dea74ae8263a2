package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, to, path string) string {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	// The folder of the test may be reached through a link itself.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside := filepath.Join(dir, "project"), filepath.Join(dir, "outside")
	plain := write(t, filepath.Join(root, "AGENTS.md"), "one\ntwo\n")
	bom := write(t, filepath.Join(root, "bom.md"), "\uFEFFtext")
	secret := write(t, filepath.Join(outside, "id_rsa"), "secret")
	shared := write(t, filepath.Join(outside, "SHARED.MD"), "shared")
	for _, c := range []struct {
		name, path, text string
		err              error
		unbound          bool
	}{
		{name: "a file", path: plain, text: "one\ntwo\n"},
		{name: "a byte-order mark", path: bom, text: "text"},
		{name: "a link", path: link(t, "AGENTS.md", filepath.Join(root, "CLAUDE.md")), text: "one\ntwo\n"},
		{name: "a link out to Markdown", path: link(t, shared, filepath.Join(root, "out.md")), text: "shared"},
		{name: "a link out to something else", path: link(t, secret, filepath.Join(root, "trap.md")), err: ErrLeadsOut},
		{name: "the same, allowed", path: filepath.Join(root, "trap.md"), text: "secret", unbound: true},
		{name: "a loop", path: link(t, "loop.md", filepath.Join(root, "loop.md")), err: errAny},
		{name: "a link to nothing", path: link(t, "gone", filepath.Join(root, "dangling.md")), err: ErrDangling},
		{name: "a folder", path: root, err: ErrNotRegular},
		{name: "nothing", path: filepath.Join(root, "none.md"), err: fs.ErrNotExist},
		{name: "no text", path: write(t, filepath.Join(root, "bin.md"), "a\xffb"), err: ErrNotText},
		{name: "zeroes", path: write(t, filepath.Join(root, "nul.md"), "a\x00b"), err: ErrNotText},
	} {
		bound := root
		if c.unbound {
			bound = ""
		}
		f, err := Read(c.path, bound, 100)
		switch {
		case c.err == nil && (err != nil || f.Text != c.text || f.Cut):
			t.Errorf("%s: %q, %v", c.name, f.Text, err)
		case c.err == errAny && (err == nil || errors.Is(err, fs.ErrNotExist)):
			t.Errorf("%s: %v", c.name, err)
		case c.err != nil && c.err != errAny && !errors.Is(err, c.err):
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
		if err != nil && strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the error names the path: %v", c.name, err)
		}
	}
}

var errAny = errors.New("any error but that there is nothing")

// What is cut is a beginning of the file, valid text, and within the limit.
func TestCutIsABeginning(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aé漢😀\n ")), 0, 200, -1).Draw(t, "text")
		limit := rapid.IntRange(0, 300).Draw(t, "limit")
		path := filepath.Join(dir, "f.md")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Read(path, "", limit)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text, f.Text) || !utf8.ValidString(f.Text) || len(f.Text) > limit && limit > 0 {
			t.Fatalf("%q of %q with limit %d", f.Text, text, limit)
		}
		if f.Cut != (len(text) > limit) || f.Size != int64(len(text)) || !f.Cut && f.Text != text {
			t.Fatalf("cut %v, size %d, text %q of %q with limit %d", f.Cut, f.Size, f.Text, text, limit)
		}
	})
}
