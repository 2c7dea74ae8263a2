package transpile

import (
	"bytes"
)

// shiftMap corrects a source map for how it is used. The wrapper adds one line
// before the model's text, and goja asks for a column one too high and takes
// the answer, counted from zero, for one counted from one. Three shifts make
// positions right everywhere, also in the stacks a program prints itself:
//
//   - source lines by -1 and source columns by +1: both are stored as the
//     difference to the entry before, so changing the first entry moves all;
//   - generated columns by +1: these start anew on each line, so the first
//     entry of every line changes.
//
// A map that does not look as expected is dropped: positions are then those of
// the generated code, which is better than wrong ones.
func shiftMap(m []byte) []byte {
	key := []byte(`"mappings": "`)
	start := bytes.Index(m, key)
	if start < 0 {
		return nil
	}
	start += len(key)
	end := bytes.IndexByte(m[start:], '"')
	if end < 0 {
		return nil
	}
	mappings := m[start : start+end]
	out := make([]byte, 0, len(m)+len(mappings)/8+16)
	out = append(out, m[:start]...)
	lineStart, first := true, true
	for i := 0; i < len(mappings); {
		c := mappings[i]
		if c == ';' || c == ',' {
			lineStart = lineStart || c == ';'
			out = append(out, c)
			i++
			continue
		}
		column, n := readVLQ(mappings[i:])
		if n == 0 {
			return nil
		}
		i += n
		if lineStart {
			column++
			lineStart = false
		}
		out = appendVLQ(out, column)
		if first && i < len(mappings) && mappings[i] != ',' && mappings[i] != ';' {
			first = false
			source, a := readVLQ(mappings[i:])
			line, b := readVLQ(mappings[i+a:])
			col, c := readVLQ(mappings[i+a+b:])
			if a == 0 || b == 0 || c == 0 {
				return nil
			}
			i += a + b + c
			out = appendVLQ(appendVLQ(appendVLQ(out, source), line-1), col+1)
		}
		for i < len(mappings) && mappings[i] != ',' && mappings[i] != ';' {
			out = append(out, mappings[i])
			i++
		}
	}
	return append(out, m[start+end:]...)
}

const vlqDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

var vlqValues = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range []byte(vlqDigits) {
		t[c] = int8(i)
	}
	return t
}()

// readVLQ reads one number and says how many digits it took; none: no number.
func readVLQ(b []byte) (value, n int) {
	var bits uint64
	for shift := 0; n < len(b) && shift <= 30; shift += 5 {
		d := vlqValues[b[n]]
		if d < 0 {
			return 0, 0
		}
		n++
		bits |= uint64(d&31) << shift
		if d&32 == 0 {
			value = int(bits >> 1)
			if bits&1 != 0 {
				value = -value
			}
			return value, n
		}
	}
	return 0, 0
}

func appendVLQ(dst []byte, v int) []byte {
	bits := uint64(v) << 1
	if v < 0 {
		bits = uint64(-v)<<1 | 1
	}
	for {
		d := bits & 31
		if bits >>= 5; bits == 0 {
			return append(dst, vlqDigits[d])
		}
		dst = append(dst, vlqDigits[d|32])
	}
}
