package search

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
)

// aged makes files of which each is older than the one before.
func (f *fixture) aged(names ...string) {
	f.t.Helper()
	now := time.Now()
	for i, name := range names {
		path := f.put(name, name+"\n")
		then := now.Add(-time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, then, then); err != nil {
			f.t.Fatal(err)
		}
	}
}

func TestGlob(t *testing.T) {
	f := setup(t)
	f.aged("src/new.go", "old.go", "src/deep/er/x.go", "src/a.ts", "src/b.tsx", ".github/ci.yml", ".hidden.go", "ignored.go", "build/out.go", "src/.secret/k.go", "zz.md", ".git/config", ".git/x.go")
	f.put(".gitignore", "/ignored.go\nbuild/\n")
	if err := os.Symlink(f.dir, f.path("src/loop")); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "far.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	outside, _ = filepath.EvalSymlinks(outside)
	for _, test := range []struct {
		args args
		want []string
	}{
		{args{"pattern": "*.go"}, []string{"src/new.go", "old.go", "src/deep/er/x.go"}},
		{args{"pattern": "**/*.go"}, []string{"src/new.go", "old.go", "src/deep/er/x.go"}},
		{args{"pattern": "/*.go"}, []string{"old.go"}},
		{args{"pattern": "./*.go"}, []string{"old.go"}},
		{args{"pattern": "src/*.go"}, []string{"src/new.go"}},
		{args{"pattern": "src/"}, []string{"src/new.go", "src/deep/er/x.go", "src/a.ts", "src/b.tsx"}},
		{args{"pattern": "src/**/*.{ts,tsx}"}, []string{"src/a.ts", "src/b.tsx"}},
		{args{"pattern": "[on]*.go"}, []string{"src/new.go", "old.go"}},
		{args{"pattern": "src/*/x.go"}, nil},
		{args{"pattern": "src/*/*/x.go"}, []string{"src/deep/er/x.go"}},
		{args{"pattern": "*.go", "path": "src"}, []string{"src/new.go", "src/deep/er/x.go"}},
		{args{"pattern": "deep/**", "path": "src"}, []string{"src/deep/er/x.go"}},
		{args{"pattern": f.path("src") + "/*.go", "path": "src"}, []string{"src/new.go"}},
		{args{"pattern": "*.go", "hidden": true}, []string{"src/new.go", "old.go", "src/deep/er/x.go", ".hidden.go", "src/.secret/k.go"}},
		{args{"pattern": "*.go", "no_ignore": true}, []string{"src/new.go", "old.go", "src/deep/er/x.go", "ignored.go", "build/out.go"}},
		{args{"pattern": "build/**"}, nil},
		{args{"pattern": "*", "path": "build"}, []string{"build/out.go"}},
		{args{"pattern": ".github/**"}, []string{".github/ci.yml"}},
		{args{"pattern": "{.github,src}/*.yml"}, []string{".github/ci.yml"}},
		{args{"pattern": "*", "path": ".git", "hidden": true, "no_ignore": true}, nil},
		{args{"pattern": "far.go", "path": outside}, []string{outside + "/far.go"}},
		{args{"pattern": "*.rb"}, nil},
	} {
		r := f.ok("glob", test.args)
		want := strings.Join(test.want, "\n")
		if test.want == nil {
			want = "No files found"
		}
		if r.text != want {
			t.Errorf("%v:\n%s\nwant\n%s", test.args, r.text, want)
		}
		if total, _ := r.value.Get("total").Int64(); int(total) != len(test.want) || r.card.Search.Total != len(test.want) || r.card.Search.Truncated {
			t.Errorf("%v: total %d, card %+v", test.args, total, r.card.Search)
		}
	}
}

func TestGlobErrors(t *testing.T) {
	f := setup(t)
	f.put("f", "x")
	f.put("d/g", "x")
	for _, test := range []struct {
		args args
		want string
	}{
		{args{"pattern": ""}, "pattern must be a non-empty string"},
		{args{"pattern": "*", "path": ""}, "path must be a non-empty string when given"},
		{args{"pattern": "*", "path": "nowhere"}, `cannot search "` + f.path("nowhere") + `": not found`},
		{args{"pattern": "*", "path": "f"}, `cannot search "` + f.path("f") + `": not a folder`},
		{args{"pattern": "[a"}, `invalid glob pattern "[a": a bracket, brace or backslash is not closed`},
		{args{"pattern": "../*"}, `the pattern "../*" leads out of the searched folder, and only what is in that is found: give path "` + filepath.Dir(f.dir) + `" and pattern "*"`},
		{args{"pattern": "./../lib/**/*.go"}, `the pattern "./../lib/**/*.go" leads out of the searched folder, and only what is in that is found: give path "` + filepath.Join(filepath.Dir(f.dir), "lib") + `" and pattern "**/*.go"`},
		{args{"pattern": "../", "path": "d"}, `the pattern "../" leads out of the searched folder, and only what is in that is found: give path "` + f.dir + `" and pattern "**"`},
		{args{"pattern": f.dir + "/d/../*"}, `the pattern "` + f.dir + `/d/../*" leads out of the searched folder, and only what is in that is found: give path "` + f.dir + `" and pattern "*"`},
		{args{"pattern": filepath.Dir(f.dir) + "/*.go"}, `the pattern "` + filepath.Dir(f.dir) + `/*.go" leads out of the searched folder, and only what is in that is found: give path "` + filepath.Dir(f.dir) + `" and pattern "*.go"`},
		{args{"pattern": "**/../x"}, `the pattern "**/../x" has ".." in it, which the path of no file has that is found: give the folder as path, and a pattern without ".."`},
		{args{"pattern": "{../a,b}"}, `the pattern "{../a,b}" has ".." in it, which the path of no file has that is found: give the folder as path, and a pattern without ".."`},
		{args{"pattern": "~/x/*"}, `the pattern "~/x/*" begins with ~, which is not expanded: give the folder as path, absolute, and what follows it as pattern`},
		{args{"pattern": "{a"}, `invalid glob pattern "{a": a bracket, brace or backslash is not closed`},
	} {
		if r := f.do("glob", test.args); r.text != "Error: "+test.want {
			t.Errorf("%v: %s", test.args, r.text)
		} else if r.card != nil {
			t.Errorf("%v: a failed call has a card", test.args)
		}
	}
}

// Dots that lead nowhere else, and a slash that ties a pattern to the folder, find
// what they found.
func TestPatternsThatStayInside(t *testing.T) {
	f := setup(t)
	f.put("usr/a.go", "x")
	f.put("a..b/c.go", "x")
	f.put("...", "x")
	for pattern, want := range map[string]string{
		"/usr/*.go": "usr/a.go", "./usr/*.go": "usr/a.go", f.dir + "/usr/*": "usr/a.go", "a..b/*": "a..b/c.go", "..*": "...",
		"/tmp-is-not-here/*": "No files found", "/*/a.go": "usr/a.go",
	} {
		if r := f.do("glob", args{"pattern": pattern}); r.text != want {
			t.Errorf("%s: %s", pattern, r.text)
		}
	}
}

// A capped result must never look complete: not in the text, the value or the
// card.
func TestGlobCapped(t *testing.T) {
	f := setup(t)
	for i := range 130 {
		f.put(fmt.Sprintf("d/%03d.txt", i), "")
	}
	r := f.ok("glob", args{"pattern": "*.txt"})
	if n := strings.Count(r.text, ".txt"); n != shownPaths {
		t.Errorf("%d paths are shown", n)
	}
	if !strings.HasSuffix(r.text, "\n\n(Showing 100 of 130 paths. The complete result could not be saved; narrow pattern or path to see more.)") {
		t.Error(r.text[len(r.text)-200:])
	}
	if r.value.Get("paths").Len() != 130 {
		t.Error("the value is not complete")
	}
	if s := r.card.Search; !s.Truncated || s.Total != 130 || len(s.Paths) != 100 || r.card.Card != cards.Search {
		t.Errorf("card: truncated %v, total %d, %d paths", s.Truncated, s.Total, len(s.Paths))
	}
}

func TestUnreadableFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can read every folder")
	}
	f := setup(t)
	f.put("locked/a.txt", "x")
	f.put("b.txt", "x")
	if err := os.Chmod(f.path("locked"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(f.path("locked"), 0o755) })
	if got := f.ok("glob", args{"pattern": "*.txt"}).text; got != "b.txt\n\n(Not or not wholly searched: locked (permission denied))" {
		t.Error(got)
	}
}

func TestSkipsKeepTheFirstAndCountAll(t *testing.T) {
	var s skips
	for i := range 30 {
		s.add(fmt.Sprintf("%02d", (i*7)%30), "why")
	}
	if s.total != 30 || len(s.list) != maxSkips || s.list[0].path != "00" || s.list[9].path != "09" {
		t.Errorf("%d, %v", s.total, s.list)
	}
	text := renderSkipped(s.value(emptyObject(), place{shown: "/w", cwd: "/w"}))
	if !strings.HasSuffix(text, "09 (why), and 20 more)") {
		t.Error(text)
	}
}

func TestCallCards(t *testing.T) {
	f := setup(t)
	for _, test := range []struct {
		tool, title string
		args        args
	}{
		{"glob", "Glob *.go", args{"pattern": "*.go"}},
		{"glob", "Glob *.go in src", args{"pattern": "*.go", "path": "src"}},
		{"grep", "Grep a+", args{"pattern": "a+"}},
		{"grep", "Grep a+ in /w/src (*.go)", args{"pattern": "a+", "path": "/w/src", "include": "*.go"}},
		{"grep", "Grep a+ (*.go)", args{"pattern": "a+", "include": "*.go"}},
	} {
		c := f.do(test.tool, test.args).call
		raw, _ := c.RawInput.Str()
		if c.Title != test.title || c.Card != cards.Generic || c.Kind != cards.KindSearch || raw != test.args["pattern"] || c.Locations != nil {
			t.Errorf("%+v", c)
		}
	}
}
