package fs

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEditKeepsEveryByteItDoesNotName(t *testing.T) {
	f := setup(t)
	tests := []struct {
		name, before, old, new string
		all                    bool
		after                  string
	}{
		{"CRLF, several lines", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n"},
		{"CRLF given as CRLF", "a\r\nb\r\n", "a\r\nb", "a\r\nB", false, "a\r\nB\r\n"},
		{"CRLF, all", "a\r\nb\r\na\r\nb\r\n", "a\nb\n", "c\n", true, "c\r\nc\r\n"},
		{"mixed endings stay mixed", "a\nb\r\nc\nd\r\n", "c", "C", false, "a\nb\r\nC\nd\r\n"},
		{"each line of the span keeps its own", "a\nb\r\nc\nd\r\n", "a\nb\nc\n", "a\nB\nc\n", false, "a\nB\r\nc\nd\r\n"},
		{"lines shared at the beginning keep their own", "a\nb\r\nc\nd\r\n", "a\nb\n", "a\nb\nX\n", false, "a\nb\r\nX\nc\nd\r\n"},
		{"lines shared at the end keep their own", "a\nb\r\nc\n", "b\nc\n", "X\nb\nc\n", false, "a\nX\r\nb\r\nc\n"},
		{"inserted lines follow their neighbours", "a\r\nb\nc\n", "a", "a\nnew", false, "a\r\nnew\r\nb\nc\n"},
		{"inserted at the end of an LF part", "a\r\nb\nc\n", "b", "b\nnew", false, "a\r\nb\nnew\nc\n"},
		{"last line without newline in a CRLF file", "a\r\nb", "b", "b\nc", false, "a\r\nb\r\nc"},
		{"a lone CR is a character", "a\rb\n", "a\rb", "c", false, "c\n"},
		{"byte-order mark", "\uFEFFa\r\nb\r\n", "a", "x", false, "\uFEFFx\r\nb\r\n"},
		{"no final newline", "a\nb", "b", "c", false, "a\nc"},
		{"deletion with its line ending", "a\r\nb\r\nc\r\n", "b\n", "", false, "a\r\nc\r\n"},
		{"deletion of everything", "all", "all", "", false, ""},
		{"new text byte for byte", "a 'q' \n", "'q'", "“q”\u00a0—", false, "a “q”\u00a0— \n"},
		{"not overlapping", "aaaa\n", "aa", "b", true, "bb\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.put("f", tt.before)
			f.read("f")
			f.ok("edit", m{"file_path": "f", "old_string": tt.old, "new_string": tt.new, "replace_all": tt.all})
			if got := f.get("f"); got != tt.after {
				t.Errorf("got %q, want %q", got, tt.after)
			}
		})
	}
}

func TestNearMissesAreNamed(t *testing.T) {
	f := setup(t)
	f.put("f", "cafe\u0301 au lait\n\tindented  line\nit’s\u00a0here\nplain\n")
	f.read("f")
	for old, want := range map[string]string{
		"caf\u00e9":             "Unicode normal form",
		"    indented line":     "other blanks",
		"it's here":             "quotes, dashes or spaces",
		"4: plain":              "line numbers",
		"nothing like it":       "",
		"2: \tindented  line\n": "line numbers",
	} {
		r := f.do("edit", m{"file_path": "f", "old_string": old, "new_string": "x"})
		message := `old_string was not found in "` + f.path("f") + `"`
		if r.err == nil || !strings.HasPrefix(r.err.Error(), message) {
			t.Fatalf("%q: %v", old, r.err)
		}
		if rest := strings.TrimPrefix(r.err.Error(), message); !strings.Contains(rest, want) || (rest == "") != (want == "") {
			t.Errorf("%q: got the hint %q, want %q", old, rest, want)
		}
	}
}

// checkSplice holds for any text and any edit that applies: outside of the
// replaced spans every byte stays, each span was the old text, and holds the
// new one.
func checkSplice(t interface {
	Helper()
	Fatalf(string, ...any)
}, data, old, new string,
) {
	t.Helper()
	v := newView(data)
	if want := lfText(data); v.text != want {
		t.Fatalf("the view of %q is %q", data, v.text)
	}
	at := v.matches(old)
	if len(at) != strings.Count(v.text, old) {
		t.Fatalf("%d matches, want %d", len(at), strings.Count(v.text, old))
	}
	after := v.splice(at, old, new)
	rest, last := after, 0
	for _, start := range at {
		from, to := v.offset(start), v.offset(start+len(old))
		if toLF(data[from:to]) != old && !strings.Contains(data[from:to], "\r\r\n") {
			t.Fatalf("span %q is not %q", data[from:to], old)
		}
		kept := data[last:from]
		if !strings.HasPrefix(rest, kept) {
			t.Fatalf("bytes before a span changed: %q → %q", data, after)
		}
		rest = rest[len(kept):]
		// The new text, with a CR before some of its line feeds.
		for i := range len(new) {
			if new[i] == '\n' && strings.HasPrefix(rest, "\r\n") {
				rest = rest[1:]
			}
			if rest == "" || rest[0] != new[i] {
				t.Fatalf("the new text is not in place: %q → %q", data, after)
			}
			rest = rest[1:]
		}
		last = to
	}
	if rest != data[last:] {
		t.Fatalf("bytes after the last span changed: %q → %q", data, after)
	}
}

func TestSpliceTouchesNothingElse(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "ä", "\n", "\r\n", "\r", "\uFEFF", "a\r\n", "b\n"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		data := text.Draw(t, "data")
		old, new := toLF(text.Draw(t, "old")), toLF(text.Draw(t, "new"))
		if v := lfText(data); v != "" && rapid.Bool().Draw(t, "there") {
			i := rapid.IntRange(0, len(v)-1).Draw(t, "from")
			old = v[i:rapid.IntRange(i+1, len(v)).Draw(t, "to")]
		}
		if old == "" {
			t.Skip("an empty old_string is refused before")
		}
		checkSplice(t, data, old, new)
	})
}

// An edit that is undone gives the very same bytes back, when every line of
// the file ends alike.
func TestEditAndUndo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ending := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "ending")
		word := rapid.StringMatching(`[a-z]{1,4}`)
		data := strings.Join(rapid.SliceOfN(word, 2, 20).Draw(t, "lines"), ending)
		v := newView(data)
		old := v.text[rapid.IntRange(0, len(v.text)-1).Draw(t, "from"):]
		new := "NEW\nTEXT " + old
		at := []int{len(v.text) - len(old)}
		changed := newView(v.splice(at, old, new))
		if back := changed.splice(at, new, old); back != data {
			t.Fatalf("%q became %q", data, back)
		}
	})
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte("a\r\nb\n"), "a\nb", "c\nd\ne")
	f.Add([]byte("\uFEFFx\r\r\n"), "x\r\n", "\n")
	f.Add([]byte("\xff\x00"), "a", "b")
	f.Fuzz(func(t *testing.T, data []byte, old, new string) {
		if old, new = toLF(old), toLF(new); old == "" || old == new {
			return
		}
		if checkText(data) != nil {
			if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
				t.Fatalf("%q was refused", data)
			}
			return
		}
		checkSplice(t, string(data), old, new)
		_, _, _ = replacement{old: old, new: new}.apply("p", string(data))
	})
}

func BenchmarkEdit10MB(b *testing.B) {
	data := strings.Repeat("some ordinary line of text\r\n", 400_000) + "needle\r\n"
	r := replacement{old: "needle", new: "thread"}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := r.apply("p", data); err != nil {
			b.Fatal(err)
		}
	}
}
