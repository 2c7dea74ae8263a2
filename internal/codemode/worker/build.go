package worker

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// build makes the program's value from a tool's JSON: native objects with the
// members in the text's order, every key ordinary data. It refuses what a
// JavaScript number would change: -0, numbers out of range, and integers that a
// double cannot hold. It polls for interruption, as a text may be large.
func (e *Engine) build(text []byte) (goja.Value, error) {
	b := &builder{e: e, s: text}
	v, err := b.value(0)
	if err != nil {
		return nil, err
	}
	if b.space(); b.i != len(b.s) {
		return nil, b.bad("text after the value")
	}
	return v, nil
}

type builder struct {
	e *Engine
	// lenient takes numbers as JSON.parse does: what does not fit is rounded.
	lenient bool

	s     []byte
	i     int
	count int
}

var errInterrupted = errors.New("interrupted")

func (b *builder) bad(what string) error {
	return fmt.Errorf("%s at byte %d of the value", what, b.i)
}

func (b *builder) space() {
	for b.i < len(b.s) {
		switch b.s[b.i] {
		case ' ', '\t', '\n', '\r':
			b.i++
		default:
			return
		}
	}
}

func (b *builder) value(depth int) (goja.Value, error) {
	if depth > maxJSONDepth {
		return nil, b.bad(fmt.Sprintf("more than %d levels", maxJSONDepth))
	}
	if b.count++; b.count&0xFFF == 0 && b.e.interrupted.Load() != nil {
		return nil, errInterrupted
	}
	b.space()
	if b.i >= len(b.s) {
		return nil, b.bad("unexpected end")
	}
	switch c := b.s[b.i]; c {
	case '{':
		return b.object(depth)
	case '[':
		return b.array(depth)
	case '"':
		return b.text()
	case 't':
		return b.word("true", b.e.intrinsics.yes)
	case 'f':
		return b.word("false", b.e.intrinsics.no)
	case 'n':
		return b.word("null", goja.Null())
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return b.number()
		}
		return nil, b.bad("unexpected character")
	}
}

func (b *builder) word(w string, v goja.Value) (goja.Value, error) {
	if len(b.s)-b.i < len(w) || string(b.s[b.i:b.i+len(w)]) != w {
		return nil, b.bad("unexpected character")
	}
	b.i += len(w)
	return v, nil
}

// object builds an object without prototype first, so that neither __proto__
// nor a setter that the program put on Object.prototype gets in the way.
func (b *builder) object(depth int) (goja.Value, error) {
	o := b.e.vm.CreateObject(nil)
	b.i++
	for first := true; ; first = false {
		b.space()
		if b.i < len(b.s) && b.s[b.i] == '}' && first {
			b.i++
			break
		}
		if b.i >= len(b.s) || b.s[b.i] != '"' {
			return nil, b.bad("expected a key")
		}
		key, err := b.key()
		if err != nil {
			return nil, err
		}
		if b.space(); b.i >= len(b.s) || b.s[b.i] != ':' {
			return nil, b.bad("expected a colon")
		}
		b.i++
		v, err := b.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if err := o.Set(key, v); err != nil {
			return nil, err
		}
		b.space()
		if b.i < len(b.s) && b.s[b.i] == ',' {
			b.i++
			continue
		}
		if b.i < len(b.s) && b.s[b.i] == '}' {
			b.i++
			break
		}
		return nil, b.bad("expected a comma or a closing brace")
	}
	return o, o.SetPrototype(b.e.intrinsics.objectProto)
}

func (b *builder) array(depth int) (goja.Value, error) {
	var items []any
	b.i++
	for {
		b.space()
		if b.i < len(b.s) && b.s[b.i] == ']' && len(items) == 0 {
			b.i++
			break
		}
		v, err := b.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		b.space()
		if b.i < len(b.s) && b.s[b.i] == ',' {
			b.i++
			continue
		}
		if b.i < len(b.s) && b.s[b.i] == ']' {
			b.i++
			break
		}
		return nil, b.bad("expected a comma or a closing bracket")
	}
	return b.e.vm.NewArray(items...), nil
}

func (b *builder) number() (goja.Value, error) {
	start, integer := b.i, true
	for b.i < len(b.s) {
		c := b.s[b.i]
		if c == '.' || c == 'e' || c == 'E' {
			integer = false
		} else if (c < '0' || c > '9') && c != '-' && c != '+' {
			break
		}
		b.i++
	}
	literal := string(b.s[start:b.i])
	if !validNumber(literal) {
		return nil, b.bad("number " + clip(literal, 40))
	}
	if b.lenient && (!integer || len(literal) >= 16 || literal == "-0") {
		f, _ := strconv.ParseFloat(literal, 64) // out of range is infinite or 0
		return b.e.vm.ToValue(f), nil
	}
	if integer && len(literal) < 16 {
		n, err := strconv.ParseInt(literal, 10, 64)
		if err != nil || literal[0] == '-' && n == 0 {
			return nil, b.bad("number " + literal)
		}
		return b.e.vm.ToValue(n), nil
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(f, 0) || f == 0 && math.Signbit(f) {
		return nil, b.bad("number " + clip(literal, 40) + ", which a JavaScript number cannot hold,")
	}
	if integer && !exactInteger(literal, f) {
		return nil, b.bad("integer " + clip(literal, 40) + ", which a JavaScript number cannot hold exactly,")
	}
	return b.e.vm.ToValue(f), nil
}

// validNumber says whether a literal follows JSON's grammar.
func validNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n
	}
	zero := strings.HasPrefix(s, "0")
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if strings.HasPrefix(s, ".") {
		if s = s[1:]; digits() == 0 {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return s == ""
}

// installParse replaces JSON.parse, which in goja takes three times as long,
// cannot be interrupted, and ends the process on deep nesting. With a reviver
// goja's own still does the work.
func (e *Engine) installParse() error {
	vm := e.vm
	object := vm.GlobalObject().Get("JSON").(*goja.Object)
	native, _ := goja.AssertFunction(object.Get("parse"))
	parse := func(call goja.FunctionCall) goja.Value {
		text := call.Argument(0).ToString().String()
		_, reviver := goja.AssertFunction(call.Argument(1))
		if reviver || strings.ContainsRune(text, utf8.RuneError) {
			v, err := native(object, call.Arguments...)
			if err != nil {
				panic(err)
			}
			return v
		}
		b := &builder{e: e, s: []byte(text), lenient: true}
		v, err := b.value(0)
		if err == nil {
			if b.space(); b.i != len(b.s) {
				err = b.bad("unexpected text after the value")
			}
		}
		if err == nil || errors.Is(err, errInterrupted) {
			return v // an interrupted program does not come to see it
		}
		at := max(0, b.i-15)
		for at > 0 && !utf8.RuneStart(text[at]) {
			at--
		}
		near := ""
		if text != "" {
			near = fmt.Sprintf(", near %q", clip(text[at:], 30))
		}
		panic(e.syntaxError("JSON.parse: " + err.Error() + near))
	}
	fn := vm.ToValue(parse).(*goja.Object)
	_ = fn.DefineDataProperty("name", vm.ToValue("parse"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return object.DefineDataProperty("parse", fn, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

func (e *Engine) syntaxError(message string) goja.Value {
	o, err := e.vm.New(e.intrinsics.syntaxError, e.vm.ToValue(message))
	if err != nil {
		return e.vm.NewTypeError("%s", message)
	}
	return o
}

// exactInteger says whether a double is exactly the integer its literal says.
func exactInteger(literal string, f float64) bool {
	return strconv.FormatFloat(f, 'f', 0, 64) == literal
}

// key is a member's name as a Go string. A lone surrogate in a name is replaced.
func (b *builder) key() (string, error) {
	s, units, err := b.literal()
	if err != nil || units == nil {
		return s, err
	}
	return string(utf16.Decode(units)), nil
}

func (b *builder) text() (goja.Value, error) {
	s, units, err := b.literal()
	if err != nil {
		return nil, err
	}
	if units != nil {
		return goja.StringFromUTF16(units), nil
	}
	return b.e.vm.ToValue(s), nil
}

// literal reads a string: as UTF-8, or as UTF-16 units when it has an escape of
// a surrogate, which may stand alone.
func (b *builder) literal() (string, []uint16, error) {
	b.i++
	start := b.i
	for b.i < len(b.s) && b.s[b.i] != '"' && b.s[b.i] != '\\' && b.s[b.i] >= 0x20 {
		b.i++
	}
	if b.i < len(b.s) && b.s[b.i] == '"' {
		b.i++
		s := b.s[start : b.i-1]
		if utf8.Valid(s) {
			return string(s), nil, nil
		}
		return "", fromWTF8(s), nil
	}
	out := append([]byte(nil), b.s[start:b.i]...)
	surrogates := false
	for b.i < len(b.s) {
		c := b.s[b.i]
		b.i++
		switch {
		case c == '"':
			if surrogates || !utf8.Valid(out) {
				return "", fromWTF8(out), nil
			}
			return string(out), nil, nil
		case c < 0x20:
			return "", nil, b.bad("control character in a string")
		case c != '\\':
			out = append(out, c)
			continue
		}
		if b.i >= len(b.s) {
			break
		}
		e := b.s[b.i]
		b.i++
		switch e {
		case '"', '\\', '/':
			out = append(out, e)
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			if b.i+4 > len(b.s) {
				return "", nil, b.bad("unfinished escape")
			}
			n, err := strconv.ParseUint(string(b.s[b.i:b.i+4]), 16, 16)
			if err != nil {
				return "", nil, b.bad("bad escape")
			}
			b.i += 4
			if n >= 0xD800 && n < 0xE000 {
				surrogates = true
				out = append(out, 0xE0|byte(n>>12), 0x80|byte(n>>6)&0xBF, 0x80|byte(n)&0xBF)
			} else {
				out = utf8.AppendRune(out, rune(n))
			}
		default:
			return "", nil, b.bad("bad escape")
		}
	}
	return "", nil, b.bad("an unfinished string")
}

// fromWTF8 decodes UTF-8 in which surrogates may stand alone, in three bytes
// each. What is neither is replaced.
func fromWTF8(s []byte) []uint16 {
	out := make([]uint16, 0, len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if r == utf8.RuneError && n == 1 && len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
			out = append(out, 0xD000|uint16(s[1]&0x3F)<<6|uint16(s[2]&0x3F))
			s = s[3:]
			continue
		}
		out = utf16.AppendRune(out, r)
		s = s[n:]
	}
	return out
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
