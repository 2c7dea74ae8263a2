package registry

import (
	"slices"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// The order is that of the UTF-16 code units, as JavaScript sorts.
func TestCompareUTF16(t *testing.T) {
	sign := func(n int) int { return min(1, max(-1, n)) }
	text := rapid.StringOf(rapid.SampledFrom([]rune{'a', 'b', 'é', '\uD7FF', '\uE000', '\uFF5E', '\uFFFD', '😀', '😁', '\U00010000', '\U0010FFFF'}))
	rapid.Check(t, func(rt *rapid.T) {
		a, b := text.Draw(rt, "a"), text.Draw(rt, "b")
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := sign(compareUTF16(a, b)); got != want {
			rt.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	})
	// Invalid text has some order, and the same in both directions.
	for _, p := range [][2]string{{"\xff", "\xfe"}, {"a\xff", "a"}, {"\xff", "\uFFFD"}} {
		x, y := compareUTF16(p[0], p[1]), compareUTF16(p[1], p[0])
		if x == 0 || sign(x) != -sign(y) {
			t.Errorf("%q: %d and %d", p, x, y)
		}
	}
}
