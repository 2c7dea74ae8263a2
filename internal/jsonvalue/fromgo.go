package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// FromGo takes a checked snapshot of Go data; later changes of x do not reach
// it. It takes nil, booleans, numbers, strings, []any, map[string]any (keys
// sorted), json.Number, json.RawMessage, Value, []Value, Member lists, and what
// encoding/json can marshal (structs in field order, json.Marshaler). Refused
// with an error: NaN, infinities, negative zero, an Undefined Value, []byte
// (JSON has no bytes: convert to a string), text that is not UTF-8, cycles,
// functions and channels (rule R11.1). The error is a *[LosslessError].
func FromGo(x any) (Value, error) {
	var b goBuilder
	return b.run(x)
}

// MustFromGo is [FromGo] for literals in our own code and tests; it panics on
// an error, so never give it data from outside.
func MustFromGo(x any) Value {
	v, err := FromGo(x)
	if err != nil {
		panic(err)
	}
	return v
}

// goFrame is an open container: n children, of which next were visited.
type goFrame struct {
	vals   []Value
	keys   []string // of an object
	object bool
	lookup func(i int) any
	n      int
	next   int
	id     goID
}

// goID tells containers apart: a slice shares its pointer with its prefixes.
type goID struct {
	ptr uintptr
	n   int
}

// goBuilder walks Go data with a stack of its own.
type goBuilder struct {
	stack  []goFrame
	active map[goID]struct{} // the deeper containers of stack
}

// cycleDepth is where bookkeeping for cycles begins; a cycle gets there anyway.
const cycleDepth = 64

func (b *goBuilder) run(x any) (Value, error) {
	cur := x
	for {
		v, opened, err := b.visit(cur)
		if err != nil {
			return Value{}, err
		}
		// Hand finished values outwards, until a container has more to visit.
		for {
			if !opened {
				if len(b.stack) == 0 {
					return v, nil
				}
				top := &b.stack[len(b.stack)-1]
				top.vals = append(top.vals, v)
			}
			top := &b.stack[len(b.stack)-1]
			if top.next < top.n {
				cur = top.lookup(top.next)
				top.next++
				break
			}
			v, opened = b.pop(), false
		}
	}
}

func (b *goBuilder) pop() Value {
	top := b.stack[len(b.stack)-1]
	b.stack = b.stack[:len(b.stack)-1]
	if top.id != (goID{}) {
		delete(b.active, top.id)
	}
	if !top.object {
		if len(top.vals) == 0 {
			return Value{kind: ArrayKind, c: emptyArray}
		}
		return Value{kind: ArrayKind, c: &composite{elems: top.vals}}
	}
	return object(newShape(top.keys), top.vals)
}

func (b *goBuilder) path() string {
	frames := make([]writeFrame, len(b.stack))
	for i, f := range b.stack {
		frames[i] = writeFrame{c: &composite{}, next: f.next}
		if f.object {
			frames[i].c.shape = &shape{keys: f.keys}
		}
	}
	return pathOf(frames)
}

func (b *goBuilder) fail(format string, args ...any) error {
	return &LosslessError{Path: b.path(), Reason: fmt.Sprintf(format, args...)}
}

func (b *goBuilder) push(f goFrame, container any) error {
	if len(b.stack) >= cycleDepth && f.n > 0 {
		f.id = goID{reflect.ValueOf(container).Pointer(), f.n}
		if _, again := b.active[f.id]; again {
			return b.fail("the data contains itself")
		}
		if b.active == nil {
			b.active = map[goID]struct{}{}
		}
		b.active[f.id] = struct{}{}
	}
	f.vals = make([]Value, 0, f.n)
	b.stack = append(b.stack, f)
	return nil
}

// visit turns a scalar into a Value, or opens a frame for a container.
func (b *goBuilder) visit(x any) (v Value, opened bool, err error) {
	switch x := x.(type) {
	case nil:
		return Null(), false, nil
	case Value:
		if x.kind == Undefined {
			return Value{}, false, b.fail("there is no value")
		}
		if err := CheckLossless(x); err != nil {
			return Value{}, false, b.within(err)
		}
		return x, false, nil
	case bool:
		return Bool(x), false, nil
	case string:
		if !utf8.ValidString(x) {
			return Value{}, false, b.fail("the text is not valid UTF-8")
		}
		return Value{kind: StringKind, s: x}, false, nil
	case int:
		return Int(int64(x)), false, nil
	case int64:
		return Int(x), false, nil
	case int32:
		return Int(int64(x)), false, nil
	case uint64:
		return number(strconv.FormatUint(x, 10)), false, nil
	case uint32:
		return Int(int64(x)), false, nil
	case float64:
		v, err := Float(x)
		return v, false, b.within(err)
	case float32:
		// The shortest digits of the float32, as encoding/json writes it.
		f, perr := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
		if perr != nil || x == 0 && math.Signbit(float64(x)) {
			f = float64(x)
		}
		v, err := Float(f)
		return v, false, b.within(err)
	case json.Number:
		v, err := b.text([]byte(x))
		if err == nil && v.kind != NumberKind {
			err = b.fail("the json.Number %q is not a number", string(x))
		}
		return v, false, err
	case json.RawMessage:
		v, err := b.text(x)
		return v, false, err
	case []byte:
		return Value{}, false, b.fail("JSON has no bytes; convert them to a string first")
	case []any:
		if x == nil {
			return Null(), false, nil
		}
		return Value{}, true, b.push(goFrame{n: len(x), lookup: func(i int) any { return x[i] }}, x)
	case map[string]any:
		if x == nil {
			return Null(), false, nil
		}
		keys := slices.Sorted(maps.Keys(x))
		for _, k := range keys {
			if !utf8.ValidString(k) {
				return Value{}, false, b.fail("the key %q is not valid UTF-8", k)
			}
		}
		return Value{}, true, b.push(goFrame{n: len(x), object: true, keys: keys, lookup: func(i int) any { return x[keys[i]] }}, x)
	case []Value:
		for i, e := range x {
			if e.kind == Undefined {
				return Value{}, false, b.fail("there is no value at index %d", i)
			}
		}
		v := Array(x...)
		return v, false, b.within(CheckLossless(v))
	case []Member:
		v := Object(x...)
		return v, false, b.within(CheckLossless(v))
	case []string:
		return b.strings(x)
	default:
		v, err := b.marshal(x)
		return v, false, err
	}
}

func (b *goBuilder) strings(x []string) (Value, bool, error) {
	if x == nil {
		return Null(), false, nil
	}
	elems := make([]Value, len(x))
	for i, s := range x {
		if !utf8.ValidString(s) {
			return Value{}, false, b.fail("the text at index %d is not valid UTF-8", i)
		}
		elems[i] = Value{kind: StringKind, s: s}
	}
	if len(elems) == 0 {
		return Value{kind: ArrayKind, c: emptyArray}, false, nil
	}
	return Value{kind: ArrayKind, c: &composite{elems: elems}}, false, nil
}

// within puts the builder's position in front of an inner error's path.
func (b *goBuilder) within(err error) error {
	if err == nil {
		return nil
	}
	le, ok := err.(*LosslessError)
	if !ok {
		return b.fail("%s", err)
	}
	p := b.path()
	switch {
	case p == "":
		return le
	case le.Path == "":
	case le.Path[0] == '[':
		p += le.Path
	default:
		p += "." + le.Path
	}
	return &LosslessError{Path: p, Reason: le.Reason}
}

func (b *goBuilder) text(data []byte) (Value, error) {
	v, err := ParseLossless(data)
	return v, b.within(err)
}

// marshal leaves what has no case of its own to encoding/json's conventions.
func (b *goBuilder) marshal(x any) (Value, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		return Value{}, b.fail("%s", err)
	}
	return b.text(buf.Bytes())
}
