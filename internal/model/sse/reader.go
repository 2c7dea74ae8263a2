// Package sse reads server-sent events the way model servers really send them:
// comments while a request waits in a queue, CRLF, a byte order mark, a last
// event without its blank line, and now and then a bare JSON object in between.
package sse

import (
	"bytes"
	"fmt"
	"io"
)

// DefaultLimit bounds one event, in bytes.
const DefaultLimit = 16 << 20

// Event is one event of a stream.
type Event struct {
	// Name is what an event: line said; "" when there was none.
	Name string
	// Data joins the data: lines with line feeds. It is valid until the next
	// call of Next.
	Data []byte
	// Bare says that Data came without the data: prefix: a server that fails
	// midway may write its JSON error into the stream just so.
	Bare bool
}

// Done reports whether the event is the marker that ends a stream of chat
// completions.
func (e Event) Done() bool { return string(bytes.TrimSpace(e.Data)) == "[DONE]" }

// TooLongError says that an event is larger than the reader accepts.
type TooLongError struct {
	// Limit is the bound, in bytes.
	Limit int
}

// Error names the limit.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("an event of the stream is larger than %d bytes", e.Limit)
}

// Reader takes a stream apart into events. It reads no further than what it
// needs for the next event, starts no goroutine and keeps no queue, so a slow
// consumer slows the server down.
type Reader struct {
	r     io.Reader
	limit int

	buf    []byte // unread bytes are buf[start:]
	start  int
	skipLF bool // the last line ended with CR: an LF that follows belongs to it
	begun  bool // the byte order mark has been looked for
	err    error
	data   []byte
}

// NewReader reads r. An event of more than limit bytes is a *[TooLongError];
// 0 or less means [DefaultLimit].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{r: r, limit: limit}
}

var bom = []byte("\xEF\xBB\xBF")

// Next returns the next event that has data. The end of the stream is io.EOF;
// data before it that no blank line ended is returned first. Any other error
// is the underlying reader's, or a *[TooLongError], and stays.
func (r *Reader) Next() (Event, error) {
	var e Event
	r.data = r.data[:0]
	size := 0
	has, bare := false, false
	for {
		line, err := r.readLine()
		if err == io.EOF && len(line) == 0 {
			if has {
				e.Data, e.Bare = r.data, bare
				return e, nil
			}
			return Event{}, io.EOF
		}
		if err != nil && err != io.EOF {
			return Event{}, err
		}
		if len(line) == 0 {
			if has {
				e.Data, e.Bare = r.data, bare
				return e, nil
			}
			e.Name = ""
			continue
		}
		if size += len(line) + 1; size > r.limit {
			r.err = &TooLongError{Limit: r.limit}
			return Event{}, r.err
		}
		field, value, colon := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case colon && len(field) == 0:
			// A comment keeps the connection alive and nothing else.
			size = len(r.data)
		case string(field) == "data":
			if bare {
				// The object before had no blank line of its own; what follows it
				// cannot matter any more than the failure it tells of.
				r.unread(line)
				e.Data, e.Bare = r.data, true
				return e, nil
			}
			if has {
				r.data = append(r.data, '\n')
			}
			r.data, has = append(r.data, value...), true
		case string(field) == "event":
			e.Name = string(value)
		case bare || !has && line[0] == '{':
			r.data = append(append(r.data, line...), '\n')
			has, bare = true, true
		}
	}
}

// unread makes line, which readLine has just returned, the next one again.
func (r *Reader) unread(line []byte) {
	rest := append(append(bytes.Clone(line), '\n'), r.buf[r.start:]...)
	r.buf, r.start, r.skipLF = rest, 0, false
}

// readLine returns the next line without its end: LF, CR or CRLF. The last
// line may have none and then comes with io.EOF. It is valid until the next
// call.
func (r *Reader) readLine() ([]byte, error) {
	for scanned := 0; ; {
		if r.skipLF && r.start < len(r.buf) {
			if r.buf[r.start] == '\n' {
				r.start++
			}
			r.skipLF = false
		}
		if !r.begun && (len(r.buf)-r.start >= len(bom) || r.err != nil) {
			r.begun = true
			if bytes.HasPrefix(r.buf[r.start:], bom) {
				r.start += len(bom)
			}
		}
		rest := r.buf[r.start:]
		if r.begun || !bytes.HasPrefix(bom, rest) {
			if i := bytes.IndexAny(rest[min(scanned, len(rest)):], "\r\n"); i >= 0 {
				i += min(scanned, len(rest))
				r.skipLF = rest[i] == '\r'
				r.start += i + 1
				return rest[:i], nil
			}
			scanned = len(rest)
		}
		if r.err != nil {
			r.start = len(r.buf)
			if r.err == io.EOF {
				return rest, io.EOF
			}
			return nil, r.err
		}
		if len(rest) > r.limit {
			r.err = &TooLongError{Limit: r.limit}
			r.start = len(r.buf)
			return nil, r.err
		}
		r.fill()
	}
}

// fill reads once.
func (r *Reader) fill() {
	if r.start > 0 {
		n := copy(r.buf, r.buf[r.start:])
		r.buf, r.start = r.buf[:n], 0
	}
	if len(r.buf) == cap(r.buf) {
		grown := make([]byte, len(r.buf), max(4096, 2*cap(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	}
	// A reader may return nothing and no error; but not for ever.
	for range 100 {
		n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if err != nil {
			r.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}
