package fs

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func body(r result) string {
	_, text, _ := strings.Cut(r.text, "<content>\n")
	return strings.TrimSuffix(text, "\n</content>")
}

func lines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestReadTexts(t *testing.T) {
	f := setup(t)
	long := strings.Repeat("ä", 2000)
	tests := []struct {
		name, data string
		args       m
		want       string
	}{
		{"empty", "", nil, "(End of file - total 0 lines)"},
		{"byte-order mark alone", "\uFEFF", nil, "(End of file - total 0 lines)"},
		{"byte-order mark is not shown", "\uFEFFa\n", nil, "1: a\n\n(End of file - total 1 lines)"},
		{"one empty line", "\n", nil, "1: \n\n(End of file - total 1 lines)"},
		{"no final newline", "a\nb", nil, "1: a\n2: b\n\n(End of file - total 2 lines)"},
		{"carriage returns", "a\r\nb\r\r\nc\rd\r\n", nil, "1: a\n2: b\r\n3: c\rd\n\n(End of file - total 3 lines)"},
		{"window", lines(5), m{"offset": 2, "limit": 2}, "2: line 2\n3: line 3\n\n(Showing lines 2-3 of 5. Use offset=4 to continue.)"},
		{"window to the end", lines(5), m{"offset": 4, "limit": 2}, "4: line 4\n5: line 5\n\n(End of file - total 5 lines)"},
		{"longest whole line", long + "\r\n", nil, "1: " + long + "\n\n(End of file - total 1 lines)"},
		{"cut line", long + "ö\nb\n", nil, "1: " + long + "... (line truncated to 2000 chars)\n2: b\n\n(End of file - total 2 lines)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.put("f", tt.data)
			args := m{"file_path": "f"}
			for k, v := range tt.args {
				args[k] = v
			}
			if got := body(f.ok("read", args)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReadCaps(t *testing.T) {
	f := setup(t)
	f.put("many", lines(2500))
	if got := body(f.read("many")); !strings.HasSuffix(got, "2000: line 2000\n\n(Showing lines 1-2000 of 2500. Use offset=2001 to continue.)") {
		t.Errorf("got …%q", got[len(got)-100:])
	}
	f.put("wide", strings.Repeat(strings.Repeat("x", 1023)+"\n", 60))
	r := f.read("wide")
	if got := body(r); !strings.HasSuffix(got, "\n\n(Output capped. Showing lines 1-50. Use offset=51 to continue.)") {
		t.Errorf("got …%q", got[len(got)-100:])
	}
	if v := r.value.String(); !strings.Contains(v, `"totalLines":60,"truncatedByBytes":true`) {
		t.Errorf("value …%s", v[len(v)-100:])
	}
}

func TestReadErrors(t *testing.T) {
	f := setup(t)
	f.put("three", lines(3))
	f.put("binary", "a\x00b")
	f.put("utf16", "\xff\xfea\x00b\x00")
	f.put("latin1", "caf\xe9\n")
	f.put("cut", "euro \xe2\x82")
	if err := os.Symlink("loop", f.path("loop")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args       m
		code, want string
	}{
		{m{"file_path": ""}, "", "file_path must be a non-empty string"},
		{m{"file_path": "three", "offset": 0}, "", "offset must be a positive integer"},
		{m{"file_path": "three", "offset": 1.5}, "", "offset must be a positive integer"},
		{m{"file_path": "three", "limit": -1}, "", "limit must be a positive integer"},
		{m{"file_path": "three", "limit": 2001}, "", "limit must be less than or equal to 2000"},
		{m{"file_path": "three", "offset": 4}, CodeNotFound, `offset 4 is out of range for "DIR/three" (3 lines)`},
		{m{"file_path": "none"}, CodeNotFound, `cannot read "DIR/none": not found`},
		{m{"file_path": "."}, CodeNotRegularFile, `cannot read "DIR": not a regular file`},
		{m{"file_path": "/dev/null"}, CodeNotRegularFile, `cannot read "/dev/null": not a regular file`},
		{m{"file_path": "three/x"}, CodeNotDirectory, `cannot resolve "DIR/three/x": a parent path segment is not a directory`},
		{m{"file_path": "loop"}, CodeSymlinkLoop, `cannot resolve "DIR/loop": too many symbolic links`},
		{m{"file_path": "binary"}, CodeNotText, `cannot read "DIR/binary": binary file`},
		{m{"file_path": "utf16"}, CodeNotText, `cannot read "DIR/utf16": binary file`},
		{m{"file_path": "latin1"}, CodeNotText, `cannot read "DIR/latin1": invalid UTF-8 text`},
		{m{"file_path": "cut"}, CodeNotText, `cannot read "DIR/cut": invalid UTF-8 text`},
	} {
		f.fails(f.do("read", tt.args), tt.code, tt.want)
	}
}

func TestReadCards(t *testing.T) {
	f := setup(t)
	f.put("f", lines(9))
	for _, tt := range []struct {
		args  m
		title string
		line  int
	}{
		{m{}, "Read f", 1},
		{m{"offset": 3}, "Read f (from line 3)", 3},
		{m{"offset": 3, "limit": 4}, "Read f (3 - 6)", 3},
		{m{"limit": 4}, "Read f (1 - 4)", 1},
	} {
		tt.args["file_path"] = "f"
		r := f.ok("read", tt.args)
		if r.call.Title != tt.title || r.call.Locations[0].Line != tt.line || !r.call.RawInput.IsUndefined() {
			t.Errorf("got %+v, want %q at %d", r.call, tt.title, tt.line)
		}
		if r.card != nil {
			t.Errorf("the result card is %+v, want the raw content", r.card)
		}
	}
}

// However the bytes arrive, the scan must agree with splitting the whole text.
func TestScanAgreesWithSplitting(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "ä", "€", "😀", "\n", "\r\n", "\r", " ", "word", strings.Repeat("x", 1999), strings.Repeat("é", 700)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "text"), "")
		withBOM := text
		if rapid.Bool().Draw(t, "bom") {
			withBOM = bom + text
		}
		offset := rapid.IntRange(1, 10).Draw(t, "offset")
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		got, err := scan(t.Context(), iotest.HalfReader(strings.NewReader(withBOM)), offset, limit)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if text != "" {
			want = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		if got.total != len(want) || got.version != versionOf([]byte(withBOM)) {
			t.Fatalf("total %d, want %d", got.total, len(want))
		}
		for i, line := range want {
			line = strings.TrimSuffix(line, "\r")
			if r := []rune(line); len(r) > 2000 {
				line = string(r[:2000]) + lineCut
			}
			want[i] = line
		}
		want = want[min(offset-1, len(want)):]
		want = want[:min(limit, len(want))]
		if got.capped {
			want = want[:len(got.lines)]
		}
		if fmt.Sprint(got.lines) != fmt.Sprint(want) {
			t.Fatalf("got %q, want %q", got.lines, want)
		}
	})
}

// A character that a buffer boundary cuts through is still one.
func TestScanAcrossBuffers(t *testing.T) {
	for shift := range 4 {
		text := strings.Repeat("y", shift) + strings.Repeat("€", scanBuffer) + "\nend"
		w, err := scan(t.Context(), strings.NewReader(text), 2, 1)
		if err != nil || w.total != 2 || w.lines[0] != "end" || w.version != versionOf([]byte(text)) {
			t.Errorf("shift %d: %d lines, %v", shift, w.total, err)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	text := lines(1_000_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scan(b.Context(), strings.NewReader(text), 500_000, 100); err != nil {
			b.Fatal(err)
		}
	}
}
