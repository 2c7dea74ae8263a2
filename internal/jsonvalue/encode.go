package jsonvalue

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// style is what distinguishes the writers.
type style struct {
	jsNumbers  bool   // rewrite numbers as JavaScript would
	exactInts  bool   // …except integers a double cannot hold
	escapeLine bool   // escape U+2028 and U+2029
	indent     string // one level of indentation; "" means compact
}

// maxIndentDepth bounds how deep Indent breaks lines: beyond it containers are
// written compactly, as indentation costs the square of the depth.
const maxIndentDepth = 1000

// AppendJSON appends v as compact JSON: key order and number literals kept, no
// HTML escaping, U+2028 and U+2029 escaped so that no line splitter is fooled.
// An Undefined v appends nothing.
func (v Value) AppendJSON(dst []byte) []byte {
	return v.appendStyled(dst, style{escapeLine: true})
}

// JSON returns v as compact JSON in a slice of its own; nil when v is Undefined.
func (v Value) JSON() []byte {
	if v.kind == Undefined {
		return nil
	}
	return v.AppendJSON(make([]byte, 0, v.sizeHint()))
}

// String returns v as compact JSON, or "undefined" for an absent value. For
// the text of a string value use [Value.Str].
func (v Value) String() string {
	if v.kind == Undefined {
		return "undefined"
	}
	return string(v.JSON())
}

// Canonical returns the text JavaScript's JSON.stringify(JSON.parse(…)) gives,
// except that keys keep their source order: compact, numbers rounded to
// doubles and in JavaScript's format, U+2028 and U+2029 not escaped. A number
// outside the range of a double (see [CheckLossless]) keeps its literal.
// "undefined" for an absent value.
func (v Value) Canonical() string {
	if v.kind == Undefined {
		return "undefined"
	}
	return string(v.appendStyled(make([]byte, 0, v.sizeHint()), style{jsNumbers: true}))
}

// Indent returns the text JSON.stringify(v, null, indent) gives, except that
// an integer a double cannot hold keeps its literal: what is shown is what is
// used. Nesting beyond 1,000 levels is written compactly.
func (v Value) Indent(indent string) string {
	if v.kind == Undefined {
		return "undefined"
	}
	return string(v.appendStyled(nil, style{jsNumbers: true, exactInts: true, indent: indent}))
}

type writeFrame struct {
	c    *composite
	next int
}

// appendStyled walks with a heap stack: depth is bounded by memory only.
func (v Value) appendStyled(dst []byte, st style) []byte {
	if v.c == nil {
		return appendScalar(dst, v, st)
	}
	var local [32]writeFrame
	stack := append(local[:0], writeFrame{c: v.c})
	dst = append(dst, opener(v.c))
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next == len(f.c.elems) {
			stack = stack[:len(stack)-1]
			if f.next > 0 {
				dst = newline(dst, st, len(stack), len(stack)+1)
			}
			dst = append(dst, closer(f.c))
			continue
		}
		if f.next > 0 {
			dst = append(dst, ',')
		}
		dst = newline(dst, st, len(stack), len(stack))
		if f.c.shape != nil {
			dst = appendString(dst, f.c.shape.keys[f.next], st.escapeLine)
			dst = append(dst, ':')
			if st.indent != "" && len(stack) <= maxIndentDepth {
				dst = append(dst, ' ')
			}
		}
		e := &f.c.elems[f.next]
		f.next++
		if e.c == nil {
			dst = appendScalar(dst, *e, st)
			continue
		}
		dst = append(dst, opener(e.c))
		stack = append(stack, writeFrame{c: e.c})
	}
	return dst
}

// newline breaks the line inside the container of that depth.
func newline(dst []byte, st style, level, depth int) []byte {
	if st.indent == "" || depth > maxIndentDepth {
		return dst
	}
	dst = append(dst, '\n')
	for range level {
		dst = append(dst, st.indent...)
	}
	return dst
}

func opener(c *composite) byte {
	if c.shape != nil {
		return '{'
	}
	return '['
}

func closer(c *composite) byte {
	if c.shape != nil {
		return '}'
	}
	return ']'
}

func appendScalar(dst []byte, v Value, st style) []byte {
	switch v.kind {
	case NullKind:
		return append(dst, "null"...)
	case BoolKind:
		return strconv.AppendBool(dst, v.flag&flagTrue != 0)
	case StringKind:
		return appendString(dst, v.s, st.escapeLine)
	case NumberKind:
		if !st.jsNumbers || v.flag&flagSafeInt != 0 {
			return append(dst, v.s...)
		}
		f, ok := v.Float()
		if !ok || st.exactInts && decimalOf(v.s).integral() && !exactDouble(v.s, f) {
			return append(dst, v.s...)
		}
		return appendNumber(dst, f)
	default:
		return dst
	}
}

// sizeHint is about how many bytes v takes as JSON: exact but for escapes and
// reformatted numbers.
func (v Value) sizeHint() int {
	if v.c == nil {
		return len(v.s) + 8
	}
	size := 0
	var local [32]writeFrame
	stack := append(local[:0], writeFrame{c: v.c})
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		c := f.c
		if f.next == 0 {
			size += 2
			if c.shape != nil {
				for _, k := range c.shape.keys {
					size += len(k) + 3
				}
			}
		}
		child := (*composite)(nil)
		for child == nil && f.next < len(c.elems) {
			e := &c.elems[f.next]
			f.next++
			size += len(e.s) + 1
			switch e.kind {
			case StringKind:
				size += 2 + len(e.s)/6 // some escapes
			case BoolKind, NullKind:
				size += 5
			}
			child = e.c
		}
		if child == nil {
			stack = stack[:len(stack)-1]
		} else {
			stack = append(stack, writeFrame{c: child})
		}
	}
	return size
}

// AppendString appends s as a JSON string under the rules of
// [Value.AppendJSON], for writers that build a frame around values. Bytes that
// are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = wellFormed(s, true)
	}
	return appendString(dst, s, true)
}

const hexDigits = "0123456789abcdef"

// appendString quotes s, which is UTF-8 with WTF-8 surrogates at most.
func appendString(dst []byte, s string, escapeLine bool) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if noEscape[c] {
			i++
			continue
		}
		n := 1
		switch {
		case c == 0xE2: // may begin U+2028 or U+2029
			if !escapeLine || i+2 >= len(s) || s[i+1] != 0x80 || s[i+2]&^1 != 0xA8 {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', 'u', '2', '0', '2', hexDigits[s[i+2]&15])
			n = 3
		case c == 0xED: // may begin a surrogate
			sur, ok := surrogateAt(s, i)
			if !ok {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', 'u', 'd', hexDigits[sur>>8&15], hexDigits[sur>>4&15], hexDigits[sur&15])
			n = 3
		default:
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
		}
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}

// noEscape marks bytes that are written as they are whatever follows them.
var noEscape = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\' && c != 0xE2 && c != 0xED
	}
	return t
}()

// MarshalJSON gives compact JSON; an error when v is Undefined (mark optional
// fields omitzero). Note that encoding/json itself refuses more than 10,000
// levels and escapes HTML by default; frames of our own use [Value.AppendJSON].
func (v Value) MarshalJSON() ([]byte, error) {
	if v.kind == Undefined {
		return nil, errUndefined
	}
	return v.JSON(), nil
}

// UnmarshalJSON sets *v to the parsed data, under the rules of [Parse].
func (v *Value) UnmarshalJSON(data []byte) error {
	x, err := Parse(data)
	if err != nil {
		return err
	}
	*v = x
	return nil
}

// Decode stores v in the Go value into points to, as encoding/json does, with
// numbers kept as json.Number where the target is an interface.
func (v Value) Decode(into any) error {
	if v.kind == Undefined {
		return errUndefined
	}
	d := json.NewDecoder(bytes.NewReader(v.JSON()))
	d.UseNumber()
	return d.Decode(into)
}

// GoString helps test failures: it shows the JSON.
func (v Value) GoString() string {
	var b strings.Builder
	b.WriteString("jsonvalue(")
	b.WriteString(v.String())
	b.WriteByte(')')
	return b.String()
}
