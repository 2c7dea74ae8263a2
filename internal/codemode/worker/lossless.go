package worker

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// maxJSONDepth bounds the nesting of values that cross, either way. It is far
// above what the product promises and below what the stack can hold.
const maxJSONDepth = 50_000

// writer turns a value of the program into JSON if that loses nothing: only
// null, booleans, finite numbers but -0, strings, plain arrays without holes or
// extra properties, and plain objects whose own properties are all enumerable
// strings. Getters run once; toJSON is not honoured. It must be used on the
// VM's goroutine; getters and proxies may throw through it.
type writer struct {
	e     *Engine
	limit uint64
	out   []byte

	lossy   string // why the value cannot cross
	where   string // the path to what cannot
	tooLong bool

	path []segment
	open map[*goja.Object]struct{} // what is being written: a cycle if met again
}

type segment struct {
	key   string
	index int
	array bool
}

// refuse records the first reason. It returns false, as do the methods below
// once the writer has given up.
func (w *writer) refuse(format string, args ...any) bool {
	if w.lossy == "" {
		w.lossy = fmt.Sprintf(format, args...)
		var b strings.Builder
		for i, s := range w.path[:min(len(w.path), 20)] {
			switch {
			case s.array:
				fmt.Fprintf(&b, "[%d]", s.index)
			case isIdentifier(s.key):
				b.WriteString("." + s.key)
			default:
				fmt.Fprintf(&b, "[%q]", s.key)
			}
			if i == 19 {
				b.WriteString("…")
			}
		}
		w.where = b.String()
	}
	return false
}

// describe says what cannot cross, for whoever has to correct the program.
func (w *writer) describe(root string) string {
	if w.lossy == "" {
		return ""
	}
	if w.where == "" {
		return root + " " + w.lossy
	}
	return root + " at " + w.where + " " + w.lossy
}

// whole writes a whole value. It is false when the value cannot cross, or is
// longer than the limit.
func (w *writer) whole(v goja.Value) bool {
	ok := w.value(v, 0)
	if ok && uint64(len(w.out)) > w.limit { // the last part of it was
		w.tooLong = true
	}
	return ok && !w.tooLong
}

func (w *writer) value(v goja.Value, depth int) bool {
	if uint64(len(w.out)) > w.limit {
		w.tooLong = true
		return false
	}
	if v == nil || goja.IsUndefined(v) {
		return w.refuse("is undefined")
	}
	if goja.IsNull(v) {
		w.out = append(w.out, "null"...)
		return true
	}
	switch v := v.(type) {
	case *goja.Object:
		return w.object(v, depth)
	case goja.String:
		w.out = appendString(w.out, v)
		return true
	case *goja.Symbol:
		return w.refuse("is a symbol")
	}
	switch x := v.Export().(type) {
	case bool:
		w.out = strconv.AppendBool(w.out, x)
	case int64:
		w.out = strconv.AppendInt(w.out, x, 10)
	case float64:
		switch {
		case math.IsNaN(x), math.IsInf(x, 0):
			return w.refuse("is %v, which JSON has no number for", v)
		case x == 0 && math.Signbit(x):
			return w.refuse("is -0, which JSON cannot keep")
		}
		w.out = append(w.out, v.String()...)
	default:
		if goja.IsBigInt(v) {
			return w.refuse("is a BigInt; convert it with Number(x) or String(x)")
		}
		return w.refuse("is not a JSON value")
	}
	return true
}

func (w *writer) object(o *goja.Object, depth int) bool {
	if depth >= maxJSONDepth {
		return w.refuse("nests more than %d levels deep", maxJSONDepth)
	}
	if _, ok := w.open[o]; ok {
		return w.refuse("is a cycle: it contains itself")
	}
	array, reason := w.plain(o)
	if reason != "" {
		return w.refuse("%s", reason)
	}
	if w.open == nil {
		w.open = map[*goja.Object]struct{}{}
	}
	w.open[o] = struct{}{}
	defer delete(w.open, o)
	keys := o.Keys()
	hidden := len(o.GetOwnPropertyNames()) - len(keys)
	if array {
		return w.elements(o, keys, hidden, depth)
	}
	if hidden != 0 || len(o.Symbols()) != 0 {
		return w.refuse("has properties that JSON cannot show (hidden, or named by a symbol)")
	}
	w.out = append(w.out, '{')
	for i, key := range keys {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(appendGoString(w.out, key), ':')
		w.path = append(w.path, segment{key: key})
		if !w.value(o.Get(key), depth+1) {
			return false
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.out = append(w.out, '}')
	return true
}

func (w *writer) elements(o *goja.Object, keys []string, hidden, depth int) bool {
	length := o.Get("length").ToInteger()
	if int64(len(keys)) < length {
		return w.refuse("is an array with holes")
	}
	// Index keys come first and in order, so the last one tells about all.
	if int64(len(keys)) != length || hidden != 1 || len(o.Symbols()) != 0 ||
		length > 0 && keys[length-1] != strconv.FormatInt(length-1, 10) {
		return w.refuse("is an array with other properties than its elements")
	}
	w.out = append(w.out, '[')
	for i, key := range keys {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.path = append(w.path, segment{index: i, array: true})
		if !w.value(o.Get(key), depth+1) {
			return false
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.out = append(w.out, ']')
	return true
}

// plain says whether an object is an array or a plain object, or why it is
// neither.
func (w *writer) plain(o *goja.Object) (array bool, reason string) {
	in := &w.e.intrinsics
	proto := o.Prototype()
	switch class := o.ClassName(); class {
	case "Array":
		if proto != in.arrayProto {
			return true, "is an instance of a subclass of Array; copy it with [...x]"
		}
		return true, ""
	case "Object":
		switch proto {
		case nil, in.objectProto:
			return false, ""
		case in.promiseProto:
			return false, "is a Promise; await it"
		case in.mapProto:
			return false, "is a Map; use Object.fromEntries(x) or [...x]"
		case in.setProto:
			return false, "is a Set; use [...x]"
		}
		if name := constructorName(o); name != "" {
			return false, "is an instance of " + name + ", not a plain object"
		}
		return false, "is not a plain object"
	case "Function":
		return false, "is a function"
	case "Date":
		return false, "is a Date; use x.toISOString()"
	case "Map":
		return false, "is a Map; use Object.fromEntries(x) or [...x]"
	case "Set":
		return false, "is a Set; use [...x]"
	case "Promise":
		return false, "is a Promise; await it"
	case "Error":
		return false, "is an Error; use x.message or String(x)"
	default:
		return false, "is of class " + class + ", not a plain object or array"
	}
}

// constructorName is the name of what made an object, if data says so.
func constructorName(o *goja.Object) string {
	for p := o; p != nil; p = p.Prototype() {
		c, ok := p.Get("constructor").(*goja.Object)
		if !ok {
			continue
		}
		if name := c.Get("name"); name != nil {
			return name.String()
		}
	}
	return ""
}

// appendString writes a string as JSON. A lone surrogate, which has no UTF-8,
// becomes an escape; then it is not lost.
func appendString(dst []byte, v goja.String) []byte {
	s := v.String()
	if !strings.ContainsRune(s, utf8.RuneError) {
		return appendGoString(dst, s)
	}
	dst = append(dst, '"')
	for i, n := 0, v.Length(); i < n; i++ {
		c := v.CharAt(i)
		if c >= 0xD800 && c < 0xDC00 && i+1 < n {
			if d := v.CharAt(i + 1); d >= 0xDC00 && d < 0xE000 {
				dst = utf8.AppendRune(dst, 0x10000+(rune(c)-0xD800)<<10+(rune(d)-0xDC00))
				i++
				continue
			}
		}
		if c >= 0xD800 && c < 0xE000 {
			dst = append(dst, fmt.Sprintf(`\u%04x`, c)...)
			continue
		}
		dst = appendEscaped(dst, rune(c))
	}
	return append(dst, '"')
}

func appendGoString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			dst = append(dst, s[from:i]...)
			dst = appendEscaped(dst, rune(c))
			from = i + 1
		}
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	}
	if r < 0x20 {
		return append(dst, fmt.Sprintf(`\u%04x`, r)...)
	}
	return utf8.AppendRune(dst, r)
}

func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r == '$' || r|0x20 >= 'a' && r|0x20 <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
