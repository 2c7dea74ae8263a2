package render

import (
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// StringBytes returns how many bytes the JSON of a string takes, quotes and
// escapes included, and false once that exceeds the limit (C6.5). It reads no
// further than the limit. Surrogates without a partner, which jsonvalue keeps
// in three bytes, are escaped in JSON and count six.
func StringBytes(s string, limit int) (int, bool) {
	n := 2
	if n > limit {
		return 0, false
	}
	for i := 0; i < len(s); {
		size, cost := character(s[i:])
		if n += cost; n > limit {
			return 0, false
		}
		i += size
	}
	return n, true
}

// TruncateString returns the longest prefix of whole characters whose JSON
// takes no more than limit bytes (C6.5), "" if even the empty string does not fit.
func TruncateString(s string, limit int) string {
	n := 2
	for i := 0; i < len(s); {
		size, cost := character(s[i:])
		if n += cost; n > limit {
			return s[:i]
		}
		i += size
	}
	return s
}

// character returns the length of the first character of a string and what its
// JSON takes.
func character(s string) (size, cost int) {
	switch c := s[0]; {
	case c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t':
		return 1, 2
	case c < ' ':
		return 1, len(`\u0000`)
	case c < utf8.RuneSelf:
		return 1, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r != utf8.RuneError || size > 1:
		return size, size
	case len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80:
		return 3, len(`\ud800`)
	default:
		return 1, len("\uFFFD") // what any encoder makes of a stray byte
	}
}

// ValueBytes returns how many bytes JSON.stringify makes of a value, without
// making them, and false once that exceeds the limit. Undefined takes none.
func ValueBytes(v jsonvalue.Value, limit int) (int, bool) {
	n := 0
	var stack []frame
	add := func(v jsonvalue.Value) bool {
		switch v.Kind() {
		case jsonvalue.Undefined:
		case jsonvalue.StringKind:
			s, _ := v.Str()
			size, ok := StringBytes(s, limit-n)
			n += size
			return ok
		case jsonvalue.ArrayKind, jsonvalue.ObjectKind:
			n += len("[]") + max(v.Len()-1, 0) // brackets and commas
			stack = append(stack, frame{v: v})
		default:
			n += len(v.Canonical())
		}
		return n <= limit
	}
	if !add(v) {
		return 0, false
	}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next == f.v.Len() {
			stack = stack[:len(stack)-1]
			continue
		}
		i := f.next
		f.next++
		var x jsonvalue.Value
		if f.v.Kind() == jsonvalue.ArrayKind {
			x = f.v.At(i)
		} else {
			m := f.v.MemberAt(i)
			size, ok := StringBytes(m.Key, limit-n)
			if n += size + len(":"); !ok {
				return 0, false
			}
			x = m.Value
		}
		if !add(x) {
			return 0, false
		}
	}
	return n, true
}
