package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func emptyObject() jsonvalue.Value { return jsonvalue.Object() }

func TestGrep(t *testing.T) {
	f := setup(t)
	f.put("a.go", "package a\n\nfunc One() {}\nfunc two() {}\n")
	f.put("b/c.go", "package c\r\n\r\nfunc Three() {}\r\n")
	f.put("b/d.txt", "func in text\nnothing\nlast func")
	f.put(".hidden/x.go", "func Hidden() {}\n")
	f.put("ignored.go", "func Ignored() {}\n")
	f.put(".gitignore", "ignored.go\n")
	f.put("bin", "func\x00func\n")
	f.put("bom.txt", "\xEF\xBB\xBFstart here\nstart not\n")
	f.put("bad.txt", "good func2\nbad func2 \xff\n")
	f.put("long.txt", strings.Repeat("é", 1500)+" needle\n")
	if err := os.Symlink(f.dir, f.path("loop")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args args
		want string
	}{
		{args{"pattern": `func [A-Z]\w*`}, "Found 2 matches\n\na.go\nLine 3: func One() {}\n\nb/c.go\nLine 3: func Three() {}"},
		{args{"pattern": `^func`, "include": "*.go", "path": "b"}, "Found 1 match\n\nb/c.go\nLine 3: func Three() {}"},
		{args{"pattern": `\{\}$`, "include": "*.go"}, "Found 3 matches\n\na.go\nLine 3: func One() {}\nLine 4: func two() {}\n\nb/c.go\nLine 3: func Three() {}"},
		{args{"pattern": "ONE", "ignore_case": true}, "Found 1 match\n\na.go\nLine 3: func One() {}"},
		{args{"pattern": "ONE"}, "No matches found"},
		{args{"pattern": "hidden", "ignore_case": true, "hidden": true}, "Found 1 match\n\n.hidden/x.go\nLine 1: func Hidden() {}"},
		{args{"pattern": "Ignored", "no_ignore": true}, "Found 1 match\n\nignored.go\nLine 1: func Ignored() {}"},
		{args{"pattern": "Ignored", "path": "ignored.go"}, "Found 1 match\n\nignored.go\nLine 1: func Ignored() {}"},
		{args{"pattern": "func", "path": "bin"}, "No matches found\n\n(Not or not wholly searched: bin (binary file))"},
		{args{"pattern": "^start"}, "Found 2 matches\n\nbom.txt\nLine 1: start here\nLine 2: start not"},
		{args{"pattern": "func2"}, "Found 2 matches\n\nbad.txt\nLine 1: good func2\nLine 2: (line is not valid UTF-8)"},
		{args{"pattern": "needle"}, "Found 1 match\n\nlong.txt\nLine 1: " + strings.Repeat("é", 1000) + " (line truncated)"},
		{args{"pattern": "func", "path": "b", "output_mode": "files_with_matches"}, "Found 2 files\n\nb/c.go\nb/d.txt"},
		{args{"pattern": "func", "path": "b", "output_mode": "count"}, "Found 2 files with 3 matches in all\n\nb/c.go: 1\nb/d.txt: 2"},
		{args{"pattern": "func", "output_mode": "count", "limit": 1}, "Found 1 of 4 files with 7 matches in all\n\na.go: 2\n\n" + narrow},
		{args{"pattern": "func", "limit": 3}, "Found 3 of 7 matches\n\na.go\nLine 3: func One() {}\nLine 4: func two() {}\n\nb/c.go\nLine 3: func Three() {}\n\n" + narrow},
		{args{"pattern": "One", "context": 1}, "Found 1 match\n\na.go\nLine 2- \nLine 3: func One() {}\nLine 4- func two() {}"},
		{args{"pattern": "package", "after": 1}, "Found 2 matches\n\na.go\nLine 1: package a\nLine 2- \n\nb/c.go\nLine 1: package c\nLine 2- "},
		{args{"pattern": "func", "path": "b/d.txt", "before": 1, "after": 0}, "Found 2 matches\n\nb/d.txt\nLine 1: func in text\nLine 2- nothing\nLine 3: last func"},
		{args{"pattern": `One.*two`, "multiline": true}, "Found 2 matches\n\na.go\nLine 3: func One() {}\nLine 4: func two() {}"},
		{args{"pattern": `a\s+func`}, "No matches found"},
		{args{"pattern": `[^x]$`, "path": "b/c.go"}, "Found 2 matches\n\nb/c.go\nLine 1: package c\nLine 3: func Three() {}"},
		{args{"pattern": `a\s+func`, "multiline": true}, "Found 3 matches\n\na.go\nLine 1: package a\nLine 2: \nLine 3: func One() {}"},
		{args{"pattern": `a\n\nfunc`}, "No matches found"},
		{args{"pattern": "func", "path": "b", "include": "*.{md,txt}"}, "Found 2 matches\n\nb/d.txt\nLine 1: func in text\nLine 3: last func"},
		{args{"pattern": "func", "include": "b/*.go"}, "Found 1 match\n\nb/c.go\nLine 3: func Three() {}"},
	} {
		if r := f.ok("grep", test.args); r.text != test.want {
			t.Errorf("%v:\n%s\nwant\n%s", test.args, r.text, test.want)
		}
	}
}

func TestGrepContextGroups(t *testing.T) {
	f := setup(t)
	var b strings.Builder
	for i := 1; i <= 20; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	f.put("f", b.String())
	got := f.ok("grep", args{"pattern": "line (5|7|15)$", "context": 1}).text
	want := "Found 3 matches\n\nf\nLine 4- line 4\nLine 5: line 5\nLine 6- line 6\nLine 7: line 7\nLine 8- line 8\n--\nLine 14- line 14\nLine 15: line 15\nLine 16- line 16"
	if got != want {
		t.Error(got)
	}
}

func TestGrepErrors(t *testing.T) {
	f := setup(t)
	for _, test := range []struct {
		args args
		want string
	}{
		{args{"pattern": ""}, "pattern must be a non-empty string"},
		{args{"pattern": "x", "path": " "}, "path must be a non-empty string when given"},
		{args{"pattern": "x", "include": ""}, "include must be a non-empty glob when given"},
		{args{"pattern": "x", "include": "!*.go"}, `include must be a positive glob filter; negated patterns ("!…") are not supported`},
		{args{"pattern": "x", "include": "*.go,*.ts"}, "include must be one glob, not a comma-separated list (use {a,b} alternation instead)"},
		{args{"pattern": "x", "limit": 0}, "limit must be a positive integer"},
		{args{"pattern": "x", "context": 1.5}, "context must be an integer that is not negative"},
		{args{"pattern": "x", "path": "nowhere"}, `cannot search "` + f.path("nowhere") + `": not found`},
	} {
		if r := f.do("grep", test.args); r.text != "Error: "+test.want || r.card != nil {
			t.Errorf("%v: %s", test.args, r.text)
		}
	}
	for _, pattern := range []string{"(", "a(?=b)", `(a)\1`, "a{2000}"} {
		r := f.do("grep", args{"pattern": pattern})
		var e *Error
		if !errors.As(r.err, &e) || e.Code() != CodeInvalidPattern || !strings.Contains(r.text, "invalid regular expression: ") {
			t.Errorf("%s: %v", pattern, r.err)
		}
	}
}

// However much there is, the log keeps a bounded part for the card and says so.
func TestGrepCardBudget(t *testing.T) {
	f := setup(t)
	line := strings.Repeat("x", 1000) + "\n"
	for i := range 10 {
		f.put(fmt.Sprintf("f%d", i), strings.Repeat(line, 12))
	}
	r := f.ok("grep", args{"pattern": "x"})
	if n := len(r.meta.JSON()); n > metaBudget+1024 {
		t.Errorf("%d bytes of meta", n)
	}
	s := r.card.Search
	if !s.Truncated || s.Total != 120 || len(s.Files) != 5 {
		t.Errorf("truncated %v, total %d, %d files", s.Truncated, s.Total, len(s.Files))
	}
	for _, file := range s.Files {
		if len(file.Matches) != 12 {
			t.Errorf("%s has %d matches: files are kept whole", file.Path, len(file.Matches))
		}
	}
	one := f.ok("grep", args{"pattern": "x", "path": "f0", "limit": 2000})
	if one.card.Search.Truncated || one.card.Search.Total != 12 {
		t.Error("one small file is complete")
	}
	f.put("big", strings.Repeat(line, 100))
	s = f.ok("grep", args{"pattern": "x", "path": "big"}).card.Search
	if n := len(s.Files[0].Matches); !s.Truncated || s.Total != 100 || n == 0 || n == 100 {
		t.Errorf("truncated %v, total %d, %d matches", s.Truncated, s.Total, n)
	}
	s = f.ok("grep", args{"pattern": "x", "output_mode": "files_with_matches", "limit": 3}).card.Search
	if s.Total != 11 || len(s.Paths) != 11 || s.Truncated {
		t.Errorf("%+v", s)
	}
}

// What the text says of files that were not searched, the card says too, in every
// mode; and where lines are counted, it has the counts.
func TestGrepCardIsAsHonestAsItsText(t *testing.T) {
	f := setup(t)
	f.put("d/binary", "needle\x00\n")
	f.put("d/long", strings.Repeat("x", 2<<20)+"needle\n")
	f.put("d/a", "needle\nneedle\n")
	f.put("d/b", "needle\n")
	for _, path := range []string{"d/binary", "d/long", "d/a", "d"} {
		for _, mode := range []string{"content", "files_with_matches", "count"} {
			r := f.ok("grep", args{"pattern": "needle", "path": path, "output_mode": mode})
			note := r.card.Search.Note
			if incomplete := strings.Contains(r.text, "Not or not wholly searched"); incomplete != (note != "") || !strings.HasSuffix(r.text, note) {
				t.Errorf("%s, %s: the card says %q, the text %q", path, mode, note, r.text)
			}
			if path != "d" && path != "d/a" && note == "" {
				t.Errorf("%s, %s: %q", path, mode, r.text)
			}
			var counts []int
			switch {
			case mode == "count" && path == "d":
				counts = []int{2, 1}
			case mode == "count" && path == "d/a":
				counts = []int{2}
			}
			if !slices.Equal(r.card.Search.Counts, counts) {
				t.Errorf("%s, %s: counts %v", path, mode, r.card.Search.Counts)
			}
		}
	}
}

func TestResultCardRefusesOtherMeta(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"shape":"matches","total":1}`, `{"shape":"other","total":1,"truncated":false}`, `{"shape":"paths","paths":[1],"total":1,"truncated":false}`,
		`{"shape":"matches","files":[{"path":1}],"total":1,"truncated":false}`, `{"shape":"matches","files":[{"path":"a","matches":[{"line":"x"}]}],"total":1,"truncated":false}`,
	} {
		meta, err := jsonvalue.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if presentResult(emptyObject(), cards.ResultInput{Content: []content.Block{content.Text("x")}, Meta: meta}) != nil {
			t.Errorf("%s made a card", text)
		}
	}
}

// A line that is longer than any buffer costs bounded memory and is not passed
// off as searched.
func TestGrepEndlessLine(t *testing.T) {
	f := setup(t)
	f.put("f", "early\n"+strings.Repeat("x", 3<<20)+"late\nafter\n")
	r := f.ok("grep", args{"pattern": "early|after|late"})
	want := "Found 2 matches\n\nf\nLine 1: early\nLine 3: after\n\n(Not or not wholly searched: f (" + noteLongLine + "))"
	if r.text != want {
		t.Error(r.text)
	}
}

// A search ends soon after its context, however hard the expression and however
// large the file.
func TestCancel(t *testing.T) {
	f := setup(t)
	f.put("big", strings.Repeat(strings.Repeat("ab ", 300)+"\n", 9000)) // 8 MB
	for i := range 20 {
		f.put(fmt.Sprintf("f%d", i), strings.Repeat("abcdefgh\n", 100_000))
	}
	for _, a := range []args{
		{"pattern": `(\w+\s+){5,60}\d$`},
		{"pattern": `(\w+\s+){5,60}\d`, "multiline": true},
		{"pattern": `(a|ab)+c`, "multiline": true},
		{"pattern": `\bx*`, "multiline": true},
		{"pattern": "zzz"},
	} {
		limit := time.Second // a fifth of it, and less, where nobody else computes
		if raceEnabled {
			limit *= 10
		}
		// A busy machine may be late by itself, but not every time.
		took := limit + 1
		for try := 0; try < 5 && took > limit; try++ {
			ctx, cancel := context.WithCancel(context.Background())
			var began time.Time
			time.AfterFunc(20*time.Millisecond, func() { began = time.Now(); cancel() })
			r := f.doCtx(ctx, "grep", a)
			<-ctx.Done()
			took = time.Since(began)
			if r.err != nil && !errors.Is(r.err, context.Canceled) {
				t.Errorf("%v: %v", a, r.err)
			}
			t.Logf("%v: cancelled %v, %v later", a, r.err != nil, took)
		}
		if took > limit {
			t.Errorf("%v: ended %v after it was cancelled", a, took)
		}
	}
}

// A file filter that leads out of the searched folder is said to, with the way out.
func TestIncludeThatLeavesTheFolder(t *testing.T) {
	f := setup(t)
	f.put("a.go", "x")
	want := `Error: the include "../*.go" leads out of the searched folder, and only what is in that is found: give path "` + filepath.Dir(f.dir) + `" and include "*.go"`
	if r := f.do("grep", args{"pattern": "x", "include": "../*.go"}); r.text != want {
		t.Error(r.text)
	}
}
