package record

import (
	"bytes"
	"io"
)

// lines puts bytes together to lines, without those that are too long.
type lines struct {
	take    func(line []byte)
	pending []byte
	skip    bool
}

func (l *lines) add(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if l.skip = l.skip || len(l.pending)+len(part) > maxFrame; !l.skip {
			l.pending = append(l.pending, part...)
		}
		if i < 0 {
			return
		}
		if !l.skip && len(l.pending) > 0 {
			l.take(l.pending)
		}
		l.pending, l.skip = l.pending[:0], false
		p = p[i+1:]
	}
}

type tap struct {
	in    io.Reader
	lines lines
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.lines.add(p[:n])
	return n, err
}

type tapWriter struct {
	out   io.Writer
	lines lines
}

func (t *tapWriter) Write(p []byte) (int, error) {
	// First into the recording: the client may answer before the write returns.
	t.lines.add(p)
	return t.out.Write(p)
}
