package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime/debug"
)

// errLineTooLong says that a line passed the ceiling and was skipped up to its
// newline.
var errLineTooLong = errors.New("line too long")

var byteOrderMark = []byte{0xEF, 0xBB, 0xBF}

// lineReader cuts a stream into lines of at most max bytes.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, maxLine int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: maxLine}
}

// next returns the next line that is not blank, without its line end, a leading
// byte order mark and surrounding blanks. The bytes belong to the caller. A
// last line without a newline counts. errLineTooLong leaves the reader at the
// start of the next line; any other error is final.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.raw()
		if err != nil {
			return nil, err
		}
		line = bytes.Trim(line, " \t\r\n")
		line = bytes.Trim(bytes.TrimPrefix(line, byteOrderMark), " \t\r\n")
		if len(line) > 0 {
			return line, nil
		}
	}
}

// raw reads a line in pieces and joins them once it is known to be one: a buffer
// that grows by doubling would cost a line that is skipped in the end three times
// the ceiling.
func (l *lineReader) raw() ([]byte, error) {
	var parts [][]byte
	size := 0
	for {
		part, err := l.r.ReadSlice('\n')
		if size+len(bytes.TrimRight(part, "\r\n")) > l.max {
			parts = nil
			err = l.skip(err)
			if size > givenBack {
				debug.FreeOSMemory() // rare, and the next line may be as long
			}
			return nil, err
		}
		parts = append(parts, bytes.Clone(part))
		size += len(part)
		switch {
		case err == nil:
			return join(parts), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case size > 0 && errors.Is(err, io.EOF):
			return join(parts), nil
		default:
			return nil, err
		}
	}
}

// givenBack is how many bytes of a skipped line are worth returning to the
// system at once.
const givenBack = 4 << 20

func join(parts [][]byte) []byte {
	if len(parts) == 1 {
		return parts[0]
	}
	return bytes.Join(parts, nil)
}

// skip drops the rest of a line whose last part was read with err, holding no
// more than the reader's own buffer.
func (l *lineReader) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	// An end of input comes again with the next read.
	return errLineTooLong
}
