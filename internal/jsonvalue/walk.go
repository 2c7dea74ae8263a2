package jsonvalue

import (
	"encoding/json"
	"slices"
	"strings"
)

// Equal reports whether v and w are the same JSON value: numbers by their exact
// value (1 equals 1.0), objects whatever the order of their keys. Compare
// [Value.String] where order or literals matter.
func (v Value) Equal(w Value) bool {
	type pair struct{ a, b Value }
	var local [16]pair
	stack := append(local[:0], pair{v, w})
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if p.a.kind != p.b.kind {
			return false
		}
		switch p.a.kind {
		case BoolKind:
			if p.a.flag != p.b.flag {
				return false
			}
		case StringKind:
			if p.a.s != p.b.s {
				return false
			}
		case NumberKind:
			if !sameNumber(p.a.s, p.b.s) {
				return false
			}
		case ArrayKind, ObjectKind:
			a, b := p.a.c, p.b.c
			if a == b {
				continue
			}
			if len(a.elems) != len(b.elems) {
				return false
			}
			sameOrder := a.shape == b.shape || slices.Equal(a.shape.keys, b.shape.keys)
			for i := range a.elems {
				j := i
				if !sameOrder {
					if j = b.shape.find(a.shape.keys[i]); j < 0 {
						return false
					}
				}
				stack = append(stack, pair{a.elems[i], b.elems[j]})
			}
		}
	}
	return true
}

// buildFrame is a container being rebuilt, as far as out.
type buildFrame struct {
	src  Value
	keys []string
	out  []Value
}

// MapStrings rebuilds v with f applied to every text and key; parts in which
// nothing changes are shared with v.
func (v Value) MapStrings(f func(string) string) Value {
	var stack []buildFrame
	cur := v
	for {
		opened := cur.Len() > 0
		if opened {
			stack = append(stack, buildFrame{src: cur, out: make([]Value, 0, cur.Len())})
		} else if cur.kind == StringKind {
			cur.s = f(cur.s)
		}
		for {
			if !opened {
				if len(stack) == 0 {
					return cur
				}
				top := &stack[len(stack)-1]
				top.out = append(top.out, cur)
			}
			top := &stack[len(stack)-1]
			if i := len(top.out); i < top.src.Len() {
				if top.src.kind == ObjectKind {
					top.keys = append(top.keys, f(top.src.c.shape.keys[i]))
				}
				cur = top.src.c.elems[i]
				break
			}
			cur, opened = top.finish(), false
			stack = stack[:len(stack)-1]
		}
	}
}

// finish gives the source back when nothing changed.
func (f *buildFrame) finish() Value {
	same := true
	for i := range f.out {
		a, b := &f.out[i], &f.src.c.elems[i]
		if a.c != b.c || a.s != b.s {
			same = false
			break
		}
	}
	if f.src.kind == ArrayKind {
		if same {
			return f.src
		}
		return Value{kind: ArrayKind, c: &composite{elems: f.out}}
	}
	for i := range f.keys {
		if f.keys[i] != f.src.c.shape.keys[i] {
			members := make([]Member, len(f.out))
			for j := range f.out {
				members[j] = Member{f.keys[j], f.out[j]}
			}
			return Object(members...)
		}
	}
	if same {
		return f.src
	}
	return object(f.src.c.shape, f.out)
}

// Interface returns v as plain Go data: nil, bool, string, json.Number, []any,
// map[string]any. An Undefined v gives nil.
func (v Value) Interface() any {
	return v.InterfaceFunc(func(literal string) any { return json.Number(literal) })
}

// InterfaceFunc is [Value.Interface] with numbers as the function makes them
// of their literals.
func (v Value) InterfaceFunc(number func(literal string) any) any {
	type frame struct {
		src  *composite
		next int
		arr  []any
		obj  map[string]any
	}
	var stack []frame
	cur := v
	for {
		var done any
		switch cur.kind {
		case ArrayKind:
			stack = append(stack, frame{src: cur.c, arr: make([]any, 0, len(cur.c.elems))})
		case ObjectKind:
			stack = append(stack, frame{src: cur.c, obj: make(map[string]any, len(cur.c.elems))})
		case NumberKind:
			done = number(cur.s)
		case BoolKind:
			done = cur.flag&flagTrue != 0
		case StringKind:
			done = cur.s
		}
		opened := cur.c != nil
		for {
			if !opened {
				if len(stack) == 0 {
					return done
				}
				top := &stack[len(stack)-1]
				if top.obj != nil {
					top.obj[top.src.shape.keys[top.next-1]] = done
				} else {
					top.arr = append(top.arr, done)
				}
			}
			top := &stack[len(stack)-1]
			if top.next < len(top.src.elems) {
				cur = top.src.elems[top.next]
				top.next++
				break
			}
			if top.obj != nil {
				done = top.obj
			} else {
				done = top.arr
			}
			stack = stack[:len(stack)-1]
			opened = false
		}
	}
}

// Depth returns how many containers are open at the deepest point: 0 for a
// scalar, 1 for [1].
func (v Value) Depth() int {
	if v.c == nil {
		return 0
	}
	stack := []writeFrame{{c: v.c}}
	deepest := 1
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next == len(f.c.elems) {
			stack = stack[:len(stack)-1]
			continue
		}
		c := f.c.elems[f.next].c
		f.next++
		if c != nil {
			stack = append(stack, writeFrame{c: c})
			deepest = max(deepest, len(stack))
		}
	}
	return deepest
}

// Compact returns v rebuilt in memory of its own, so that keeping a small part
// of a big parsed text does not keep the text.
func (v Value) Compact() Value {
	if v.kind == Undefined {
		return v
	}
	switch {
	case v.c == nil:
		v.s = strings.Clone(v.s)
		return v
	default:
		// Our own output always parses; the copy is private.
		x, err := ParseString(string(v.AppendJSON(nil)))
		if err != nil {
			return v
		}
		return x
	}
}
