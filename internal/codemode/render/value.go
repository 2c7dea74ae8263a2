package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// brokenLines is how many levels of containers put their members on lines of
// their own; deeper ones are written without any space (C6.2). It keeps the
// indentation of a deep value from outgrowing the value.
const brokenLines = 5

// Value renders one result (C6.2): a string as it is, anything else as JSON
// with two spaces a level, numbers and the order of keys as JavaScript has them.
// Undefined renders as nothing.
func Value(v jsonvalue.Value) string {
	switch v.Kind() {
	case jsonvalue.Undefined:
		return ""
	case jsonvalue.StringKind:
		s, _ := v.Str()
		return s
	case jsonvalue.ArrayKind, jsonvalue.ObjectKind:
		return string(appendContainer(nil, v))
	default:
		return v.Canonical()
	}
}

// frame is a container being written. The walk keeps these on the heap: how
// deep a value may go is no matter of the goroutine's stack.
type frame struct {
	v     jsonvalue.Value
	order []int // the order of members when it is not the stored one
	next  int
}

func appendContainer(out []byte, v jsonvalue.Value) []byte {
	var stack []frame
	open := func(v jsonvalue.Value) {
		if v.Len() == 0 {
			out = append(out, brackets(v)...)
			return
		}
		out = append(out, brackets(v)[0])
		stack = append(stack, frame{v: v, order: javaScriptOrder(v)})
	}
	open(v)
	for len(stack) > 0 {
		level := len(stack)
		f := &stack[level-1]
		if f.next == f.v.Len() {
			out = lineBreak(out, level, level-1)
			out = append(out, brackets(f.v)[1])
			stack = stack[:level-1]
			continue
		}
		if f.next > 0 {
			out = append(out, ',')
		}
		out = lineBreak(out, level, level)
		i := f.next
		f.next++
		if f.order != nil {
			i = f.order[i]
		}
		var x jsonvalue.Value
		if f.v.Kind() == jsonvalue.ArrayKind {
			x = f.v.At(i)
		} else {
			m := f.v.MemberAt(i)
			out = appendText(out, m.Key)
			out = append(out, ':')
			if level <= brokenLines {
				out = append(out, ' ')
			}
			x = m.Value
		}
		if k := x.Kind(); k == jsonvalue.ArrayKind || k == jsonvalue.ObjectKind {
			open(x)
		} else {
			out = appendScalar(out, x)
		}
	}
	return out
}

func appendScalar(out []byte, v jsonvalue.Value) []byte {
	if s, ok := v.Str(); ok {
		return appendText(out, s)
	}
	return append(out, v.Canonical()...)
}

// appendText writes a JSON string as JavaScript does, which leaves line and
// paragraph separators as they are; texts without any take the way that does
// not allocate.
func appendText(out []byte, s string) []byte {
	if strings.Contains(s, "\u2028") || strings.Contains(s, "\u2029") {
		return append(out, jsonvalue.StringWTF8(s).Canonical()...)
	}
	return jsonvalue.AppendString(out, s)
}

// brackets are the two ends of a container.
func brackets(v jsonvalue.Value) string {
	if v.Kind() == jsonvalue.ArrayKind {
		return "[]"
	}
	return "{}"
}

// lineBreak starts a line inside a container of the given level, if containers
// of that level have lines.
func lineBreak(out []byte, level, columns int) []byte {
	if level > brokenLines {
		return out
	}
	const blanks = "          "
	out = append(out, '\n')
	return append(out, blanks[:2*columns]...)
}

// javaScriptOrder returns the order in which JavaScript lists the members of an
// object: keys that are array indices ascending, then the others as they were
// added. It is nil when that is the stored order, as it is for any value that
// has been through a JavaScript engine.
func javaScriptOrder(v jsonvalue.Value) []int {
	if v.Kind() != jsonvalue.ObjectKind {
		return nil
	}
	type indexed struct {
		at  int
		key uint64
	}
	var indices []indexed
	ordered := true
	at := 0
	for key := range v.Members() {
		if n, ok := arrayIndex(key); ok {
			if len(indices) != at || at > 0 && indices[at-1].key > n {
				ordered = false
			}
			indices = append(indices, indexed{at, n})
		}
		at++
	}
	if ordered {
		return nil
	}
	slices.SortFunc(indices, func(a, b indexed) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	order := make([]int, 0, v.Len())
	isIndex := make([]bool, v.Len())
	for _, x := range indices {
		order = append(order, x.at)
		isIndex[x.at] = true
	}
	for i, is := range isIndex {
		if !is {
			order = append(order, i)
		}
	}
	return order
}

// arrayIndex reports whether JavaScript treats a key as an array index: the
// plain decimal form of 0 to 2^32−2.
func arrayIndex(key string) (uint64, bool) {
	if key == "" || len(key) > 10 || key[0] == '0' && len(key) > 1 || key[0] < '0' || key[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(key, 10, 64)
	return n, err == nil && n < 1<<32-1
}
