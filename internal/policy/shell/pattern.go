package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

type elementKind uint8

const (
	elementChar elementKind = iota
	elementAny              // ?
	elementStar             // *
)

type element struct {
	kind elementKind
	char rune // of elementChar; may be between
}

// Pattern is the compiled match text of a rule: the words of a simple command,
// in which * stands for any text (further words included) and ? for one
// character. Quotes and backslashes take away their meaning. A final " *" also
// stands for no further word.
type Pattern struct {
	source   string
	elements []element
	tables   tables
	program  *Pattern // the first word; nil when it is nothing but wildcards
}

// String gives the text the pattern was made of.
func (p *Pattern) String() string { return p.source }

// Compile reads a match text. An open quote is an error.
func Compile(text string) (*Pattern, error) {
	words, err := splitPattern(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("pattern %q: there is no word in it", text)
	}
	p := &Pattern{source: text}
	for i, w := range words {
		if i > 0 {
			p.elements = append(p.elements, element{char: between})
		}
		p.elements = append(p.elements, w...)
	}
	p.prepare()
	if slices.ContainsFunc(words[0], func(e element) bool { return e.kind == elementChar }) {
		p.program = &Pattern{source: text, elements: slices.Clone(words[0])}
		p.program.prepare()
	}
	return p, nil
}

// CompileText reads a plain wildcard pattern: no words, no quotes.
func CompileText(text string) *Pattern {
	p := &Pattern{source: text}
	for _, c := range text {
		p.elements = append(p.elements, wildcard(c))
	}
	p.prepare()
	return p
}

// MatchText says whether a plain text matches.
func (p *Pattern) MatchText(text string) bool {
	symbols := make([]symbol, 0, len(text))
	for _, c := range text {
		symbols = append(symbols, symbol{char: c})
	}
	return p.match(symbols, certain)
}

func wildcard(c rune) element {
	switch c {
	case '*':
		return element{kind: elementStar}
	case '?':
		return element{kind: elementAny}
	}
	return element{char: c}
}

func splitPattern(text string) ([][]element, error) {
	var words, redirects [][]element
	var current []element
	open, joinNext := false, false
	flush := func() {
		if !open {
			return
		}
		if isRedirect(current) {
			redirects = append(redirects, current)
			joinNext = isOperator(current)
		} else if joinNext {
			redirects[len(redirects)-1] = append(redirects[len(redirects)-1], current...)
			joinNext = false
		} else {
			words = append(words, current)
		}
		current, open = nil, false
	}
	var quote rune
	escaped := false
	for _, c := range text {
		switch {
		case escaped:
			current, escaped = append(current, element{char: c}), false
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'':
			open, escaped = true, true
		case quote != 0:
			current = append(current, element{char: c})
		case c == '\'' || c == '"':
			open, quote = true, c
		case unicode.IsSpace(c):
			flush()
		default:
			open, current = true, append(current, wildcard(c))
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if escaped {
		current = append(current, element{char: '\\'})
	}
	flush()
	return append(words, redirects...), nil
}

var redirectOperators = []string{"&>>", "&>", ">>", ">|", ">&", "<>", ">", "<"}

// isRedirect says whether a pattern's word is a redirection: a file
// descriptor, an operator, and perhaps its target.
func isRedirect(w []element) bool { _, ok := cutOperator(w); return ok }

func isOperator(w []element) bool { rest, ok := cutOperator(w); return ok && len(rest) == 0 }

func cutOperator(w []element) ([]element, bool) {
	for len(w) > 0 && w[0].kind == elementChar && w[0].char >= '0' && w[0].char <= '9' {
		w = w[1:]
	}
	var b strings.Builder
	for _, e := range w {
		if e.kind != elementChar {
			break
		}
		b.WriteRune(e.char)
	}
	for _, op := range redirectOperators {
		if strings.HasPrefix(b.String(), op) {
			return w[len(op):], true
		}
	}
	return nil, false
}

type certainty uint8

const (
	// strict: for an allow rule. Wildcards do not reach over what must be
	// spelled out, and an expansion is only covered by *.
	strict certainty = iota
	// certain: for a deny rule that surely applies.
	certain
	// possible: an expansion or a file name pattern may become any text.
	possible
)

// bits is a set of positions in a pattern.
type bits []uint64

func (b bits) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bits) set(i int)      { b[i>>6] |= 1 << (i & 63) }

// tables are what match needs to know of each position, as sets.
type tables struct {
	star  bits
	any   bits
	chars map[rune]bits
}

func (p *Pattern) prepare() {
	// Neighbouring stars are one, so that one step passes them.
	p.elements = slices.CompactFunc(p.elements, func(a, b element) bool {
		return a.kind == elementStar && b.kind == elementStar
	})
	size := len(p.elements)/64 + 1
	p.tables = tables{star: make(bits, size), any: make(bits, size), chars: map[rune]bits{}}
	for i, e := range p.elements {
		switch e.kind {
		case elementStar:
			p.tables.star.set(i)
		case elementAny:
			p.tables.any.set(i)
		case elementChar:
			if p.tables.chars[e.char] == nil {
				p.tables.chars[e.char] = make(bits, size)
			}
			p.tables.chars[e.char].set(i)
		}
	}
}

// match runs the pattern over a text, all alternatives at once: the time is
// the length of the text, times one for each 64 elements of the pattern.
func (p *Pattern) match(text []symbol, how certainty) bool {
	n := len(p.elements)
	size := n/64 + 1
	var small [2]uint64
	states := bits(small[:])
	if size > len(small) {
		states = make(bits, size)
	}
	states = states[:size]
	states.set(0)
	p.skipStars(states)
	for _, s := range text {
		if how == possible && (s.char == anything || s.glob) {
			// Any text: every position from the first live one on is reachable.
			states.fillUp(n)
			continue
		}
		chars := p.tables.chars[s.char]
		free := !(how == strict && s.spelled) // whether wildcards reach this symbol
		one := free && s.char != between && s.char != anything
		var carry, alive uint64
		for i := range states {
			live, step := states[i], uint64(0)
			if s.char != anything && chars != nil {
				step |= live & chars[i]
			}
			if one {
				step |= live & p.tables.any[i]
			}
			next := step<<1 | carry
			carry = step >> 63
			if free {
				next |= live & p.tables.star[i]
			}
			states[i] = next
			alive |= next
		}
		if alive == 0 {
			return false
		}
		p.skipStars(states)
	}
	if states.has(n) {
		return true
	}
	// A final " *" stands for no further word as well.
	return n >= 2 && states.has(n-2) && p.elements[n-1].kind == elementStar && p.elements[n-2] == element{char: between}
}

func (b bits) fillUp(n int) {
	for i := range n + 1 {
		if b.has(i) {
			for ; i <= n; i++ {
				b.set(i)
			}
			return
		}
	}
}

func (p *Pattern) skipStars(states bits) {
	var carry uint64
	for i := range states {
		skip := states[i] & p.tables.star[i]
		states[i] |= skip<<1 | carry
		carry = skip >> 63
	}
}
