package search

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"unicode/utf8"
)

// quick is how much text one look with the regular expression may have before it
// must be able to stop in between.
const quick = 64 << 10

// whole searches a file as one text. Every line that a match touches counts.
func (s *scanner) whole(ctx context.Context, f *os.File, w wish) (found, error) {
	data, err := s.readWhole(ctx, f)
	if err != nil {
		return found{}, err
	}
	switch {
	case isBinary(data):
		return found{note: noteBinary}, nil
	case len(data) > maxWhole:
		return found{note: noteTooLarge}, nil
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if len(data) == 0 || len(s.literal) > 0 && !bytes.Contains(data, s.literal) {
		return found{}, nil
	}
	if ok, err := s.anywhere(ctx, data); !ok || err != nil {
		return found{}, err
	}

	var out found
	number, counted := 1, 0 // number is right for the line of counted
	touched := 0            // lines before this place are dealt with
	behind := -1            // where the last match did
	for at := 0; at <= len(data); {
		begin, end, err := s.match(ctx, data, at)
		if err != nil || begin < 0 {
			return out, err
		}
		last := max(begin, end-1) // the last byte that is part of it
		if begin == end && begin == behind {
			last = -1 // an empty match right behind another is none
		}
		behind = end
		for p := max(begin, touched); p <= last && hasLine(data, p); {
			lineBegin, lineEnd := lineAt(data, p)
			out.count++
			if len(out.hits) < w.lines {
				number += bytes.Count(data[counted:lineBegin], []byte("\n"))
				counted = lineBegin
				out.hits = append(out.hits, newHit(number, bytes.TrimSuffix(data[lineBegin:lineEnd], []byte("\r"))))
			}
			p = lineEnd + 1
			touched = p
		}
		if w.any && out.count > 0 {
			return out, nil
		}
		at = end
		if end == begin {
			// More of the same in a line that counts already changes nothing,
			// but a longer match might begin in it; only the next character is
			// passed over. A byte that is part of none counts as one.
			_, width := utf8.DecodeRune(data[at:])
			at += max(width, 1)
		}
	}
	return out, nil
}

// hasLine says whether a place is in a line: behind the last line ending there
// is none.
func hasLine(data []byte, at int) bool {
	return at < len(data) || at == len(data) && data[at-1] != '\n'
}

func (s *scanner) readWhole(ctx context.Context, r io.Reader) ([]byte, error) {
	n := 0
	for {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		if n == len(s.buf) {
			if n > maxWhole {
				return s.buf, nil
			}
			s.buf = append(s.buf, make([]byte, min(len(s.buf), maxWhole+1-len(s.buf)))...)
		}
		m, err := r.Read(s.buf[n:min(n+pieceSize, len(s.buf))])
		n += m
		if err == io.EOF || n > maxWhole {
			return s.buf[:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// anywhere says whether there is a match at all.
func (s *scanner) anywhere(ctx context.Context, data []byte) (bool, error) {
	c := s.auto.begin()
	for {
		if err := ended(ctx); err != nil {
			return false, err
		}
		n := min(len(data), pieceSize)
		for back := 0; back < utf8.UTFMax && n < len(data) && !utf8.RuneStart(data[n]); back++ {
			n--
		}
		last := n == len(data)
		if s.auto.find(&c, data[:n], last) >= 0 {
			return true, nil
		}
		if last {
			return false, nil
		}
		data = data[n:]
	}
}

// match is the first match that begins at or behind a place, -1 when there is
// none.
func (s *scanner) match(ctx context.Context, data []byte, at int) (begin, end int, err error) {
	if at == 0 {
		loc, err := search(ctx, s.first, data)
		if loc == nil || err != nil {
			return -1, 0, err
		}
		return loc[0], loc[1], nil
	}
	// One character more is looked at, for what the expression demands of it.
	_, width := utf8.DecodeLastRune(data[:at])
	from := at - width
	loc, err := search(ctx, s.next, data[from:])
	if loc == nil || err != nil {
		return -1, 0, err
	}
	return from + loc[2], from + loc[3], nil
}

func search(ctx context.Context, re *regexp.Regexp, data []byte) ([]int, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	if len(data) <= quick {
		return re.FindSubmatchIndex(data), nil
	}
	loc := re.FindReaderSubmatchIndex(&stoppable{ctx: ctx, data: data})
	return loc, ended(ctx)
}

// stoppable is text that ends when its context does.
type stoppable struct {
	ctx  context.Context
	data []byte
	at   int
	read int
}

// ReadRune implements io.RuneReader.
func (s *stoppable) ReadRune() (rune, int, error) {
	if s.read++; s.read%1024 == 0 && s.ctx.Err() != nil || s.at >= len(s.data) {
		return 0, 0, io.EOF
	}
	if b := s.data[s.at]; b < utf8.RuneSelf {
		s.at++
		return rune(b), 1, nil
	}
	r, n := utf8.DecodeRune(s.data[s.at:])
	s.at += n
	return r, n, nil
}
