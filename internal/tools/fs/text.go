package fs

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"
)

// bom is the byte-order mark some programs put before UTF-8 text.
const bom = "\uFEFF"

// checkText refuses what cannot be changed as text without damage.
func checkText(data []byte) error {
	if bytes.IndexByte(data, 0) >= 0 {
		return errBinary
	}
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	return nil
}

// lfText is text as the model sees and writes it: without a byte-order mark,
// and with every line ending a line feed.
func lfText(s string) string { return toLF(strings.TrimPrefix(s, bom)) }

func toLF(s string) string {
	if !strings.Contains(s, "\r\n") {
		return s
	}
	return strings.ReplaceAll(s, "\r\n", "\n")
}

// view is the text of a file with every line ending a line feed, which knows
// the way back to the bytes.
type view struct {
	bytes string // the file, byte-order mark included
	start int    // where the text begins in bytes
	text  string // what is matched
	crlf  []int  // positions in text of the line feeds that are CR LF in bytes
}

func newView(data string) *view {
	v := &view{bytes: data}
	if strings.HasPrefix(data, bom) {
		v.start = len(bom)
	}
	body := data[v.start:]
	if !strings.Contains(body, "\r\n") {
		v.text = body
		return v
	}
	var b strings.Builder
	b.Grow(len(body))
	for {
		i := strings.Index(body, "\r\n")
		if i < 0 {
			break
		}
		b.WriteString(body[:i])
		v.crlf = append(v.crlf, b.Len())
		b.WriteByte('\n')
		body = body[i+2:]
	}
	b.WriteString(body)
	v.text = b.String()
	return v
}

// offset gives the position in bytes of a position in text. Between a CR and
// its LF there is none: a span starts before both or ends after both.
func (v *view) offset(at int) int {
	return v.start + at + sort.SearchInts(v.crlf, at)
}

// isCRLF says whether the line feed at a position in text is CR LF in bytes.
func (v *view) isCRLF(at int) bool {
	i := sort.SearchInts(v.crlf, at)
	return i < len(v.crlf) && v.crlf[i] == at
}

// matches are the positions of old in the text, from the left, not overlapping.
func (v *view) matches(old string) []int {
	var found []int
	for at := 0; ; {
		i := strings.Index(v.text[at:], old)
		if i < 0 {
			return found
		}
		found = append(found, at+i)
		at += i + len(old)
	}
}

// splice replaces old by new at the given positions and keeps every byte
// outside of them. old and new have line feeds only.
func (v *view) splice(at []int, old, new string) string {
	var b strings.Builder
	b.Grow(len(v.bytes) + len(at)*(len(new)-len(old)+8))
	last := 0
	for _, start := range at {
		end := start + len(old)
		b.WriteString(v.bytes[last:v.offset(start)])
		b.WriteString(v.restore(start, old, new))
		last = v.offset(end)
	}
	b.WriteString(v.bytes[last:])
	return b.String()
}

// restore gives new the line endings of the place it goes to. Lines that it
// shares with what it replaces, at the beginning and at the end, keep their
// own; the others follow the majority of the replaced lines, or else the
// nearest line ending.
func (v *view) restore(start int, old, new string) string {
	if len(v.crlf) == 0 || !strings.Contains(new, "\n") {
		return new
	}
	head := commonPrefix(old, new)
	tail := min(commonSuffix(old, new), min(len(old), len(new))-head)
	other := v.ending(start, start+len(old))
	var b strings.Builder
	b.Grow(len(new) + 16)
	for i := range len(new) {
		if new[i] == '\n' {
			crlf := other
			switch {
			case i < head:
				crlf = v.isCRLF(start + i)
			case i >= len(new)-tail:
				crlf = v.isCRLF(start + len(old) - (len(new) - i))
			}
			if crlf {
				b.WriteByte('\r')
			}
		}
		b.WriteByte(new[i])
	}
	return b.String()
}

// ending says whether new lines in a span of the text end in CR LF.
func (v *view) ending(start, end int) bool {
	from, to := sort.SearchInts(v.crlf, start), sort.SearchInts(v.crlf, end)
	if all := strings.Count(v.text[start:end], "\n"); all > 0 {
		return 2*(to-from) > all || 2*(to-from) == all && v.isCRLF(start+strings.IndexByte(v.text[start:end], '\n'))
	}
	if i := strings.IndexByte(v.text[end:], '\n'); i >= 0 {
		return v.isCRLF(end + i)
	}
	if i := strings.LastIndexByte(v.text[:start], '\n'); i >= 0 {
		return v.isCRLF(i)
	}
	return false
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
