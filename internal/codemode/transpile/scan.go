package transpile

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of the scan. esbuild is a recursive descent parser inside our own
// process, where an exhausted stack cannot be recovered from.
const (
	maxDepth = 1000   // brackets, or operators that nest without brackets
	maxChain = 10_000 // links of one expression, such as a.b().c[0]: 3 KB of stack each
	maxComma = 3000   // expressions joined by commas: quadratic in esbuild
)

// scanned is what the scan learned about a program.
type scanned struct {
	firstCode, lastCode int   // offsets of the first and last byte of code; lastCode is -1 without code
	exports             []int // offsets of export keywords at the top level
	exportDefault       bool
	unopened            int // offset of the first closing bracket without an opening one; -1: none
}

// code is the program from its first byte of code on, without what precedes.
func (s *scanned) code(text string) string {
	if s.lastCode < 0 {
		return ""
	}
	return text[s.firstCode : s.lastCode+1]
}

// prescan reads the program as a rough sequence of tokens and refuses one that
// is too long or nests too deeply. It is right about comments, strings and
// templates and guesses about regular expressions; where a guess is wrong it
// errs by a bracket or two, which the limit has room for.
func prescan(text string) (*scanned, error) {
	if len(text) > MaxSource {
		return nil, &Error{
			Message: fmt.Sprintf("the program is %d bytes long; at most %d are accepted", len(text), MaxSource),
			Hint:    "keep data out of the program: read it from a file with a tool",
		}
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, at(text, i, "the program contains a NUL character")
	}
	s := &scanner{text: text, out: scanned{lastCode: -1, firstCode: len(text), unopened: -1}}
	s.levels = append(s.levels, level{})
	if err := s.run(); err != nil {
		return nil, err
	}
	return &s.out, nil
}

// level is one open bracket.
type level struct {
	// nested counts what nests inside one statement or element without a
	// bracket: prefix operators, arrows, conditionals, assignments.
	nested int
	// list: this is an array or an object, where commas are free. Elsewhere
	// they may join expressions, and ten thousand of those take a second.
	list   bool
	commas int
	// chain counts the links of the statement's or element's expressions.
	chain int
	// control: a statement that began with if, for or the like is not over, so
	// that a line break may lead to its body.
	control bool
	// template: this is the ${ } of a template literal.
	template bool
}

type scanner struct {
	text   string
	i      int
	levels []level
	total  int // sum of nested over all levels
	chain  int // sum of chain over all levels
	// operand: the last token was a value, so that a / divides.
	operand bool
	// fresh: a statement may begin here.
	fresh bool
	// broken: a value and a line break came last, so that a word begins a
	// statement.
	broken bool
	// block: a brace would open a block, although an expression is expected.
	block bool
	out   scanned
}

func (s *scanner) run() error {
	s.fresh = true
	for s.i < len(s.text) {
		c := s.text[s.i]
		switch {
		case isSpace(c):
			if c == '\n' {
				s.fresh = s.fresh || s.operand
				s.broken = s.operand
			}
			s.i++
			continue
		case c == '/' && s.peek(1) == '/', c == '#' && s.i == 0 && s.peek(1) == '!':
			s.skipTo("\n")
			continue
		case c == '/' && s.peek(1) == '*':
			s.i += 2
			s.skipTo("*/")
			s.i = min(s.i+2, len(s.text))
			continue
		}
		s.out.firstCode = min(s.out.firstCode, s.i)
		start := s.i
		if err := s.token(c); err != nil {
			return err
		}
		s.out.lastCode = max(s.out.lastCode, s.i-1)
		if s.total+len(s.levels) > maxDepth {
			return tooDeep(s.text, start, fmt.Sprintf("the program nests more than %d levels deep here", maxDepth))
		}
		if s.chain > maxChain {
			return tooDeep(s.text, start, fmt.Sprintf("an expression with more than %d links ends up here", maxChain))
		}
	}
	return nil
}

func tooDeep(text string, offset int, message string) *Error {
	err := at(text, offset, message)
	err.Hint = "build deep or long structures in a loop"
	return err
}

func (s *scanner) peek(n int) byte {
	if s.i+n < len(s.text) {
		return s.text[s.i+n]
	}
	return 0
}

// skipTo stops before the next end, or at the end of the text.
func (s *scanner) skipTo(end string) {
	if n := strings.Index(s.text[s.i:], end); n >= 0 {
		s.i += n
		return
	}
	s.i = len(s.text)
}

func (s *scanner) token(c byte) error {
	fresh, broken, block := s.fresh, s.broken, s.block
	s.fresh, s.broken, s.block = false, false, false
	switch c {
	case '(', '[', '{':
		s.i++
		s.link()
		s.levels = append(s.levels, level{list: c == '[' || c == '{' && !s.operand && !fresh && !block})
		s.operand = false
		s.fresh = c == '{'
	case ')', ']', '}':
		s.i++
		top := s.levels[len(s.levels)-1]
		if len(s.levels) > 1 {
			s.total -= top.nested
			s.chain -= top.chain
			s.levels = s.levels[:len(s.levels)-1]
		} else if s.out.unopened < 0 {
			s.out.unopened = s.i - 1
		}
		if c == '}' && top.template {
			s.template()
			return nil
		}
		// After a block a / begins a regular expression, after an object
		// it divides; taking it for a division only costs an odd bracket.
		s.operand = true
		if c == '}' {
			s.fresh = true
			if len(s.levels) > 1 {
				s.settle()
			}
		}
	case ';', ',':
		s.i++
		s.operand = false
		s.fresh = c == ';'
		s.settle()
		if top := &s.levels[len(s.levels)-1]; c == ';' {
			top.commas = 0
		} else if top.commas++; top.commas > maxComma && !top.list {
			return tooDeep(s.text, s.i, fmt.Sprintf("more than %d expressions are joined by commas", maxComma))
		}
	case '"', '\'':
		s.quoted(c)
		s.operand = true
	case '`':
		s.i++
		s.link()
		s.template()
	case '/':
		if s.operand {
			s.i++
			s.operand = false
			break
		}
		s.regexp()
		s.operand = true
	case '=', '?', '!', '~', '<':
		s.i++
		if s.peek(0) == '>' {
			s.i++
			s.block = c == '='
		}
		s.link()
		s.operand = false
		s.nest(1)
	case '+', '-', '*':
		// Signs nest, and so does **; sums are lists to the parser.
		if !s.operand || c == '*' && s.peek(1) == '*' {
			s.nest(1)
		}
		s.i++
		s.operand = false
	default:
		if word := s.word(); word != "" {
			if broken && !continues[word] && !s.levels[len(s.levels)-1].control {
				s.settle()
			}
			s.keyword(word, fresh)
			break
		}
		if c == '.' || c == '@' || c == '|' || c == '&' || c == ':' {
			s.link()
		}
		s.i++
		s.operand = false
	}
	return nil
}

// nest counts one level that has no bracket of its own.
func (s *scanner) nest(n int) {
	s.levels[len(s.levels)-1].nested += n
	s.total += n
}

// link counts one more link of a chain.
func (s *scanner) link() {
	s.levels[len(s.levels)-1].chain++
	s.chain++
}

// settle ends a statement or an element: what nested in it is closed.
func (s *scanner) settle() {
	top := &s.levels[len(s.levels)-1]
	s.total -= top.nested
	s.chain -= top.chain
	top.nested, top.chain, top.control = 0, 0, false
}

// continues lists the words that go on with the expression of the line before.
var continues = map[string]bool{"in": true, "of": true, "instanceof": true, "as": true, "satisfies": true, "is": true}

func (s *scanner) word() string {
	start := s.i
	for s.i < len(s.text) {
		c := s.text[s.i]
		if c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			s.i++
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		_, n := utf8.DecodeRuneInString(s.text[s.i:])
		s.i += n
	}
	return s.text[start:s.i]
}

// keyword tells words that are values from words that a value follows.
func (s *scanner) keyword(word string, fresh bool) {
	switch word {
	case "if", "else", "for", "while", "do", "with":
		s.levels[len(s.levels)-1].control = true
		s.block = true
		s.nest(1)
		s.operand = false
	case "typeof", "void", "delete", "await", "yield", "new", "async", "throw", "extends", "keyof", "infer":
		s.nest(1)
		s.operand = false
	case "return", "in", "of", "case", "instanceof", "as", "satisfies", "is":
		s.operand = false
	case "export":
		if fresh && len(s.levels) == 1 {
			s.out.exports = append(s.out.exports, s.i-len(word))
			rest := s.text[s.i:]
			if strings.HasPrefix(rest, " default") {
				s.out.exportDefault = true
				s.i += len(" default")
			}
		}
		s.operand = false
	default:
		s.operand = true
	}
}

func (s *scanner) quoted(q byte) {
	s.i++
	for s.i < len(s.text) {
		switch c := s.text[s.i]; c {
		case '\\':
			s.i = min(s.i+2, len(s.text))
		case q:
			s.i++
			return
		case '\n':
			return
		default:
			s.i++
		}
	}
}

// template reads template text up to its end or its next ${.
func (s *scanner) template() {
	for s.i < len(s.text) {
		switch c := s.text[s.i]; {
		case c == '\\':
			s.i = min(s.i+2, len(s.text))
		case c == '`':
			s.i++
			s.operand = true
			return
		case c == '$' && s.peek(1) == '{':
			s.i += 2
			s.levels = append(s.levels, level{template: true})
			s.operand = false
			return
		default:
			s.i++
		}
	}
}

func (s *scanner) regexp() {
	s.i++
	class := false
	for s.i < len(s.text) {
		switch c := s.text[s.i]; {
		case c == '\\':
			s.i = min(s.i+2, len(s.text))
		case c == '\n':
			return
		case c == '[':
			class = true
			s.i++
		case c == ']':
			class = false
			s.i++
		case c == '/' && !class:
			s.i++
			s.word()
			return
		default:
			s.i++
		}
	}
}

// at makes an Error at a byte offset of the text.
func at(text string, offset int, message string) *Error {
	line := 1 + strings.Count(text[:offset], "\n")
	start := strings.LastIndexByte(text[:offset], '\n') + 1
	return &Error{
		Message: message, Line: line, Column: 1 + utf16Len(text[start:offset]),
		SourceLine: lineAt(text, line),
	}
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// lineAt is a line of the text by its 1-based number, without its end.
func lineAt(text string, line int) string {
	for range line - 1 {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
	}
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, "\r")
}

// SourceLine is a line of a program by its 1-based number, without its end;
// empty when there is no such line.
func SourceLine(source string, line int) string { return lineAt(source, line) }
