package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var expressions = rapid.OneOf(
	rapid.SampledFrom([]string{
		"a", "ab", "^", "$", "^$", "x*", "a|b", `\bab\b`, `\Bb`, "^a.*b$", `\s`, `[^a]`, `[^a]$`, `\r`, `a\r`, `\w+\s\w+`, `(?i)AB`, "é", "[é-ü]", ".é", "(a|b)*c", "a{2,3}",
		`\A`, `\z`, `a\z`, `\Aa`, "(?:^|b)a", `\x{FFFD}`, ".", ".+", `\n`, `a\nb`, `a[\n ]b`, `(?s)a.b`, `(?U)a+b`, `\pL+`, `(?-m:^a$)`,
	}),
	rapid.StringMatching(`([ab.é]|\[[^ab]\]|\(a\|b\)|\\b|\\s|\^|\$|a\*|b\+|\.\?|\\w){1,6}`),
)

var texts = rapid.OneOf(
	rapid.StringMatching(`([ab]|[ab ]|é|\r|\n|\n|\r\n|ab|AB|x){0,40}`),
	rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte("ab \n\n\rx\xff\xc3\xa9\xef\xbb\xbf")), 0, 40), func(b []byte) string { return string(b) }),
)

// linesOf are the lines of a text, without their endings.
func linesOf(text string) []string {
	text = strings.TrimPrefix(text, "\xEF\xBB\xBF")
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// naive puts the expression to each line of a text.
func naive(re *regexp.Regexp, text string) []int {
	var numbers []int
	for i, line := range linesOf(text) {
		if re.MatchString(line) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func searchText(t interface{ Fatal(...any) }, dir string, q *query, text string) found {
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := newScanner(q).file(context.Background(), path, wish{lines: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func numbersOf(f found) []int {
	var out []int
	for _, h := range f.hits {
		out = append(out, h.number)
	}
	return out
}

// What is found is what package regexp finds in each line, whatever shortcut was
// taken.
func TestLinesLikeRegexp(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		expression, text := expressions.Draw(t, "expression"), texts.Draw(t, "text")
		fold := rapid.Bool().Draw(t, "fold")
		oracle, err := regexp.Compile(map[bool]string{false: "(?m)", true: "(?mi)"}[fold] + expression)
		if err != nil {
			t.Skip("not an expression")
		}
		q, err := compileQuery(expression, fold, false)
		if err != nil {
			t.Fatal(err)
		}
		f := searchText(t, dir, q, text)
		got, want := numbersOf(f), naive(oracle, text)
		if !slices.Equal(got, want) || f.count != len(want) {
			t.Fatalf("%q in %q: lines %v (count %d), want %v", expression, text, got, f.count, want)
		}
		lines := linesOf(text)
		for _, h := range f.hits {
			line := lines[h.number-1]
			if !utf8.ValidString(line) {
				line = notUTF8
			}
			if h.text != line {
				t.Fatalf("line %d is %q, want %q", h.number, h.text, line)
			}
		}
	})
}

// What is asked of the end of a line is asked before the carriage return of its
// line ending.
func TestAssertionsBehindTheEndOfALine(t *testing.T) {
	dir := t.TempDir()
	for _, expression := range []string{
		`$\b`, `\b$`, `$\B`, `(a|$)\b`, `$^`, `^$`, `\b$\b`, `$\b$`, `$\b|zz`, `(?:\b$)+`, `(?:$|\b)*c`, `^$\B`, `$\r`, `b$\b`, `^ab$\b`, `(?-m:b$\b)`,
	} {
		for _, text := range []string{"ab\r\n", "ab\n", "ab", "ab\r", "\r\n", "\n", "ab \r\n", "ab \n", "ab\r\n \r\ncd\r\n\r\nb\n"} {
			q, err := compileQuery(expression, false, false)
			if err != nil {
				t.Fatal(err)
			}
			got, want := numbersOf(searchText(t, dir, q, text)), naive(regexp.MustCompile("(?m)"+expression), text)
			if !slices.Equal(got, want) {
				t.Errorf("%q in %q: lines %v, want %v", expression, text, got, want)
			}
		}
	}
}

// The same over a text of several pieces, whose ends fall anywhere.
func TestLinesOverPieces(t *testing.T) {
	dir := t.TempDir()
	for _, expression := range []string{"needle", "n[e]{2}dle$", `\bneedle\b`, "NEEDLE|needle", "^.*é needle$"} {
		q, err := compileQuery(expression, false, false)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		var want []int
		for number := 1; b.Len() < 3*pieceSize; number++ {
			b.WriteString(strings.Repeat("é", number*37%400))
			if number%11 == 0 {
				b.WriteString("é needle")
				want = append(want, number)
			}
			b.WriteString("\n")
		}
		if got := numbersOf(searchText(t, dir, q, b.String())); !slices.Equal(got, want[:min(len(want), 1000)]) {
			t.Errorf("%s: %d lines, want %d", expression, len(got), len(want))
		}
	}
}

// With multiline the lines that the matches of the whole text touch.
func TestWholeLikeRegexp(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		expression, text := expressions.Draw(t, "expression"), texts.Draw(t, "text")
		if strings.Contains(text, "\r") || strings.Contains(expression, "(?-m") {
			t.Skip("the oracle knows no carriage returns")
		}
		oracle, err := regexp.Compile("(?ms)" + expression)
		if err != nil {
			t.Skip("not an expression")
		}
		q, err := compileQuery(expression, false, true)
		if err != nil {
			t.Fatal(err)
		}
		got := numbersOf(searchText(t, dir, q, text))
		body := strings.TrimPrefix(text, "\xEF\xBB\xBF")
		var want []int
		for _, loc := range oracle.FindAllStringIndex(body, -1) {
			for p := loc[0]; p <= max(loc[0], loc[1]-1); p++ {
				if body == "" || p == len(body) && body[p-1] == '\n' {
					continue
				}
				if n := strings.Count(body[:p], "\n") + 1; !slices.Contains(want, n) {
					want = append(want, n)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: lines %v, want %v", expression, text, got, want)
		}
	})
}

// Forgetting states changes nothing.
func TestAutomatonForgets(t *testing.T) {
	q, err := compileQuery(`[ab]*a[ab]{12}c`, false, false)
	if err != nil {
		t.Fatal(err)
	}
	a := newAutomaton(q.prog)
	seed := uint32(1)
	var text []byte
	for range 20_000 {
		seed = seed*1664525 + 1013904223
		text = append(text, "ab"[seed>>31])
	}
	c := a.begin()
	if i := a.find(&c, text, true); i >= 0 {
		t.Fatalf("found at %d", i)
	}
	if len(a.states) > maxStates {
		t.Errorf("%d states", len(a.states))
	}
	text = append(text, "aabababababab"...)
	text = append(text, 'c')
	c = a.begin()
	if i := a.find(&c, text, true); i != len(text) {
		t.Errorf("found at %d of %d", i, len(text))
	}
}

// The collector keeps the first lines in order, in whatever order files end.
func TestCollectorKeepsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 30).Draw(t, "counts")
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		order := rapid.Permutation(sequence(len(counts))).Draw(t, "order")
		c := &collector{limit: limit, cutoff: len(counts)}
		for _, i := range order {
			var f found
			for n := range counts[i] {
				f.count++
				if len(f.hits) < c.wanted(i) {
					f.hits = append(f.hits, hit{number: n})
				}
			}
			if f.count > 0 {
				c.add(i, f)
			}
			if c.lines > 2*max(limit, 6)+limit {
				t.Fatalf("%d lines are kept", c.lines)
			}
		}
		o := c.outcome()
		var got, want []string
		for _, f := range o.hits {
			for _, h := range f.hits {
				got = append(got, fmt.Sprint(f.index, h.number))
			}
		}
		total := 0
		for i, n := range counts {
			total += n
			for k := range n {
				if len(want) < limit {
					want = append(want, fmt.Sprint(i, k))
				}
			}
		}
		if !slices.Equal(got, want) || o.total != total {
			t.Fatalf("got %v (%d), want %v (%d)", got, o.total, want, total)
		}
	})
}

func sequence(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Expressions and texts that the law above has caught.
func TestWholeCases(t *testing.T) {
	for _, c := range []struct {
		expression, text string
		want             []int
	}{
		{"^", "\n\xa9", []int{1, 2}},
		{"^", "\xa9\xa9\xa9\nb", []int{1, 2}},
		{".?^", "\na", []int{1}},
	} {
		q, err := compileQuery(c.expression, false, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := numbersOf(searchText(t, t.TempDir(), q, c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: lines %v, want %v", c.expression, c.text, got, c.want)
		}
	}
}
