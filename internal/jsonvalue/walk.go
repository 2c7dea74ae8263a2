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

type buildFrame struct {
	src  Value
	next int
	keys []string
	out  []Value
}

// mapStrings rebuilds v with f applied to every text and key; parts in which
// nothing changes are shared with v.
func (v Value) mapStrings(f func(string) string) Value {
	done, stack := Value{}, []buildFrame(nil)
	cur, descend := v, true
	for {
		if descend && cur.c != nil && len(cur.c.elems) > 0 {
			fr := buildFrame{src: cur, out: make([]Value, 0, len(cur.c.elems))}
			if cur.kind == ObjectKind {
				fr.keys = make([]string, 0, len(cur.c.elems))
			}
			stack = append(stack, fr)
		} else {
			if cur.kind == StringKind {
				cur.s = f(cur.s)
			}
			done = cur
			if len(stack) == 0 {
				return done
			}
			top := &stack[len(stack)-1]
			top.out = append(top.out, done)
		}
		top := &stack[len(stack)-1]
		if top.next == len(top.src.c.elems) {
			cur, descend = top.finish(), false
			stack = stack[:len(stack)-1]
			continue
		}
		if top.src.kind == ObjectKind {
			top.keys = append(top.keys, f(top.src.c.shape.keys[top.next]))
		}
		cur, descend = top.src.c.elems[top.next], true
		top.next++
	}
}

// finish gives the source back when nothing changed.
func (f *buildFrame) finish() Value {
	same := true
	for i := range f.out {
		a, b := &f.out[i], &f.src.c.elems[i]
		if a.c != b.c || !sameText(a.s, b.s) {
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
		if !sameText(f.keys[i], f.src.c.shape.keys[i]) {
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

// sameText is string equality; a clone counts as a change for Compact, which
// therefore does not use it on clones of equal text.
func sameText(a, b string) bool { return a == b }

// Interface returns v as plain Go data: nil, bool, string, json.Number, []any,
// map[string]any. An Undefined v gives nil.
func (v Value) Interface() any {
	type frame struct {
		src  Value
		next int
		arr  []any
		obj  map[string]any
	}
	var stack []frame
	cur := v
	for {
		var done any
		switch {
		case cur.kind == ArrayKind:
			stack = append(stack, frame{src: cur, arr: make([]any, 0, len(cur.c.elems))})
		case cur.kind == ObjectKind:
			stack = append(stack, frame{src: cur, obj: make(map[string]any, len(cur.c.elems))})
		default:
			done = cur.scalarInterface()
			if len(stack) == 0 {
				return done
			}
			stack[len(stack)-1].arr, _ = put(stack[len(stack)-1].arr, stack[len(stack)-1].obj, stack[len(stack)-1].src, stack[len(stack)-1].next-1, done)
		}
		for {
			top := &stack[len(stack)-1]
			if top.next < len(top.src.c.elems) {
				cur = top.src.c.elems[top.next]
				top.next++
				break
			}
			if top.obj != nil {
				done = top.obj
			} else {
				done = top.arr
			}
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				return done
			}
			up := &stack[len(stack)-1]
			up.arr, _ = put(up.arr, up.obj, up.src, up.next-1, done)
		}
	}
}

func put(arr []any, obj map[string]any, src Value, i int, x any) ([]any, map[string]any) {
	if obj != nil {
		obj[src.c.shape.keys[i]] = x
		return arr, obj
	}
	return append(arr, x), obj
}

func (v Value) scalarInterface() any {
	switch v.kind {
	case BoolKind:
		return v.flag&flagTrue != 0
	case StringKind:
		return v.s
	case NumberKind:
		return json.Number(v.s)
	default:
		return nil
	}
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
