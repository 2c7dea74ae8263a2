package sdk

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Tool is what the package needs to know of one callable tool.
type Tool struct {
	// Name is the registered name; any text is allowed, names that are not
	// identifiers are quoted.
	Name string
	// Description is free text; only whitespace is normalized.
	Description string
	// Parameters is the JSON Schema of the one argument object.
	Parameters jsonvalue.Value
	// Output is the JSON Schema of the canonical result value.
	Output jsonvalue.Value
}

// sorted returns the tools in code unit order of their names, upper case before
// lower (C3.3), without touching the input. Of two tools with one name, which a
// registry never hands out, the same one wins whatever order they came in.
func sorted(tools []Tool) []Tool {
	out := slices.Clone(tools)
	slices.SortFunc(out, func(a, b Tool) int {
		if c := compareCodeUnits(a.Name, b.Name); c != 0 {
			return c
		}
		return cmp.Or(
			cmp.Compare(a.Description, b.Description),
			cmp.Compare(a.Parameters.String(), b.Parameters.String()),
			cmp.Compare(a.Output.String(), b.Output.String()),
		)
	})
	return slices.CompactFunc(out, func(a, b Tool) bool { return a.Name == b.Name })
}

// compareCodeUnits orders strings as JavaScript does, by UTF-16 code unit. It
// differs from byte order only where one side holds a character beyond the
// basic plane: its surrogates sort before U+E000–U+FFFF.
func compareCodeUnits(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return cmp.Compare(len(a), len(b))
	}
	// Back up to the start of the character that differs; the bytes before
	// i are equal, so the start is the same on both sides.
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	ra, _ := utf8.DecodeRuneInString(a[i:])
	rb, _ := utf8.DecodeRuneInString(b[i:])
	if (ra > 0xFFFF) != (rb > 0xFFFF) {
		return cmp.Compare(leadUnit(ra), leadUnit(rb))
	}
	if c := cmp.Compare(ra, rb); c != 0 {
		return c
	}
	// Bytes that are no UTF-8 decode alike; byte order keeps it total.
	return cmp.Compare(a[i:], b[i:])
}

// leadUnit is the first UTF-16 code unit of a character.
func leadUnit(r rune) rune {
	if r > 0xFFFF {
		return 0xD800 + (r-0x10000)>>10
	}
	return r
}
