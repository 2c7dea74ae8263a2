// Package fileuri turns file: URIs into paths and back, in one place, because
// editors write them in many ways: percent-encoded or not, with a line or a
// range behind them, with Windows drives and network shares (RFC 8089 and its
// appendices, and what clients really send).
package fileuri

import (
	"path"
	"runtime"
	"strconv"
	"strings"
)

const windows = runtime.GOOS == "windows"

// Ref is a place in a file.
type Ref struct {
	// Path is absolute, in the form of this system, and not cleaned.
	Path string
	// Line and End are the first and the last line meant, from 1, both included.
	// End is Line when a single line is meant; both are 0 when none is.
	Line, End int
}

// Lines is the range for people: "10", "10-20", "" for none.
func (r Ref) Lines() string {
	switch {
	case r.Line == 0:
		return ""
	case r.End == r.Line:
		return strconv.Itoa(r.Line)
	}
	return strconv.Itoa(r.Line) + "-" + strconv.Itoa(r.End)
}

// Parse reads a file: URI. ok is false for anything else, and for one that names
// no absolute path of this system, such as a file of another host: then the URI
// is best kept as it is.
//
// The lines come from a fragment (#L10, #L10-20, #L10-L20, #L10:20, #10) or from
// the end of the path (:10, :10-20, :10:5 with a column), where the colon stands
// unescaped. A query is passed over; it names a symbol or the like.
func Parse(uri string) (ref Ref, ok bool) { return parse(uri, windows) }

// Format writes the URI of an absolute path. Parse reads back exactly that path.
func Format(p string) string { return format(p, windows) }

func parse(uri string, windows bool) (ref Ref, ok bool) {
	if len(uri) < 5 || !strings.EqualFold(uri[:5], "file:") {
		return ref, false
	}
	rest, fragment, _ := strings.Cut(uri[5:], "#")
	rest, _, _ = strings.Cut(rest, "?")
	ref.Line, ref.End = fragmentLines(unescape(fragment))
	if fragment == "" {
		rest, ref.Line, ref.End = cutLines(rest)
	}
	host := ""
	if after, has := strings.CutPrefix(rest, "//"); has {
		host, rest = after, ""
		if i := strings.IndexByte(after, '/'); i >= 0 {
			host, rest = after[:i], after[i:]
		}
	}
	p := unescape(rest)
	if strings.IndexByte(p, 0) >= 0 {
		return Ref{}, false
	}
	if windows {
		ref.Path, ok = windowsPath(unescape(host), p)
	} else {
		ref.Path, ok = p, strings.HasPrefix(p, "/") && (host == "" || strings.EqualFold(host, "localhost"))
	}
	if !ok {
		return Ref{}, false
	}
	return ref, true
}

// windowsPath makes a path of what stands behind the scheme, with slashes.
func windowsPath(host, p string) (string, bool) {
	p = strings.ReplaceAll(p, "\\", "/")
	switch {
	case isDrive(host): // file://C:/x has one slash too few
		p = host[:1] + ":" + p
	case host != "" && !strings.EqualFold(host, "localhost"):
		if strings.ContainsAny(host, "/\\\x00") || len(p) < 2 {
			return "", false
		}
		p = "//" + host + p
	case strings.HasPrefix(p, "//") && len(p) > 2 && p[2] != '/': // file:////server/share
	case strings.HasPrefix(p, "/") && isDrive(firstSegment(p[1:])):
		p = p[1:2] + ":" + p[3:]
	case isDrive(firstSegment(p)): // file:C:/x
		p = p[:1] + ":" + p[2:]
	default:
		return "", false
	}
	if len(p) == 2 { // a drive alone is its root
		p += "/"
	}
	return strings.ReplaceAll(p, "/", "\\"), true
}

func firstSegment(p string) string {
	s, _, _ := strings.Cut(p, "/")
	return s
}

// isDrive says whether s is a drive; some writers put a bar for the colon.
func isDrive(s string) bool {
	return len(s) == 2 && (s[1] == ':' || s[1] == '|') && ('a' <= s[0]|0x20 && s[0]|0x20 <= 'z')
}

func format(p string, windows bool) string {
	if windows {
		p = strings.ReplaceAll(p, "\\", "/")
		switch {
		case strings.HasPrefix(p, "//"):
			// The slash between host and path must stay one.
			return "file:" + escape(p)
		case isDrive(firstSegment(p)):
			return "file:///" + p[:1] + ":" + escape(p[2:])
		}
	}
	return "file://" + escape(p)
}

const hexDigits = "0123456789ABCDEF"

// escape writes everything but letters, digits and a few marks as %XX, so that
// neither colons nor number signs of a name are taken for a line.
func escape(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/-._~!$&'()*+,;=@", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

// unescape decodes %XX. A percent sign that begins no such code stands for
// itself: there are clients that encode nothing.
func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// fragmentLines reads L10, L10-20, L10-L20, L10:20, L10C5-L20C3, and the same
// without the letter L.
func fragmentLines(s string) (line, end int) {
	line, rest, ok := lineNumber(s)
	if !ok {
		return 0, 0
	}
	if rest == "" {
		return line, line
	}
	if rest[0] != '-' && rest[0] != ':' {
		return 0, 0
	}
	end, rest, ok = lineNumber(rest[1:])
	if !ok || rest != "" {
		return 0, 0
	}
	return line, max(line, end)
}

// lineNumber reads L10C5 and the like; the column is passed over.
func lineNumber(s string) (n int, rest string, ok bool) {
	if s != "" && s[0]|0x20 == 'l' {
		s = s[1:]
	}
	if n, rest, ok = number(s); !ok {
		return 0, s, false
	}
	if rest != "" && rest[0]|0x20 == 'c' {
		if _, after, ok := number(rest[1:]); ok {
			rest = after
		}
	}
	return n, rest, true
}

// number reads a number from 1 on at the beginning of s.
func number(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(s[:i])
	return n, s[i:], err == nil && n > 0
}

// cutLines takes :10, :10-20 or :10:5 off the end of an encoded path.
func cutLines(p string) (rest string, line, end int) {
	name := path.Base(p)
	at := strings.IndexByte(name, ':')
	if at <= 0 {
		return p, 0, 0
	}
	suffix := name[at+1:]
	line, more, ok := number(suffix)
	if !ok {
		return p, 0, 0
	}
	end = line
	if more != "" {
		second, tail, ok := number(more[1:])
		if !ok || tail != "" || more[0] != '-' && more[0] != ':' {
			return p, 0, 0
		}
		if more[0] == '-' {
			end = max(line, second)
		}
	}
	return p[:len(p)-len(suffix)-1], line, end
}
