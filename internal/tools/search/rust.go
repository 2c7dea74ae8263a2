package search

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rustExpression writes the query in the syntax of ripgrep, so that it finds
// every file that the query does. Finding more is no harm: what it finds is
// searched again. false means that there is no such expression, or no use for one:
// what can match an empty text is nearly everywhere, ripgrep does not count an
// empty match at the end of a file, and what is asked of the end of a line it would
// ask behind the carriage return.
func (q *query) rustExpression() (string, bool) {
	if q.loose || mayBeEmpty(q.tree) {
		return "", false
	}
	var b strings.Builder
	ok := writeRust(&b, q.tree)
	return b.String(), ok
}

// mayBeEmpty says whether a match need not have any characters.
func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) == 0
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || mayBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !mayBeEmpty(s) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, mayBeEmpty)
	}
	return true
}

// anyByte also matches what is no UTF-8, which package regexp takes for U+FFFD.
const anyByte = `(?-u:[\x80-\xFF])`

func writeRust(b *strings.Builder, re *syntax.Regexp) bool {
	each := func(between string) bool {
		b.WriteString("(?:")
		for i, s := range re.Sub {
			if i > 0 {
				b.WriteString(between)
			}
			if !writeRust(b, s) {
				return false
			}
		}
		b.WriteString(")")
		return true
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		b.WriteString("(?:)")
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			writeRune(b, r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		return writeClass(b, re.Rune)
	case syntax.OpAnyCharNotNL:
		b.WriteString(`(?:[^\n]|` + anyByte + `)`)
	case syntax.OpAnyChar:
		b.WriteString(`(?:(?s:.)|` + anyByte + `)`)
	case syntax.OpBeginLine:
		b.WriteString(`(?m:^)`)
	case syntax.OpEndLine:
		b.WriteString(`(?m:$)`)
	case syntax.OpWordBoundary:
		b.WriteString(`(?-u:\b)`)
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpNoWordBoundary:
		b.WriteString("(?:)") // demands less, finds more
	case syntax.OpCapture, syntax.OpConcat:
		return each("")
	case syntax.OpAlternate:
		return each("|")
	case syntax.OpStar:
		return each("") && write(b, "*")
	case syntax.OpPlus:
		return each("") && write(b, "+")
	case syntax.OpQuest:
		return each("") && write(b, "?")
	case syntax.OpRepeat:
		if !each("") {
			return false
		}
		switch {
		case re.Max == re.Min:
			fmt.Fprintf(b, "{%d}", re.Min)
		case re.Max < 0:
			fmt.Fprintf(b, "{%d,}", re.Min)
		default:
			fmt.Fprintf(b, "{%d,%d}", re.Min, re.Max)
		}
	default: // it matches nothing at all
		return false
	}
	return true
}

func write(b *strings.Builder, s string) bool {
	b.WriteString(s)
	return true
}

func writeRune(b *strings.Builder, r rune, fold bool) {
	if r == utf8.RuneError {
		b.WriteString(`(?:\x{FFFD}|` + anyByte + `)`)
		return
	}
	if !fold {
		fmt.Fprintf(b, `\x{%X}`, r)
		return
	}
	b.WriteString("[")
	fmt.Fprintf(b, `\x{%X}`, r)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		fmt.Fprintf(b, `\x{%X}`, f)
	}
	b.WriteString("]")
}

// writeClass writes ranges of characters; surrogates are none in Rust.
func writeClass(b *strings.Builder, ranges []rune) bool {
	var set strings.Builder
	odd := false
	for i := 0; i < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		odd = odd || lo <= utf8.RuneError && hi >= utf8.RuneError
		for _, part := range [][2]rune{{lo, min(hi, 0xD7FF)}, {max(lo, 0xE000), hi}} {
			if part[0] <= part[1] {
				fmt.Fprintf(&set, `\x{%X}-\x{%X}`, part[0], part[1])
			}
		}
	}
	if set.Len() == 0 {
		return false
	}
	if odd {
		b.WriteString("(?:[" + set.String() + "]|" + anyByte + ")")
	} else {
		b.WriteString("[" + set.String() + "]")
	}
	return true
}
