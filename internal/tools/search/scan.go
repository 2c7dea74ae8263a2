package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"
)

const (
	sniffLength = 8 << 10   // a NUL this early means a binary file
	pieceSize   = 256 << 10 // bytes read, or searched between two looks at the context
	maxLine     = 1 << 20   // what is searched of one line
	maxWhole    = 8 << 20   // the largest file that multiline reads

	maxShown = 2000 // bytes of a line that are kept to show
	notUTF8  = "(line is not valid UTF-8)"
)

// wish is what a search wants to know of each file.
type wish struct {
	lines int  // how many matching lines to keep
	any   bool // whether there is a match is enough
}

// hit is a matching line.
type hit struct {
	number int // from 1
	text   string
	cut    bool // text is only the beginning of the line
}

// found is what was found in one file.
type found struct {
	count int // matching lines
	hits  []hit
	note  string // why not all of the file was searched, "" when it was
}

// Notes of files that were not searched, or not wholly.
const (
	noteBinary   = "binary file"
	noteLongLine = "only the beginning of a line longer than 1 MiB was searched"
	noteTooLarge = "larger than the 8 MiB that a multiline search reads"
)

// scanner searches files one after another.
type scanner struct {
	*query
	auto *automaton
	buf  []byte
}

func newScanner(q *query) *scanner {
	return &scanner{query: q, auto: newAutomaton(q.prog), buf: make([]byte, pieceSize)}
}

// file searches one file.
func (s *scanner) file(ctx context.Context, path string, w wish) (found, error) {
	f, err := openFile(path)
	if err != nil {
		return found{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return found{}, err
	} else if !info.Mode().IsRegular() {
		return found{}, errors.New("not a regular file")
	}
	if s.multiline {
		return s.whole(ctx, f, w)
	}
	return s.lines(ctx, f, w)
}

// lines searches line by line, in memory that does not grow with the file.
func (s *scanner) lines(ctx context.Context, r io.Reader, w wish) (found, error) {
	if cap(s.buf) > 2*pieceSize {
		s.buf = make([]byte, pieceSize)
	}
	buf := s.buf[:cap(s.buf)]
	var out found
	number := 1   // of the first line in buf
	kept := 0     // bytes of an incomplete line at the beginning of buf
	drop := false // in the rest of a line that was too long
	for first := true; ; first = false {
		if err := ended(ctx); err != nil {
			return found{}, err
		}
		n, err := io.ReadFull(r, buf[kept:])
		eof := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !eof {
			return found{}, err
		}
		data := buf[:kept+n]
		if first {
			if isBinary(data) {
				return found{note: noteBinary}, nil
			}
			data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
		}
		if drop {
			i := bytes.IndexByte(data, '\n')
			if i < 0 {
				if eof {
					return out, nil
				}
				kept = 0
				continue
			}
			data, drop = data[i+1:], false
			number++
		}
		rest := []byte(nil)
		if !eof {
			end := bytes.LastIndexByte(data, '\n') + 1
			if end == 0 && len(data) < maxLine {
				if len(data) == len(buf) {
					s.buf = make([]byte, min(2*len(buf), maxLine))
					copy(s.buf, data)
					buf = s.buf
				} else {
					copy(buf, data)
				}
				kept = len(data)
				continue
			}
			if end == 0 {
				end, drop = len(data), true
				out.note = noteLongLine
			}
			data, rest = data[:end], data[end:]
		}
		s.piece(data, number, w, &out)
		if eof || w.any && out.count > 0 {
			return out, nil
		}
		number += bytes.Count(data, []byte("\n"))
		kept = copy(buf, rest)
	}
}

func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffLength)], 0) >= 0
}

// piece searches whole lines, of which the first has that number.
func (s *scanner) piece(data []byte, number int, w wish, out *found) {
	counted := 0 // up to here number is right
	for at := 0; at < len(data); {
		begin, end := s.candidate(data, at)
		if begin < 0 {
			return
		}
		at = end + 1
		line := data[begin:end]
		// The automaton has seen the carriage return of the line ending; the
		// line itself has none.
		bare, ok := bytes.CutSuffix(line, []byte("\r"))
		if line = bare; (ok || s.loose) && !s.line.Match(line) {
			continue
		}
		out.count++
		if len(out.hits) < w.lines {
			number += bytes.Count(data[counted:begin], []byte("\n"))
			counted = begin
			out.hits = append(out.hits, newHit(number, line))
		}
		if w.any {
			return
		}
	}
}

// candidate is the next line, from the beginning of a line on, that matches as
// it stands; -1 when there is none.
func (s *scanner) candidate(data []byte, at int) (begin, end int) {
	for at < len(data) {
		if len(s.literal) == 0 {
			c := s.auto.begin()
			i := s.auto.find(&c, data[at:], true)
			if i < 0 {
				return -1, 0
			}
			if at+i == len(data) && data[len(data)-1] == '\n' {
				return -1, 0 // behind the last line ending there is no line
			}
			return lineAt(data, at+i)
		}
		i := bytes.Index(data[at:], s.rare)
		if i < 0 {
			return -1, 0
		}
		begin, end = lineAt(data, at+i)
		if !bytes.Contains(data[begin:end], s.literal) {
			at = end + 1
			continue
		}
		if s.exact {
			return begin, end
		}
		c := s.auto.begin()
		if s.auto.find(&c, data[begin:end], true) >= 0 {
			return begin, end
		}
		at = end + 1
	}
	return -1, 0
}

// lineAt is the line that a place is in; a line ending belongs to its line.
func lineAt(data []byte, at int) (begin, end int) {
	begin = bytes.LastIndexByte(data[:at], '\n') + 1
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return begin, at + i
	}
	return begin, len(data)
}

// newHit keeps what is shown of a line.
func newHit(number int, line []byte) hit {
	h := hit{number: number}
	if !utf8.Valid(line) {
		h.text = notUTF8
		return h
	}
	if h.cut = len(line) > maxShown; h.cut {
		line = trimPartial(line[:maxShown])
	}
	h.text = string(line)
	return h
}

// trimPartial takes an incomplete character off the end.
func trimPartial(p []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if b := p[len(p)-back]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-back:]) {
				return p[:len(p)-back]
			}
			break
		}
	}
	return p
}
