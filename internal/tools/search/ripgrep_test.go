package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// needRipgrep finds the program to compare with.
func needRipgrep(t testing.TB) string {
	if rg := os.Getenv("DSH_TEST_RG"); rg != "" {
		return rg
	}
	rg := lookPath("rg")
	if rg == "" {
		t.Skip("ripgrep is not installed (nor named by DSH_TEST_RG): there is nothing to compare with")
	}
	return rg
}

// realTree is a tree that nobody made for this test: the sources of this program.
func realTree(t testing.TB) string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// With ripgrep or without, the answer is the same, to the byte.
func TestSameAnswerWithRipgrep(t *testing.T) {
	rg := needRipgrep(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := realTree(t)
	procs := supervisor(t)
	without := setupIn(t, dir, Options{NoRipgrep: true})
	with := setupIn(t, dir, Options{Supervisor: procs, Ripgrep: rg})
	for _, a := range []args{
		{"pattern": "func"},
		{"pattern": "nosuchtextanywhere"},
		{"pattern": `func \w+Call\(`, "limit": 2000},
		{"pattern": `^package \w+$`, "output_mode": "count"},
		{"pattern": `\bTODO\b`, "context": 2},
		{"pattern": "http", "ignore_case": true, "output_mode": "files_with_matches"},
		{"pattern": "ſ", "ignore_case": true, "output_mode": "count"}, // folds to s
		{"pattern": `\{\n\t(if|for) `, "multiline": true, "output_mode": "count"},
		{"pattern": `[^\x00-\x7F]`, "output_mode": "count"},
		{"pattern": `^$`, "output_mode": "count"},
		{"pattern": `x*`, "output_mode": "count"},
		{"pattern": `(?i)error.*nil|nil.*error`, "include": "*_test.go"},
		{"pattern": `\pL{20,}`, "limit": 2000},
		{"pattern": `a\nb`},
	} {
		one, two := without.ok("grep", a), with.ok("grep", a)
		if !one.value.Equal(two.value) || one.text != two.text {
			t.Errorf("%v: the answers differ:\n%.500s\n\n%.500s", a, one.text, two.text)
		}
	}
}

// ripgrep's own answer, where it means the same by an expression.
func TestLikeRipgrepItself(t *testing.T) {
	rg := needRipgrep(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := realTree(t)
	f := setupIn(t, dir, Options{NoRipgrep: true})
	procs := supervisor(t)
	for _, pattern := range []string{`func [A-Z]`, `err != nil \{$`, `^import`, `[Ll]isten\w*\(`, `0x[0-9a-f]+`} {
		out, err := procs.Run(context.Background(), proc.Command{Spec: proc.Spec{
			Args: []string{rg, "--no-config", "--count", "--sort=path", "-e", pattern, "./"}, Dir: f.dir,
		}}, proc.RunOptions{Limit: 4 << 20, Timeout: time.Minute})
		if err != nil || out.Code != 0 {
			t.Fatalf("%v %v %s", err, out.Exit, out.Stderr.Text)
		}
		theirs := strings.Split(strings.TrimSpace(strings.ReplaceAll(out.Stdout.Text, "./", "")), "\n")
		var ours []string
		for _, e := range f.ok("grep", args{"pattern": pattern, "output_mode": "count"}).value.Get("files").Elements() {
			n, _ := e.Get("count").Int64()
			ours = append(ours, fmt.Sprintf("%s:%d", e.GetString("path"), n))
		}
		slices.Sort(ours)
		slices.Sort(theirs)
		if !slices.Equal(ours, theirs) {
			t.Errorf("%s: %d files, ripgrep %d", pattern, len(ours), len(theirs))
		}
	}
}

// ripgrep must find every file that we would, for any expression and any bytes.
func TestRipgrepMissesNothing(t *testing.T) {
	rg := needRipgrep(t)
	procs := supervisor(t)
	r := newRipgrep(Options{Supervisor: procs, Ripgrep: rg})
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		expression := expressions.Draw(t, "expression")
		multiline := rapid.Bool().Draw(t, "multiline")
		if _, err := regexp.Compile(expression); err != nil {
			t.Skip("not an expression")
		}
		q, err := compileQuery(expression, rapid.Bool().Draw(t, "fold"), multiline)
		if err != nil {
			t.Fatal(err)
		}
		rust, ok := q.rustExpression()
		if !ok {
			t.Skip("not for ripgrep")
		}
		var files []string
		s := newScanner(q)
		want := map[string]bool{}
		for i, text := range rapid.SliceOfN(texts, 20, 20).Draw(t, "texts") {
			name := fmt.Sprint("f", i)
			files = append(files, name)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			f, err := s.file(context.Background(), filepath.Join(dir, name), wish{any: true})
			if err != nil {
				t.Fatal(err)
			}
			want[name] = f.count > 0
		}
		may, ok := r.candidates(context.Background(), dir, rust, multiline, files)
		if !ok {
			t.Fatalf("ripgrep refuses %q for %q", rust, expression)
		}
		for name, matches := range want {
			if matches && !may[name] {
				data, _ := os.ReadFile(filepath.Join(dir, name))
				t.Fatalf("%q (as %q) is in %q, and ripgrep did not find it", expression, rust, data)
			}
		}
	})
}

// A program that fails, lies dead or answers nonsense costs time, not answers.
func TestBrokenRipgrep(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("uses a shell script")
	}
	f := setup(t)
	for i := range 200 {
		f.put(fmt.Sprintf("d%d/f%d -x\n", i%7, i), "needle\n")
	}
	for _, script := range []string{"exit 2", "kill -9 $$", "echo noise; exit 3", "yes | head -c 200000; exit 0"} {
		bin := filepath.Join(t.TempDir(), "rg")
		if err := os.WriteFile(bin, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		g := setupIn(t, f.dir, Options{Supervisor: supervisor(t), Ripgrep: bin})
		if r := g.ok("grep", args{"pattern": "needle", "output_mode": "count"}); r.card.Search.Total != 200 {
			t.Errorf("%s: %d files", script, r.card.Search.Total)
		}
	}
	g := setupIn(t, f.dir, Options{Supervisor: supervisor(t), Ripgrep: f.path("nothing here")})
	if r := g.ok("grep", args{"pattern": "needle"}); r.card.Search.Total != 200 {
		t.Errorf("without the program: %d matches", r.card.Search.Total)
	}
	if rg := os.Getenv("DSH_TEST_RG"); rg != "" || lookPath("rg") != "" {
		g := setupIn(t, f.dir, Options{Supervisor: supervisor(t), Ripgrep: needRipgrep(t)})
		if r := g.ok("grep", args{"pattern": "needle"}); r.card.Search.Total != 200 {
			t.Errorf("odd names: %d matches", r.card.Search.Total)
		}
	}
}

func TestLookPathIgnoresTheWorkingDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs permission bits")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, mode := range map[string]os.FileMode{"rg": 0o755, "plain": 0o644} {
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", ".:")
	if got := lookPath("rg"); got != "" {
		t.Errorf("found %s", got)
	}
	t.Setenv("PATH", ".:"+dir)
	if got := lookPath("rg"); got != filepath.Join(dir, "rg") {
		t.Errorf("found %q", got)
	}
	if got := lookPath("plain"); got != "" {
		t.Errorf("found %s, which cannot be run", got)
	}
}
