// Package jsonvalue holds JSON data that has crossed a boundary: arguments a
// model wrote, results a tool produced, schemas, session events, wire frames.
//
// A [Value] is built once, from text ([Parse]) or by a checked snapshot of Go
// data ([FromGo]), and has no mutator, so "frozen" is a property of the type.
// Object keys keep their order and numbers keep their literal, so a 64-bit
// integer is never rounded on the way through. Every walker keeps its own
// stack on the heap: nesting is bounded by memory, not by the goroutine stack.
package jsonvalue

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind says which of the JSON types a [Value] has.
type Kind uint8

// The kinds. Undefined is the kind of the zero Value and means "absent": it is
// never encoded and never sits inside an array or object (rule R11.1).
const (
	Undefined Kind = iota
	NullKind
	BoolKind
	NumberKind
	StringKind
	ArrayKind
	ObjectKind
)

// String names the kind as JSON Schema does ("null", "boolean", …).
func (k Kind) String() string {
	switch k {
	case NullKind:
		return "null"
	case BoolKind:
		return "boolean"
	case NumberKind:
		return "number"
	case StringKind:
		return "string"
	case ArrayKind:
		return "array"
	case ObjectKind:
		return "object"
	default:
		return "undefined"
	}
}

// flag caches what construction already knows about a scalar.
type flag uint8

const (
	flagTrue    flag = 1 << iota // a Bool that is true
	flagSafeInt                  // a Number that is a plain integer of at most 15 digits, not -0
)

// Value is one immutable JSON value; the zero Value is [Undefined].
// Copying a Value is cheap and shares the (immutable) children.
// Values are not comparable with ==; use [Value.Equal].
type Value struct {
	_    [0]func()
	kind Kind
	flag flag
	s    string // String: the text (see Str); Number: the literal
	c    *composite
}

// composite is the body of an array (shape nil) or of an object, whose i-th
// value belongs to the shape's i-th key.
type composite struct {
	elems []Value
	shape *shape
}

// shape is the key list of an object. Objects of equal keys in equal order
// share one, which saves most of the memory of an array of records.
type shape struct {
	keys []string
	// sorted lists key indexes in key order, for binary search; nil when the
	// object is small enough for a linear scan to win.
	sorted []uint32
}

const linearKeys = 12

// Member is one entry of an object.
type Member struct {
	Key   string
	Value Value
}

var (
	emptyArray  = &composite{}
	emptyShape  = &shape{}
	emptyObject = &composite{shape: emptyShape}
)

// Null returns the JSON null.
func Null() Value { return Value{kind: NullKind} }

// Bool returns a JSON boolean.
func Bool(b bool) Value {
	if b {
		return Value{kind: BoolKind, flag: flagTrue}
	}
	return Value{kind: BoolKind}
}

// String returns a JSON string. Bytes that are not well-formed UTF-8 become
// U+FFFD, so the result can always be encoded and read by a strict peer.
func String(s string) Value {
	if !utf8.ValidString(s) {
		s = wellFormed(s, false)
	}
	return Value{kind: StringKind, s: s}
}

// StringWTF8 is [String] except that lone surrogates encoded as three bytes
// are kept, as [Value.Str] gives them for text that had an escape such as
// \ud800 (rule R11.2: lone surrogates survive).
func StringWTF8(s string) Value {
	if !utf8.ValidString(s) {
		s = wellFormed(s, true)
	}
	return Value{kind: StringKind, s: s}
}

// Int returns a JSON number with the exact decimal literal of i.
func Int(i int64) Value { return number(strconv.FormatInt(i, 10)) }

// Float returns f as a JSON number with JavaScript's shortest literal.
// NaN, the infinities and negative zero are refused with a *[LosslessError]
// (rule R11.1).
func Float(f float64) (Value, error) {
	switch {
	case math.IsNaN(f):
		return Value{}, &LosslessError{Reason: "NaN is not a JSON number"}
	case math.IsInf(f, 0):
		return Value{}, &LosslessError{Reason: "an infinite number is not a JSON number"}
	case f == 0 && math.Signbit(f):
		return Value{}, &LosslessError{Reason: "negative zero does not survive JSON"}
	}
	return number(FormatNumber(f)), nil
}

// number wraps a literal already known to follow the JSON grammar.
func number(literal string) Value {
	v := Value{kind: NumberKind, s: literal}
	if isSafeInt(literal) {
		v.flag = flagSafeInt
	}
	return v
}

// Array returns an array of vs, copied. An Undefined element becomes null, as
// an array position cannot be absent.
func Array(vs ...Value) Value {
	if len(vs) == 0 {
		return Value{kind: ArrayKind, c: emptyArray}
	}
	elems := slices.Clone(vs)
	for i := range elems {
		if elems[i].kind == Undefined {
			elems[i] = Null()
		}
	}
	return Value{kind: ArrayKind, c: &composite{elems: elems}}
}

// Object returns an object of ms in their order. A key given twice keeps its
// first position and its last value; a member whose value is Undefined is
// left out, so optional members can be listed unconditionally.
func Object(ms ...Member) Value {
	keys := make([]string, 0, len(ms))
	elems := make([]Value, 0, len(ms))
	var index map[string]int
	if len(ms) > linearKeys {
		index = make(map[string]int, len(ms))
	}
	for _, m := range ms {
		if m.Value.kind == Undefined {
			continue
		}
		k := m.Key
		if !utf8.ValidString(k) {
			k = wellFormed(k, true)
		}
		at := -1
		if index == nil {
			at = slices.Index(keys, k)
		} else if i, ok := index[k]; ok {
			at = i
		}
		if at >= 0 {
			elems[at] = m.Value
			continue
		}
		if index != nil {
			index[k] = len(keys)
		}
		keys = append(keys, k)
		elems = append(elems, m.Value)
	}
	return object(newShape(keys), elems)
}

// object takes ownership of elems.
func object(sh *shape, elems []Value) Value {
	if len(elems) == 0 {
		return Value{kind: ObjectKind, c: emptyObject}
	}
	return Value{kind: ObjectKind, c: &composite{elems: elems, shape: sh}}
}

// newShape takes ownership of keys, which must be distinct.
func newShape(keys []string) *shape {
	if len(keys) == 0 {
		return emptyShape
	}
	sh := &shape{keys: keys}
	if len(keys) > linearKeys {
		sh.sorted = sortedIndex(keys)
	}
	return sh
}

func sortedIndex(keys []string) []uint32 {
	idx := make([]uint32, len(keys))
	for i := range idx {
		idx[i] = uint32(i)
	}
	slices.SortFunc(idx, func(a, b uint32) int { return strings.Compare(keys[a], keys[b]) })
	return idx
}

func (sh *shape) find(key string) int {
	if sh.sorted == nil {
		for i := range sh.keys {
			if sh.keys[i] == key {
				return i
			}
		}
		return -1
	}
	i, ok := slices.BinarySearchFunc(sh.sorted, key, func(at uint32, k string) int {
		return strings.Compare(sh.keys[at], k)
	})
	if !ok {
		return -1
	}
	return int(sh.sorted[i])
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// IsUndefined reports whether v is the zero Value, that is, absent.
func (v Value) IsUndefined() bool { return v.kind == Undefined }

// IsZero is IsUndefined under the name encoding/json's omitzero looks for.
func (v Value) IsZero() bool { return v.kind == Undefined }

// IsNull reports whether v is the JSON null (an absent value is not).
func (v Value) IsNull() bool { return v.kind == NullKind }

// IsObject reports whether v is an object.
func (v Value) IsObject() bool { return v.kind == ObjectKind }

// IsArray reports whether v is an array.
func (v Value) IsArray() bool { return v.kind == ArrayKind }

// Bool returns the boolean and whether v is one.
func (v Value) Bool() (b, ok bool) {
	return v.flag&flagTrue != 0 && v.kind == BoolKind, v.kind == BoolKind
}

// Str returns the text and whether v is a string. The text is UTF-8, except
// that a lone surrogate the JSON text spelled as an escape appears as its
// three-byte (WTF-8) form; see [Value.WellFormed].
func (v Value) Str() (string, bool) {
	if v.kind != StringKind {
		return "", false
	}
	return v.s, true
}

// Literal returns the number as it was written and whether v is a number.
func (v Value) Literal() (string, bool) {
	if v.kind != NumberKind {
		return "", false
	}
	return v.s, true
}

// Float returns the nearest double. ok is false when v is not a number or is
// out of the range of a double.
func (v Value) Float() (f float64, ok bool) {
	if v.kind != NumberKind {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.s, 64)
	if err != nil {
		return 0, false
	}
	return f, true
}

// Int64 returns the exact integer. ok is false when v is not a number, not
// integral (1.0 and 1e2 are), or does not fit.
func (v Value) Int64() (i int64, ok bool) {
	if v.kind != NumberKind {
		return 0, false
	}
	if i, err := strconv.ParseInt(v.s, 10, 64); err == nil {
		return i, true
	} else if v.flag&flagSafeInt != 0 {
		return 0, false
	}
	return decimalOf(v.s).int64()
}

// IsInteger reports whether v is a number without a fractional part that is in
// the range of a double (rule R10.4: 1e20 is an integer).
func (v Value) IsInteger() bool {
	if v.kind != NumberKind {
		return false
	}
	if v.flag&flagSafeInt != 0 {
		return true
	}
	if !decimalOf(v.s).integral() {
		return false
	}
	_, ok := v.Float()
	return ok
}

// Len returns the number of elements of an array or members of an object, else 0.
func (v Value) Len() int {
	if v.c == nil {
		return 0
	}
	return len(v.c.elems)
}

// At returns the i-th element of an array or the i-th member's value of an
// object; Undefined when i is out of range or v is neither.
func (v Value) At(i int) Value {
	if v.c == nil || i < 0 || i >= len(v.c.elems) {
		return Value{}
	}
	return v.c.elems[i]
}

// MemberAt returns the i-th member of an object; the zero Member when i is out
// of range or v is not an object.
func (v Value) MemberAt(i int) Member {
	if v.kind != ObjectKind || i < 0 || i >= len(v.c.elems) {
		return Member{}
	}
	return Member{Key: v.c.shape.keys[i], Value: v.c.elems[i]}
}

// Lookup returns the member of that key and whether there is one.
func (v Value) Lookup(key string) (Value, bool) {
	if i := v.IndexOf(key); i >= 0 {
		return v.c.elems[i], true
	}
	return Value{}, false
}

// IndexOf returns the position of the member of that key; -1 when there is
// none or v is not an object.
func (v Value) IndexOf(key string) int {
	if v.kind != ObjectKind {
		return -1
	}
	return v.c.shape.find(key)
}

// IndexOfNear is [Value.IndexOf] for a caller who expects the key at position
// near, as one walking records of equal layout does.
func (v Value) IndexOfNear(key string, near int) int {
	if v.kind != ObjectKind {
		return -1
	}
	if keys := v.c.shape.keys; near >= 0 && near < len(keys) && keys[near] == key {
		return near
	}
	return v.c.shape.find(key)
}

// KeyAt returns the key of the i-th member of an object; "" when i is out of
// range or v is not an object.
func (v Value) KeyAt(i int) string {
	if v.kind != ObjectKind || i < 0 || i >= len(v.c.elems) {
		return ""
	}
	return v.c.shape.keys[i]
}

// Get returns the member of that key; Undefined when absent or v is not an object.
func (v Value) Get(key string) Value {
	x, _ := v.Lookup(key)
	return x
}

// GetString returns the text of a string member; "" when absent or not a string.
func (v Value) GetString(key string) string {
	s, _ := v.Get(key).Str()
	return s
}

// Elements yields the elements of an array; nothing for other kinds.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.kind != ArrayKind {
			return
		}
		for i, e := range v.c.elems {
			if !yield(i, e) {
				return
			}
		}
	}
}

// Members yields the members of an object in order; nothing for other kinds.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind != ObjectKind {
			return
		}
		for i, k := range v.c.shape.keys {
			if !yield(k, v.c.elems[i]) {
				return
			}
		}
	}
}

// With returns a copy of the object v with key set to x, in place when the key
// is there and last otherwise; an Undefined x removes the key. A v that is not
// an object counts as an empty one.
func (v Value) With(key string, x Value) Value {
	if x.kind == Undefined {
		return v.Without(key)
	}
	if v.kind != ObjectKind {
		return Object(Member{key, x})
	}
	if !utf8.ValidString(key) {
		key = wellFormed(key, true)
	}
	if i := v.c.shape.find(key); i >= 0 {
		elems := slices.Clone(v.c.elems)
		elems[i] = x
		return object(v.c.shape, elems)
	}
	keys := append(slices.Clip(v.c.shape.keys), key)
	return object(newShape(keys), append(slices.Clip(v.c.elems), x))
}

// Without returns a copy of the object v that lacks key; v itself when it has
// no such key, and an empty object when v is not an object.
func (v Value) Without(key string) Value {
	if v.kind != ObjectKind {
		return Object()
	}
	i := v.c.shape.find(key)
	if i < 0 {
		return v
	}
	keys := slices.Delete(slices.Clone(v.c.shape.keys), i, i+1)
	return object(newShape(keys), slices.Delete(slices.Clone(v.c.elems), i, i+1))
}

// Append returns a copy of the array v with xs after its elements. A v that is
// not an array counts as an empty one.
func (v Value) Append(xs ...Value) Value {
	if v.kind != ArrayKind {
		return Array(xs...)
	}
	all := make([]Value, 0, len(v.c.elems)+len(xs))
	all = append(append(all, v.c.elems...), xs...)
	for i := range all {
		if all[i].kind == Undefined {
			all[i] = Null()
		}
	}
	if len(all) == 0 {
		return v
	}
	return Value{kind: ArrayKind, c: &composite{elems: all}}
}

var errUndefined = errors.New("jsonvalue: an absent value cannot be encoded")
