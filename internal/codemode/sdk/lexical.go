package sdk

import (
	"strings"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// isIdentifier says whether a key can stand unquoted (C3.5). Reserved words
// can: they are valid property names.
func isIdentifier(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '$':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}

// appendKey writes a property name, quoted unless it is an identifier.
func appendKey(out []byte, key string) []byte {
	if isIdentifier(key) {
		return append(out, key...)
	}
	return jsonvalue.String(key).AppendJSON(out)
}

// appendIndent writes two spaces a level.
func appendIndent(out []byte, level int) []byte {
	const blanks = "                                "
	n := 2 * level
	for n > len(blanks) {
		out = append(out, blanks...)
		n -= len(blanks)
	}
	return append(out, blanks[:max(n, 0)]...)
}

// appendDoc writes a one-line doc comment and its line end, or nothing for an
// empty description. Text of white space alone leaves an empty comment, as the
// format has it (C3.6).
func appendDoc(out []byte, description string, level int) []byte {
	if description == "" {
		return out
	}
	out = appendIndent(out, level)
	out = append(out, "/** "...)
	out = appendCollapsed(out, description)
	return append(out, " */\n"...)
}

// appendCollapsed writes text on one line: runs of JavaScript white space
// become one space, the ends are trimmed, and a comment end is broken up. Line
// and paragraph separators count as white space, so no text can leave the
// comment or start a line of its own, a Markdown fence included.
func appendCollapsed(out []byte, s string) []byte {
	start := len(out)
	gap := false
	for i := 0; i < len(s); {
		c := s[i]
		// Words of plain letters are most of all text.
		if c > ' ' && c < utf8.RuneSelf && c != '/' {
			n := i + 1
			for n < len(s) && s[n] > ' ' && s[n] < utf8.RuneSelf && s[n] != '/' {
				n++
			}
			if gap && len(out) > start {
				out = append(out, ' ')
			}
			gap = false
			out = append(out, s[i:n]...)
			i = n
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if isJSSpace(r) {
			gap = true
			i += size
			continue
		}
		if gap && len(out) > start {
			out = append(out, ' ')
		}
		gap = false
		switch {
		case r == '/' && len(out) > start && out[len(out)-1] == '*':
			out = append(out, '\\', '/')
		case r == utf8.RuneError && size == 1:
			out = append(out, "\uFFFD"...)
			size = surrogateSize(s[i:])
		default:
			out = append(out, s[i:i+size]...)
		}
		i += size
	}
	return out
}

// collapse is appendCollapsed without the comment escape, for running text.
func collapse(s string) string {
	return strings.ToValidUTF8(strings.Join(strings.FieldsFunc(s, isJSSpace), " "), "\uFFFD")
}

// isJSSpace reports what \s matches in a JavaScript regular expression, which
// differs from unicode.IsSpace at U+0085 and U+FEFF.
func isJSSpace(r rune) bool {
	switch {
	case r <= ' ':
		return r == ' ' || r >= '\t' && r <= '\r'
	case r < 0xA0:
		return false
	case r >= 0x2000 && r <= 0x200A:
		return true
	}
	switch r {
	case 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return false
}

// surrogateSize is the length of what one replacement character stands for: a
// lone surrogate takes three bytes in jsonvalue's strings, any other byte that
// is no UTF-8 stands alone.
func surrogateSize(s string) int {
	if len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80 {
		return 3
	}
	return 1
}
