package search

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// query is a compiled regular expression. What it finds is defined by package
// regexp; everything else in here is only to get there sooner.
//
// Without multiline the expression is put to each line by itself, without its
// line ending: `^` and `$` are the ends of the line, nothing matches across.
type query struct {
	multiline bool
	tree      *syntax.Regexp
	prog      *syntax.Prog
	line      *regexp.Regexp // of a line, without multiline
	literal   []byte         // what every match has in it; nil when not known
	rare      []byte         // its end, from the byte on that is found least often
	exact     bool           // a line matches when it has the literal in it
	loose     bool           // the program finds lines that do not match, too

	// With multiline: the first match of a file, and the first behind a place
	// within it, which sees one character before that place.
	first, next *regexp.Regexp
}

// compileQuery reads an expression in the syntax of package regexp.
func compileQuery(pattern string, ignoreCase, multiline bool) (*query, error) {
	flags := syntax.Perl &^ syntax.OneLine
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	if multiline {
		flags |= syntax.DotNL
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, invalidExpression(err)
	}
	tree = adapt(tree, !multiline)
	q := &query{multiline: multiline, tree: tree}
	text := tree.String()
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, invalidExpression(err)
	}
	// Parsed again, so that what was changed is simplified.
	again, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, invalidExpression(err)
	}
	program := again
	if q.loose = !multiline && assertsBehindEnd(tree); q.loose {
		program, err = syntax.Parse(unasserted(tree).String(), syntax.Perl)
		if err != nil {
			return nil, invalidExpression(err)
		}
	}
	if q.prog, err = syntax.Compile(program.Simplify()); err != nil {
		return nil, invalidExpression(err)
	}
	if literal := required(again); !strings.ContainsRune(literal, utf8.RuneError) {
		q.literal = []byte(literal)
		q.rare = rarest(q.literal)
		q.exact = again.Op == syntax.OpLiteral && literal != ""
	}
	if !multiline {
		q.line = compiled
		return q, nil
	}
	q.first = compiled
	if q.next, err = regexp.Compile(`\A(?s:.)(?s:.*?)(` + text + `)`); err != nil {
		return nil, invalidExpression(err)
	}
	return q, nil
}

func invalidExpression(err error) error {
	why := err.Error()
	if e, ok := err.(*syntax.Error); ok { //nolint:errorlint // Parse returns exactly this
		why = fmt.Sprintf("%s: %q", e.Code, e.Expr)
	}
	return fail(CodeInvalidPattern, "invalid regular expression: %s (the syntax is RE2's: no look-around and no back-references; for text as it is, escape special characters with a backslash)", why)
}

// adapt makes `$` stop before the carriage return of a line ending, and keeps an
// expression that is put to lines within them.
func adapt(re *syntax.Regexp, lines bool) *syntax.Regexp {
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, s := range re.Sub {
		out.Sub[i] = adapt(s, lines)
	}
	end := &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{
		{Op: syntax.OpQuest, Sub: []*syntax.Regexp{{Op: syntax.OpLiteral, Rune: []rune{'\r'}}}},
		{Op: syntax.OpEndLine},
	}}
	switch re.Op {
	case syntax.OpEndLine:
		return end
	case syntax.OpEndText:
		if lines {
			return end
		}
	case syntax.OpBeginText:
		if lines {
			return &syntax.Regexp{Op: syntax.OpBeginLine}
		}
	case syntax.OpAnyChar:
		if lines {
			return &syntax.Regexp{Op: syntax.OpAnyCharNotNL}
		}
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if lines && r == '\n' {
				return &syntax.Regexp{Op: syntax.OpNoMatch}
			}
		}
	case syntax.OpCharClass:
		if lines {
			out.Rune = without(re.Rune, '\n')
			if len(out.Rune) == 0 {
				return &syntax.Regexp{Op: syntax.OpNoMatch}
			}
		}
	}
	return &out
}

// assertsBehindEnd says whether something is asked of the place behind a `$`, as
// in `$\b`. Where the carriage return of a line ending has been passed over the
// answer is about the wrong place.
func assertsBehindEnd(re *syntax.Regexp) bool {
	var walk func(re *syntax.Regexp, behind bool) (end, asserts bool)
	walk = func(re *syntax.Regexp, behind bool) (end, asserts bool) {
		switch re.Op {
		case syntax.OpEndLine, syntax.OpEndText:
			return true, false
		case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
			return false, behind
		}
		for _, s := range re.Sub {
			e, a := walk(s, behind)
			if e && (re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat) {
				_, again := walk(s, true)
				a = a || again
			}
			end, asserts = end || e, asserts || a
			if re.Op == syntax.OpConcat {
				behind = behind || e
			}
		}
		return end, asserts
	}
	_, asserts := walk(re, false)
	return asserts
}

// unasserted is the expression without what it asks of places, but for `$`. It
// matches wherever the expression does.
func unasserted(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	}
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, s := range re.Sub {
		out.Sub[i] = unasserted(s)
	}
	return &out
}

// without takes a character out of the ranges of a class.
func without(ranges []rune, r rune) []rune {
	var out []rune
	for i := 0; i < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}

// required is the longest text that is part of every match.
func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		best := ""
		for _, s := range re.Sub {
			if l := required(s); len(l) > len(best) {
				best = l
			}
		}
		return best
	}
	return ""
}

// common are the bytes of most texts, the most frequent first.
const common = " etaoinrslcudpmhgfy\t\nbv._w(),:;=-/\"0'1xk2{}[]3*"

// rarest is the end of a literal that begins with the byte which is likely to be
// the rarest in texts: what is looked for first decides how fast it goes. A few
// bytes are always left, so that few lines have them by chance.
func rarest(literal []byte) []byte {
	best, rank := 0, -1
	for i, c := range literal[:max(len(literal)-2, 0)] {
		r := strings.IndexByte(common, c)
		if r < 0 {
			r = len(common)
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return literal[best:]
}
