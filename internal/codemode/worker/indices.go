package worker

import (
	"strings"
	"unicode/utf16"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
)

// matchIndices answers the d flag, which goja's engine does not have: the same
// expression is matched once more at the same place by the library that goja
// uses for what Go's own engine cannot do, which tells where groups are. The
// result is an array of [start, end] in UTF-16 units, undefined for a group
// that took no part, with the named groups under "named"; null if the library
// cannot do it.
func (e *Engine) matchIndices(source, flags string, input goja.String, at int) goja.Value {
	options := regexp2.RegexOptions(regexp2.ECMAScript)
	for flag, option := range map[string]regexp2.RegexOptions{
		"i": regexp2.IgnoreCase, "m": regexp2.Multiline, "s": regexp2.Singleline, "u": regexp2.Unicode,
	} {
		if strings.Contains(flags, flag) {
			options |= option
		}
	}
	re, err := regexp2.Compile(source, options)
	if err != nil {
		return goja.Null()
	}
	runes, offsets := runesOf(input)
	start := 0
	for start < len(offsets) && offsets[start] < at {
		start++
	}
	m, err := re.FindRunesMatchStartingAt(runes, start)
	if err != nil || m == nil || offsets[m.RuneIndex] != at {
		return goja.Null()
	}
	vm := e.vm
	var all []any
	named := vm.NewObject()
	for _, g := range m.Groups() {
		var v goja.Value = goja.Undefined()
		if len(g.Captures) > 0 {
			v = vm.NewArray(offsets[g.RuneIndex], offsets[g.RuneIndex+g.RuneLength])
		}
		all = append(all, v)
		if name := g.Name; name != "" && (name[0] < '0' || name[0] > '9') {
			_ = named.Set(name, v)
		}
	}
	out := vm.NewArray(all...)
	_ = out.Set("named", named)
	return out
}

// runesOf splits a text into runes and says at which UTF-16 unit each begins;
// the last entry is the text's length.
func runesOf(s goja.String) (runes []rune, offsets []int) {
	n := s.Length()
	for i := 0; i < n; i++ {
		r := rune(s.CharAt(i))
		offsets = append(offsets, i)
		if utf16.IsSurrogate(r) && i+1 < n {
			if pair := utf16.DecodeRune(r, rune(s.CharAt(i+1))); pair != 0xFFFD {
				r = pair
				i++
			}
		}
		runes = append(runes, r)
	}
	return runes, append(offsets, n)
}
