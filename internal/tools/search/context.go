package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
)

// lineCut ends a line of which not everything is shown.
const lineCut = " (line truncated)"

// surroundings reads the lines around matching ones, as they are shown, by
// number. The file may have changed since it was searched; then these are the
// lines that it has now.
func surroundings(ctx context.Context, path string, hits []hit, before, after int) (map[int]string, error) {
	if before == 0 && after == 0 {
		return nil, nil
	}
	f, err := openFile(path)
	if err != nil {
		return nil, nil //nolint:nilerr // gone by now: there is nothing around
	}
	defer f.Close()
	near := make(map[int]string)
	r := bufio.NewReaderSize(f, 64<<10)
	var line []byte
	for number, at := 1, 0; ; {
		for at < len(hits) && number > hits[at].number+after {
			at++
		}
		if at == len(hits) {
			return near, nil
		}
		// A part of a line when it is longer than the buffer.
		part, err := r.ReadSlice('\n')
		if room := maxShown + 2 - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			if ended(ctx) != nil {
				return nil, ended(ctx)
			}
			continue
		}
		if number%1024 == 0 && ended(ctx) != nil {
			return nil, ended(ctx)
		}
		if number >= hits[at].number-before && len(line) > 0 {
			near[number] = shownLine(line, number == 1)
		}
		if err != nil {
			return near, nil
		}
		line = line[:0]
		number++
	}
}

func shownLine(line []byte, first bool) string {
	if first {
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	long := len(line) > maxShown+1 && line[len(line)-1] != '\n'
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if long {
		line = trimPartial(line)
	}
	h := newHit(0, line)
	if h.cut {
		h.text += lineCut
	}
	return h.text
}
