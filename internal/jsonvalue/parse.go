package jsonvalue

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// SyntaxError says why a text is not JSON. Offset counts bytes from the start
// of the text to the first byte that cannot be right.
type SyntaxError struct {
	Offset int
	Msg    string
	cause  error
}

// Error gives the reason and the byte offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Msg)
}

// Unwrap gives [ErrDuplicateKey] for a repeated object key, else nil.
func (e *SyntaxError) Unwrap() error { return e.cause }

// ErrDuplicateKey is what a [SyntaxError] about a repeated object key wraps:
// the text is JSON, but which of the values was meant cannot be known
// (decision 18: duplicate keys are refused with a clear error).
var ErrDuplicateKey = errors.New("duplicate object key")

// Parse reads one JSON text: the whole input, strict RFC 8259 grammar in valid
// UTF-8 without a byte order mark. Key order and number literals are kept.
// The error is a *[SyntaxError]. The value shares memory with one private copy
// of data; see [Value.Compact] before keeping a small part of a big text.
func Parse(data []byte) (Value, error) { return ParseString(string(data)) }

// ParseString is [Parse] for text that is already a string; nothing is copied.
func ParseString(text string) (Value, error) { return parseText(text, nil) }

func parseText(text string, series *Series) (Value, error) {
	if !utf8.ValidString(text) {
		return Value{}, &SyntaxError{Offset: firstInvalid(text), Msg: "the text is not valid UTF-8"}
	}
	p := parsers.Get().(*parser)
	p.s, p.series = text, series
	v, err := p.run()
	p.release()
	return v, err
}

// ParseLossless is [Parse] followed by [CheckLossless].
func ParseLossless(data []byte) (Value, error) {
	v, err := Parse(data)
	if err != nil {
		return Value{}, err
	}
	if err := CheckLossless(v); err != nil {
		return Value{}, err
	}
	return v, nil
}

// parser keeps the open containers on a heap stack, and their finished
// children on two shared stacks whose tails belong to the innermost.
type parser struct {
	s      string
	i      int
	open   []openContainer
	vals   []Value
	keys   []string
	used   [2]int   // high-water marks of vals and keys, for release
	shapes []*shape // last shape seen at each (small) depth
	series *Series  // remembers shapes from text to text; nil when there is one text

	// Children and bodies of small containers are cut from chunks: one
	// allocation serves dozens of them.
	valChunk  []Value
	bodyChunk []composite
}

type openContainer struct {
	object    bool
	valStart  int
	keyStart  int
	textStart int
}

const (
	shapeDepth = 32  // depths at which objects share shapes
	chunkMax   = 256 // values, or composites, in a chunk
	chunkSmall = 32  // containers of at most so many children use chunks
)

var parsers = sync.Pool{New: func() any { return &parser{shapes: make([]*shape, shapeDepth)} }}

// release drops every reference to the text before pooling the stacks.
func (p *parser) release() {
	const keep = 1 << 16
	if cap(p.vals) > keep || cap(p.keys) > keep || cap(p.open) > keep {
		return
	}
	p.mark()
	clear(p.vals[:p.used[0]])
	clear(p.keys[:p.used[1]])
	clear(p.shapes)
	*p = parser{open: p.open[:0], vals: p.vals[:0], keys: p.keys[:0], shapes: p.shapes}
	parsers.Put(p)
}

// mark remembers how far the stacks reached, before they shrink.
func (p *parser) mark() {
	p.used[0] = max(p.used[0], len(p.vals))
	p.used[1] = max(p.used[1], len(p.keys))
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &SyntaxError{Offset: at, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\n', '\r', '\t':
			p.i++
		default:
			return
		}
	}
}

func (p *parser) run() (Value, error) {
	for {
		// A value must start here.
		p.space()
		if p.i >= len(p.s) {
			return Value{}, p.fail(p.i, "a value is missing: the text ends here")
		}
		var v Value
		switch c := p.s[p.i]; {
		case c == '{':
			p.push(true)
			p.space()
			if p.i < len(p.s) && p.s[p.i] == '}' {
				p.i++
				v = p.pop(emptyShape)
				break
			}
			if err := p.key(); err != nil {
				return Value{}, err
			}
			continue
		case c == '[':
			p.push(false)
			p.space()
			if p.i < len(p.s) && p.s[p.i] == ']' {
				p.i++
				v = p.pop(nil)
				break
			}
			continue
		case c == '"':
			s, err := p.str()
			if err != nil {
				return Value{}, err
			}
			v = Value{kind: StringKind, s: s}
		case c == '-' || c >= '0' && c <= '9':
			var err error
			if v, err = p.num(); err != nil {
				return Value{}, err
			}
		case strings.HasPrefix(p.s[p.i:], "true"):
			p.i += 4
			v = Bool(true)
		case strings.HasPrefix(p.s[p.i:], "false"):
			p.i += 5
			v = Bool(false)
		case strings.HasPrefix(p.s[p.i:], "null"):
			p.i += 4
			v = Null()
		default:
			return Value{}, p.fail(p.i, "unexpected %s where a value must start", p.at(p.i))
		}

		// A value is complete: it belongs to the innermost open container, and
		// may complete that, and so on outwards.
		for {
			p.space()
			if len(p.open) == 0 {
				if p.i < len(p.s) {
					return Value{}, p.fail(p.i, "unexpected %s after the value", p.at(p.i))
				}
				return v, nil
			}
			if len(p.vals) == cap(p.vals) {
				p.vals = slices.Grow(p.vals, max(64, len(p.vals))) // doubling beats append's 1.25 here
			}
			p.vals = append(p.vals, v)
			top := p.open[len(p.open)-1]
			if p.i >= len(p.s) {
				return Value{}, p.fail(p.i, "the %s that starts at byte %d is not closed", containerName(top.object), top.textStart)
			}
			c := p.s[p.i]
			if c == ',' {
				p.i++
				if top.object {
					if err := p.key(); err != nil {
						return Value{}, err
					}
				}
				break
			}
			if top.object && c != '}' || !top.object && c != ']' {
				return Value{}, p.fail(p.i, "unexpected %s in the %s that starts at byte %d", p.at(p.i), containerName(top.object), top.textStart)
			}
			p.i++
			var sh *shape
			if top.object {
				var err error
				if sh, err = p.shapeOf(top); err != nil {
					return Value{}, err
				}
			}
			v = p.pop(sh)
		}
	}
}

func containerName(object bool) string {
	if object {
		return "object"
	}
	return "array"
}

// at describes the character at byte i for a message.
func (p *parser) at(i int) string {
	if i >= len(p.s) {
		return "end of text"
	}
	r, _ := utf8.DecodeRuneInString(p.s[i:])
	return strconv.QuoteRune(r)
}

func (p *parser) push(object bool) {
	p.open = append(p.open, openContainer{object: object, valStart: len(p.vals), keyStart: len(p.keys), textStart: p.i})
	p.i++
}

// key reads a member's key and colon.
func (p *parser) key() error {
	p.space()
	if p.i >= len(p.s) || p.s[p.i] != '"' {
		return p.fail(p.i, "unexpected %s where an object key must start", p.at(p.i))
	}
	k, err := p.str()
	if err != nil {
		return err
	}
	p.keys = append(p.keys, k)
	p.space()
	if p.i >= len(p.s) || p.s[p.i] != ':' {
		return p.fail(p.i, "unexpected %s where ':' must follow the object key", p.at(p.i))
	}
	p.i++
	return nil
}

// pop closes the innermost container, copying its children off the stacks. sh
// is nil for an array.
func (p *parser) pop(sh *shape) Value {
	p.mark()
	top := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	vals := p.vals[top.valStart:]
	p.vals = p.vals[:top.valStart]
	p.keys = p.keys[:top.keyStart]
	switch {
	case sh == nil && len(vals) == 0:
		return Value{kind: ArrayKind, c: emptyArray}
	case len(vals) == 0:
		return Value{kind: ObjectKind, c: emptyObject}
	}
	c := p.body()
	c.elems = p.keep(vals)
	c.shape = sh
	if sh == nil {
		return Value{kind: ArrayKind, c: c}
	}
	return Value{kind: ObjectKind, c: c}
}

// chunk says how many values to allocate when n are needed: no more than the
// rest of the text may hold, so that small texts take little.
func (p *parser) chunk(n, bytesEach int) int {
	return max(n, min(chunkMax, (len(p.s)-p.i)/bytesEach))
}

func (p *parser) keep(vals []Value) []Value {
	n := len(vals)
	if n > chunkSmall {
		return slices.Clone(vals)
	}
	if n > len(p.valChunk) {
		p.valChunk = make([]Value, p.chunk(n, 12))
	}
	out := p.valChunk[:n:n]
	p.valChunk = p.valChunk[n:]
	copy(out, vals)
	return out
}

func (p *parser) body() *composite {
	if len(p.bodyChunk) == 0 {
		p.bodyChunk = make([]composite, p.chunk(1, 64))
	}
	c := &p.bodyChunk[0]
	p.bodyChunk = p.bodyChunk[1:]
	return c
}

// shapeOf returns the shape of the object about to be closed, or refuses it
// when a key occurs twice. A list of keys that equals the last one at this
// depth has been checked, and is shared.
func (p *parser) shapeOf(top openContainer) (*shape, error) {
	keys, depth := p.keys[top.keyStart:], len(p.open)-1
	if depth < shapeDepth && p.shapes[depth] != nil && slices.Equal(p.shapes[depth].keys, keys) {
		return p.shapes[depth], nil
	}
	if p.series != nil {
		if sh := p.series.known(keys); sh != nil {
			if depth < shapeDepth {
				p.shapes[depth] = sh
			}
			return sh, nil
		}
	}
	dup := -1
	if len(keys) <= linearKeys {
		for i := 1; i < len(keys) && dup < 0; i++ {
			if slices.Contains(keys[:i], keys[i]) {
				dup = i
			}
		}
	} else {
		idx := sortedIndex(keys)
		for i := 1; i < len(idx); i++ {
			if keys[idx[i-1]] == keys[idx[i]] {
				dup = int(max(idx[i-1], idx[i]))
				break
			}
		}
	}
	if dup >= 0 {
		return nil, &SyntaxError{
			Offset: top.textStart, cause: ErrDuplicateKey,
			Msg: fmt.Sprintf("the object has the key %q twice; give each key once", keys[dup]),
		}
	}
	var sh *shape
	if p.series != nil {
		sh = p.series.shape(keys)
	} else {
		sh = newShape(slices.Clone(keys))
	}
	if depth < shapeDepth {
		p.shapes[depth] = sh
	}
	return sh, nil
}

// num reads a number by the strict grammar and keeps its literal.
func (p *parser) num() (Value, error) {
	s, start, i := p.s, p.i, p.i
	if s[i] == '-' {
		i++
	}
	digits := i
	switch {
	case i < len(s) && s[i] == '0':
		i++
		if i < len(s) && s[i] >= '0' && s[i] <= '9' {
			return Value{}, p.fail(i, "a number must not start with 0")
		}
	default:
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		if i == digits {
			return Value{}, p.fail(i, "unexpected %s in a number", p.at(i))
		}
	}
	safe := i-digits <= 15 && (s[digits] != '0' || digits == start)
	if i < len(s) && s[i] == '.' {
		safe = false
		i++
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		if i == from {
			return Value{}, p.fail(i, "unexpected %s after the decimal point", p.at(i))
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		safe = false
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		if i == from {
			return Value{}, p.fail(i, "unexpected %s in an exponent", p.at(i))
		}
	}
	p.i = i
	v := Value{kind: NumberKind, s: s[start:i]}
	if safe {
		v.flag = flagSafeInt
	}
	return v, nil
}

// str reads a string. Without escapes the result is a part of the text.
func (p *parser) str() (string, error) {
	s, i := p.s, p.i+1
	start := i
	for i < len(s) && plainByte[s[i]] {
		i++
	}
	if i < len(s) && s[i] == '"' {
		p.i = i + 1
		return s[start:i], nil
	}
	// Escapes shorten a text, so its spelling bounds it.
	var b strings.Builder
	b.Grow(closingQuote(s, i) - start)
	for {
		if i >= len(s) {
			return "", p.fail(i, "the string that starts at byte %d is not closed", p.i)
		}
		switch c := s[i]; {
		case c == '"':
			b.WriteString(s[start:i])
			p.i = i + 1
			if b.Len() < b.Cap()/2 {
				return strings.Clone(b.String()), nil
			}
			return b.String(), nil
		case c == '\\':
			b.WriteString(s[start:i])
			n, err := p.escape(i, &b)
			if err != nil {
				return "", err
			}
			i = n
			start = i
		case c < 0x20:
			return "", p.fail(i, "a control character (0x%02x) in a string must be escaped", c)
		default:
			i++
		}
		for i < len(s) && plainByte[s[i]] {
			i++
		}
	}
}

// closingQuote finds the end of the string that goes on at byte i; the end of
// the text when there is none.
func closingQuote(s string, i int) int {
	for i < len(s) {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i++
		for i < len(s) && plainByte[s[i]] {
			i++
		}
	}
	return len(s)
}

// plainByte marks what stands for itself inside a string.
var plainByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// escape appends what the escape at byte i stands for, and returns the byte
// after it. A surrogate without its partner is kept (rule R11.2), in WTF-8.
func (p *parser) escape(i int, b *strings.Builder) (int, error) {
	s := p.s
	if i+1 >= len(s) {
		return 0, p.fail(i, "the text ends inside an escape")
	}
	switch c := s[i+1]; c {
	case '"', '\\', '/':
		b.WriteByte(c)
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'u':
		r, ok := hex4(s, i+2)
		if !ok {
			return 0, p.fail(i, "\\u must be followed by four hexadecimal digits")
		}
		i += 6
		switch {
		case !utf16.IsSurrogate(r):
			b.WriteRune(r)
			return i, nil
		case strings.HasPrefix(s[i:], `\u`):
			if low, ok := hex4(s, i+2); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					b.WriteRune(pair)
					return i + 6, nil
				}
			}
		}
		b.Write(appendSurrogate(nil, r))
		return i, nil
	default:
		_, n := utf8.DecodeRuneInString(s[i+1:])
		return 0, p.fail(i, "unknown escape \\%s", s[i+1:i+1+n])
	}
	return i + 2, nil
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[i : i+4]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func firstInvalid(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}
