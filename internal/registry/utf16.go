package registry

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// compareUTF16 orders texts by UTF-16 code units, which differs from byte order
// where one has a surrogate pair and the other a character of U+E000 or above
// (rule R4.4). Invalid UTF-8 is ordered by its bytes.
func compareUTF16(a, b string) int {
	for i := 0; i < len(a) && i < len(b); {
		ra, na := utf8.DecodeRuneInString(a[i:])
		rb, nb := utf8.DecodeRuneInString(b[i:])
		if a[i:i+na] == b[i:i+nb] {
			i += na
			continue
		}
		if ra == rb {
			return strings.Compare(a[i:], b[i:])
		}
		return int(units(ra) - units(rb))
	}
	return len(a) - len(b)
}

// units is a number that orders characters as their code units do.
func units(r rune) int64 {
	if r < 0x10000 {
		return int64(r) << 16
	}
	hi, lo := utf16.EncodeRune(r)
	return int64(hi)<<16 | int64(lo)
}
