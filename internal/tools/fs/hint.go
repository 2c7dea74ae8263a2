package fs

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
)

// maxHint is the largest text that is searched again for a near miss.
const maxHint = 4 << 20

// hint says why old is not in the text although something very like it is, ""
// when nothing comes to mind. Near misses are never edited: only the model
// knows which of the two spellings it wants.
func hint(text, old string) string {
	if len(text) > maxHint || len(old) > maxHint {
		return ""
	}
	if bare := lineNumbers.ReplaceAllString(old, ""); bare != old && bare != "" && strings.Contains(text, bare) {
		return "leave out the line numbers that read puts before each line"
	}
	if strings.Contains(norm.NFC.String(text), norm.NFC.String(old)) {
		return "the file spells the same characters in another Unicode normal form: use the bytes that the file has, for example from read"
	}
	if contains(text, old, plain) {
		return "the file has other quotes, dashes or spaces (typographic or plain ones) in this place"
	}
	if contains(text, old, withoutBlanks) {
		return "the file has other blanks in this place: compare indentation, tabs, and blanks at the end of lines"
	}
	return ""
}

var lineNumbers = lazyregexp.New(`(?m)^ *\d+: ?`)

func contains(text, old string, fold func(string) string) bool {
	folded := fold(old)
	return strings.TrimSpace(folded) != "" && strings.Contains(fold(text), folded)
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '‘', '’', '‚', '‛', '′':
			return '\''
		case '“', '”', '„', '‟', '″', '«', '»':
			return '"'
		case '‐', '‑', '‒', '–', '—', '―', '−':
			return '-'
		}
		if r != ' ' && unicode.Is(unicode.Zs, r) {
			return ' '
		}
		return r
	}, norm.NFC.String(s))
}

func withoutBlanks(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\r' {
			return -1
		}
		return r
	}, plain(s))
}
