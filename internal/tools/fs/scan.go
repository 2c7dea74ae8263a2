package fs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strings"
	"unicode/utf8"
)

// Limits of what read shows.
const (
	maxLines     = 2000      // lines of one window
	maxLineRunes = 2000      // characters of one line
	maxBytes     = 50 << 10  // bytes of one window
	sniffLength  = 8192      // a NUL this early means a binary file
	scanBuffer   = 128 << 10 // bytes read at a time
)

const lineCut = "... (line truncated to 2000 chars)"

// window is what a read found.
type window struct {
	lines   []string // from the offset on
	total   int      // lines of the whole file
	capped  bool     // the byte limit ended the window
	version version
}

// scan reads a whole file in constant memory. It keeps the lines of the window,
// counts all, and takes the version of the bytes that it saw.
func scan(ctx context.Context, r io.Reader, offset, limit int) (window, error) {
	s := scanner{offset: offset, limit: limit, hash: sha256.New()}
	buf := make([]byte, scanBuffer)
	kept := 0 // bytes of an incomplete character at the beginning of buf
	for first := true; ; first = false {
		if ctx.Err() != nil {
			return window{}, context.Cause(ctx)
		}
		// Full reads, so that the first one covers what is sniffed.
		n, err := io.ReadFull(r, buf[kept:])
		fresh := buf[kept : kept+n]
		chunk := buf[:kept+n]
		eof := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !eof {
			return window{}, err
		}
		s.hash.Write(fresh)
		s.size += int64(n)
		if first {
			if bytes.IndexByte(chunk[:min(len(chunk), sniffLength)], 0) >= 0 {
				return window{}, errBinary
			}
			chunk = bytes.TrimPrefix(chunk, []byte(bom))
		}
		rest := 0
		if !eof {
			rest = partialRune(chunk)
		}
		whole := chunk[:len(chunk)-rest]
		if !utf8.Valid(whole) {
			return window{}, errNotUTF8
		}
		s.text(whole)
		if eof {
			return s.finish(), nil
		}
		kept = copy(buf, chunk[len(whole):])
	}
}

// partialRune is the length of a sequence at the end of p that may go on.
func partialRune(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if b := p[len(p)-back]; utf8.RuneStart(b) {
			if utf8.FullRune(p[len(p)-back:]) {
				return 0
			}
			return back
		}
	}
	return 0
}

type scanner struct {
	offset, limit int
	hash          hash.Hash
	size          int64

	w     window
	line  []byte // the current line as far as it can matter
	runes int    // characters in line
	open  bool   // the current line has begun
	bytes int    // bytes of w.lines
}

// text takes the next whole characters of the file.
func (s *scanner) text(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.open = true
			s.collect(p)
			return
		}
		s.collect(p[:i])
		s.end()
		p = p[i+1:]
	}
}

// wanted says whether the current line belongs to the window.
func (s *scanner) wanted() bool {
	n := s.w.total + 1
	return !s.w.capped && n >= s.offset && n-s.offset < s.limit
}

// collect keeps the beginning of the current line: two characters more than
// are shown, since one may be the carriage return of a line ending.
func (s *scanner) collect(p []byte) {
	if !s.wanted() {
		return
	}
	for len(p) > 0 && s.runes < maxLineRunes+2 {
		_, n := utf8.DecodeRune(p)
		s.line = append(s.line, p[:n]...)
		s.runes++
		p = p[n:]
	}
}

func (s *scanner) end() {
	if s.wanted() {
		line := string(s.line)
		runes := s.runes
		if runes < maxLineRunes+2 && strings.HasSuffix(line, "\r") {
			line, runes = line[:len(line)-1], runes-1
		}
		if runes > maxLineRunes {
			line = firstRunes(line, maxLineRunes) + lineCut
		}
		if s.bytes+len(line) > maxBytes && len(s.w.lines) > 0 {
			s.w.capped = true
		} else {
			s.w.lines = append(s.w.lines, line)
			s.bytes += len(line) + 1 // and its line feed
		}
	}
	s.w.total++
	s.line, s.runes, s.open = s.line[:0], 0, false
}

func (s *scanner) finish() window {
	if s.open {
		s.end()
	}
	s.w.version.size = s.size
	s.hash.Sum(s.w.version.hash[:0])
	return s.w
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
