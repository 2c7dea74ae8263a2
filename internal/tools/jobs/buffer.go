package jobs

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	// keptUnread is how much output waits in memory to be read; of more the end
	// is kept.
	keptUnread = 64_000
	// keptLast is how much of its output the end of a job repeats.
	keptLast = 16_000
)

// buffer keeps a job's output: what was not read yet, the end of everything, and
// the whole in a file.
type buffer struct {
	spool
	unread ring
	tail   ring
}

func (b *buffer) write(p []byte) {
	b.unread.write(p, keptUnread)
	b.tail.write(p, keptLast)
	b.spool.write(p)
}

// read takes what was not read yet; lost says that its beginning is missing.
func (b *buffer) read() (text string, lost bool) {
	text, lost = b.unread.text()
	b.unread = ring{}
	return text, lost
}

// peek is what waits to be read.
func (b *buffer) peek() []byte { return bytes.Clone(b.unread.data) }

// last is the end of the output; cut says that it is not all of it.
func (b *buffer) last() (text string, cut bool) { return b.tail.text() }

// ring is the end of a stream, up to twice the limit while it grows.
type ring struct {
	data  []byte
	limit int
	lost  bool
}

func (r *ring) write(p []byte, limit int) {
	r.limit = limit
	if over := len(p) - limit; over > 0 {
		p, r.lost = p[over:], true
	}
	r.data = append(r.data, p...)
	if len(r.data) > 2*limit {
		r.cut()
	}
}

func (r *ring) cut() {
	if over := len(r.data) - r.limit; over > 0 {
		r.lost = true
		r.data = r.data[:copy(r.data, r.data[over:])]
	}
}

// text is the end of the stream in whole characters.
func (r *ring) text() (string, bool) {
	r.cut()
	p := r.data
	if r.lost {
		for i := 0; i < utf8.UTFMax && len(p) > 0 && !utf8.RuneStart(p[0]); i++ {
			p = p[1:]
		}
	}
	return strings.ToValidUTF8(string(p), "\uFFFD"), r.lost
}
