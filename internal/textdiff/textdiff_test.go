package textdiff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

func TestHunks(t *testing.T) {
	ten := numbered(10)
	tests := []struct {
		name          string
		before, after string
		want          []Hunk
	}{
		{"equal", "a\n", "a\n", nil},
		{"both empty", "", "", nil},
		{"one line of two", "mode=DEBUG\nlevel=info\n", "mode=RELEASE\nlevel=info\n", []Hunk{
			{1, 1, 2, 2, "mode=DEBUG\nlevel=info", "mode=RELEASE\nlevel=info"},
		}},
		{"no final newline", "color: blue", "color: green", []Hunk{{1, 1, 1, 1, "color: blue", "color: green"}}},
		{"context is three lines", ten, strings.Replace(ten, "5\n", "five\n", 1), []Hunk{
			{2, 2, 7, 7, "2\n3\n4\n5\n6\n7\n8", "2\n3\n4\nfive\n6\n7\n8"},
		}},
		{"touching contexts merge", ten, strings.NewReplacer("2\n", "two\n", "8\n", "eight\n").Replace(ten), []Hunk{
			{1, 1, 10, 10, strings.TrimSuffix(ten, "\n"), "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n10"},
		}},
		{"far changes stay apart", numbered(20), strings.NewReplacer("\n2\n", "\ntwo\n", "\n19\n", "\n").Replace(numbered(20)), []Hunk{
			{1, 1, 5, 5, "1\n2\n3\n4\n5", "1\ntwo\n3\n4\n5"},
			{16, 16, 5, 4, "16\n17\n18\n19\n20", "16\n17\n18\n20"},
		}},
		{"from empty", "", "a\nb\n", []Hunk{{1, 1, 0, 2, "", "a\nb"}}},
		{"to empty", "a\n", "", []Hunk{{1, 1, 1, 0, "a", ""}}},
		{"only the final newline", "a\nb", "a\nb\n", []Hunk{{1, 1, 2, 2, "a\nb", "a\nb\n"}}},
		{"insertion at the end", "a\n", "a\nb\n", []Hunk{{1, 1, 1, 2, "a", "a\nb"}}},
		{"empty line removed from a lone newline", "\n", "", []Hunk{{1, 1, 1, 0, "\n", ""}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Hunks(tt.before, tt.after)
			if !slices.Equal(got, tt.want) {
				t.Errorf("Hunks\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// Applying the hunks to the text before must give the text after, and no hunk
// may be longer than its change and context explain.
func TestHunksRebuildTheTextAfter(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "long line\n"})
	rapid.Check(t, func(t *rapid.T) {
		before := strings.Join(rapid.SliceOfN(line, 0, 40).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(line, 0, 40).Draw(t, "after"), "")
		if rapid.Bool().Draw(t, "cutBefore") {
			before = strings.TrimSuffix(before, "\n")
		}
		if rapid.Bool().Draw(t, "cutAfter") {
			after = strings.TrimSuffix(after, "\n")
		}
		old, new := splitLines(before), splitLines(after)
		var rebuilt []string
		at := 0
		for _, h := range Hunks(before, after) {
			if h.OldText == h.NewText {
				t.Fatalf("a hunk shows no difference: %+v", h)
			}
			rebuilt = append(rebuilt, old[at:h.OldStart-1]...)
			rebuilt = append(rebuilt, new[h.NewStart-1:h.NewStart-1+h.NewLines]...)
			shown := strings.Join(new[h.NewStart-1:h.NewStart-1+h.NewLines], "")
			if h.NewText != shown && h.NewText != strings.TrimSuffix(shown, "\n") {
				t.Fatalf("NewText %q is not the lines %q", h.NewText, shown)
			}
			at = h.OldStart - 1 + h.OldLines
		}
		rebuilt = append(rebuilt, old[at:]...)
		if got := strings.Join(rebuilt, ""); got != after {
			t.Fatalf("rebuilt %q, want %q", got, after)
		}
	})
}

func BenchmarkHunksOneEditInALargeFile(b *testing.B) {
	before := numbered(200_000)
	after := strings.Replace(before, "\n100000\n", "\nchanged\n", 1)
	b.SetBytes(int64(len(before)))
	for b.Loop() {
		if len(Hunks(before, after)) != 1 {
			b.Fatal("want one hunk")
		}
	}
}
