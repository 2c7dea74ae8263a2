package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge is returned for a frame whose announced payload exceeds the
// reader's limit; nothing of it has been read into memory.
var ErrTooLarge = errors.New("frame exceeds the size limit")

// ErrMalformed is wrapped by every error about a payload's content.
var ErrMalformed = errors.New("malformed frame")

// AppendHeader appends the header of a frame with a payload of n bytes.
func AppendHeader(dst []byte, k Kind, n int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	return append(dst, byte(k))
}

// AppendFrame appends a whole frame. The payload must not exceed MaxPayload.
func AppendFrame(dst []byte, k Kind, payload []byte) []byte {
	return append(AppendHeader(dst, k, len(payload)), payload...)
}

// Reader takes frames off a stream. It is not safe for concurrent use.
type Reader struct {
	r      io.Reader
	limit  int
	header [headerSize]byte
}

// NewReader returns a Reader that refuses payloads above limit bytes (capped at
// MaxPayload). r should be buffered.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: r, limit: min(max(limit, 0), MaxPayload)}
}

// firstChunk bounds what is allocated on the word of a header alone: a longer
// payload grows as its bytes really come.
const firstChunk = 1 << 20

// Next reads one frame. The payload belongs to the caller. At a clean end of
// the stream it returns io.EOF; inside a frame io.ErrUnexpectedEOF.
func (r *Reader) Next() (Kind, []byte, error) {
	if _, err := io.ReadFull(r.r, r.header[:]); err != nil {
		return 0, nil, err
	}
	n, k, err := parseHeader(r.header[:], r.limit)
	if err != nil {
		return 0, nil, err
	}
	payload := make([]byte, min(n, firstChunk))
	if _, err := io.ReadFull(r.r, payload); err != nil {
		return 0, nil, noEOF(err)
	}
	for len(payload) < n {
		more := min(n-len(payload), len(payload))
		payload = append(payload, make([]byte, more)...)
		if _, err := io.ReadFull(r.r, payload[len(payload)-more:]); err != nil {
			return 0, nil, noEOF(err)
		}
	}
	return k, payload, nil
}

// Split takes the first whole frame off buf. ok is false when buf does not yet
// hold one; need is then how many bytes it takes at least.
func Split(buf []byte, limit int) (k Kind, payload, rest []byte, need int, ok bool, err error) {
	if len(buf) < headerSize {
		return 0, nil, buf, headerSize, false, nil
	}
	n, k, err := parseHeader(buf, limit)
	if err != nil {
		return 0, nil, buf, 0, false, err
	}
	if len(buf) < headerSize+n {
		return 0, nil, buf, headerSize + n, false, nil
	}
	return k, buf[headerSize : headerSize+n], buf[headerSize+n:], 0, true, nil
}

func parseHeader(h []byte, limit int) (int, Kind, error) {
	n := binary.BigEndian.Uint32(h)
	k := Kind(h[4])
	if k < KindRun || k > KindDone {
		return 0, 0, fmt.Errorf("%w: unknown kind %d", ErrMalformed, byte(k))
	}
	if uint64(n) > uint64(limit) {
		return 0, 0, fmt.Errorf("%w: a %s frame of %d bytes", ErrTooLarge, k, n)
	}
	return int(n), k, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
