package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Special symbols of a canonical text, outside the range of characters.
const (
	anything rune = -1 // what an expansion gives: unknown until the shell runs
	between  rune = -2 // the gap between two words
)

// symbol is one character of a canonical text, or one of the special ones.
type symbol struct {
	char rune
	// spelled: an allow rule must spell this character out; its wildcards do
	// not reach over it. Set on redirections, assignments, wrappers and on
	// programs that are only known when the shell runs.
	spelled bool
	// glob: an unquoted *, ? or [, which the shell replaces by file names.
	glob bool
}

// word is one word of a simple command with its quoting removed.
type word struct {
	symbols []symbol
	dynamic bool // holds an expansion
	globbed bool // holds an unquoted file name pattern
	splits  bool // may become several words
}

// static gives the word's text when the shell cannot make anything else of it.
func (w word) static() (string, bool) {
	if w.dynamic || w.globbed {
		return "", false
	}
	return w.String(), true
}

// String shows the word; what an expansion will give is shown as $….
func (w word) String() string {
	var b strings.Builder
	for _, s := range w.symbols {
		switch s.char {
		case anything:
			b.WriteString("$…")
		case between:
			b.WriteByte(' ')
		default:
			b.WriteRune(s.char)
		}
	}
	return b.String()
}

func (w word) spelledOut() word {
	out := word{dynamic: w.dynamic, globbed: w.globbed, symbols: make([]symbol, len(w.symbols))}
	for i, s := range w.symbols {
		s.spelled = true
		out.symbols[i] = s
	}
	return out
}

// after gives the part of the word behind its first n symbols.
func (w word) after(n int) word {
	out := word{symbols: w.symbols[n:]}
	for _, s := range out.symbols {
		out.dynamic = out.dynamic || s.char == anything
		out.globbed = out.globbed || s.glob
	}
	return out
}

// index is the position of the first occurrence of a character, or -1.
func (w word) index(c rune) int {
	for i, s := range w.symbols {
		if s.char == c {
			return i
		}
	}
	return -1
}

func literalWord(text string) word {
	var b wordBuilder
	b.text(text, false)
	return b.word()
}

type wordBuilder struct {
	symbols          []symbol
	dynamic, globbed bool
	splits           bool
	bare             strings.Builder // the unquoted text, to find brace expansions
}

func (b *wordBuilder) text(s string, bare bool) {
	for _, c := range s {
		glob := bare && (c == '*' || c == '?' || c == '[')
		b.globbed = b.globbed || glob
		b.symbols = append(b.symbols, symbol{char: c, glob: glob})
	}
	if bare {
		b.bare.WriteString(s)
	}
}

func (b *wordBuilder) unknown() {
	b.dynamic = true
	b.symbols = append(b.symbols, symbol{char: anything})
}

func (b *wordBuilder) word() word {
	bare := b.bare.String()
	if strings.Contains(bare, "{") && (strings.Contains(bare, ",") || strings.Contains(bare, "..")) {
		// A brace expansion may make several words of it.
		return word{symbols: []symbol{{char: anything}}, dynamic: true, splits: true}
	}
	if b.globbed && !strings.ContainsAny(bare, "*?]") {
		// A lone [ is the program of that name.
		for i := range b.symbols {
			b.symbols[i].glob = false
		}
		b.globbed = false
	}
	return word{symbols: b.symbols, dynamic: b.dynamic, globbed: b.globbed, splits: b.splits}
}

// canonical removes the quoting of a word.
func canonical(w *syntax.Word) word {
	var b wordBuilder
	if w != nil {
		b.parts(w.Parts, false)
	}
	return b.word()
}

func (b *wordBuilder) parts(parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.literal(p.Value, quoted)
		case *syntax.SglQuoted:
			if p.Dollar {
				b.text(decodeANSI(p.Value), false)
			} else {
				b.text(p.Value, false)
			}
		case *syntax.DblQuoted:
			b.parts(p.Parts, true)
		default:
			b.unknown()
			b.splits = b.splits || !quoted || isList(part)
		}
	}
}

// isList says whether an expansion gives several words even inside quotes.
func isList(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && (p.Excl || p.Index != nil || p.Param == nil || p.Param.Value == "@")
}

// literal removes the backslashes of unquoted or double-quoted text.
func (b *wordBuilder) literal(s string, quoted bool) {
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i == len(s)-1 {
			b.text(s, !quoted)
			return
		}
		b.text(s[:i], !quoted)
		c, n := utf8.DecodeRuneInString(s[i+1:])
		switch {
		case c == '\n': // a line continuation is nothing
		case quoted && !strings.ContainsRune("$`\"\\", c):
			b.text(s[i:i+1+n], false)
		default:
			b.text(s[i+1:i+1+n], false)
		}
		s = s[i+1+n:]
	}
}

// decodeANSI reads the escapes of $'…'.
func decodeANSI(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i == len(s)-1 {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a':
			out = append(out, 7)
		case 'b':
			out = append(out, 8)
		case 'e', 'E':
			out = append(out, 27)
		case 'f':
			out = append(out, 12)
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'v':
			out = append(out, 11)
		case '\\', '\'', '"', '?':
			out = append(out, c)
		case 'c':
			if i+1 < len(s) {
				i++
				out = append(out, s[i]&0x1f)
			}
		case 'x', 'u', 'U':
			most := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			v, n := digits(s[i+1:], most, 16)
			if n == 0 {
				out = append(out, '\\', c)
				continue
			}
			i += n
			if c == 'x' {
				out = append(out, byte(v))
			} else {
				out = utf8.AppendRune(out, rune(v))
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, n := digits(s[i:], 3, 8)
			i += n - 1
			out = append(out, byte(v))
		default:
			out = append(out, '\\', c)
		}
	}
	// bash ends the text at a NUL.
	if i := strings.IndexByte(string(out), 0); i >= 0 {
		out = out[:i]
	}
	return string(out)
}

func digits(s string, most, base int) (value, n int) {
	for n < most && n < len(s) {
		d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if s[n] >= '0' && s[n] <= '9' {
			d = int(s[n] - '0')
		}
		if d < 0 || d >= base || d > 9 && !isHexLetter(s[n]) {
			break
		}
		value, n = value*base+d, n+1
	}
	return value, n
}

func isHexLetter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'f' }
