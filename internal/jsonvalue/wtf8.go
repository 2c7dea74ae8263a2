package jsonvalue

import (
	"strings"
	"unicode/utf8"
)

// appendSurrogate writes a lone surrogate in the three-byte form UTF-8 forbids
// and WTF-8 defines, so that it survives in a Go string.
func appendSurrogate(dst []byte, r rune) []byte {
	return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
}

// surrogateAt returns the surrogate whose three bytes start at s[i].
func surrogateAt(s string, i int) (rune, bool) {
	if i+2 >= len(s) || s[i] != 0xED || s[i+1] < 0xA0 || s[i+1] > 0xBF || s[i+2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(s[i+1]&0x3F)<<6 | rune(s[i+2]&0x3F), true
}

// wellFormed replaces what is not UTF-8 by U+FFFD; with keepSurrogates a lone
// surrogate in WTF-8 stays, and two that make a pair are joined.
func wellFormed(s string, keepSurrogates bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n > 1 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		hi, ok := surrogateAt(s, i)
		if !ok {
			b.WriteString("\uFFFD")
			i++
			continue
		}
		if lo, ok := surrogateAt(s, i+3); ok && hi < 0xDC00 && lo >= 0xDC00 {
			b.WriteRune(0x10000 + (hi-0xD800)<<10 + (lo - 0xDC00))
			i += 6
			continue
		}
		if keepSurrogates {
			b.WriteString(s[i : i+3])
		} else {
			b.WriteString("\uFFFD")
		}
		i += 3
	}
	return b.String()
}

// WellFormed returns v with every lone surrogate, in texts and in keys,
// replaced by U+FFFD, for peers whose parsers refuse them. A v without any is
// returned as it is; of keys that become the same, the last value stays.
func (v Value) WellFormed() Value {
	return v.MapStrings(func(s string) string {
		if utf8.ValidString(s) {
			return s
		}
		return wellFormed(s, false)
	})
}
