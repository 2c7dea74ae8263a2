//go:build unix

package worker

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// pipeConn speaks over the process's own stdin and stdout with plain system
// calls. The VM's goroutine itself waits in poll, so a tool call costs no
// switch between goroutines here.
type pipeConn struct {
	in, out int
	buf     []byte // received and not yet taken
	chunk   []byte
	mu      sync.Mutex // serialises writers
}

func newPipeConn(in, out *os.File) *pipeConn {
	return &pipeConn{in: int(in.Fd()), out: int(out.Fd()), chunk: make([]byte, 64<<10)} // Fd makes them blocking
}

// Send implements Conn.
func (c *pipeConn) Send(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(payload) <= 4<<10 {
		return c.write(wire.AppendFrame(make([]byte, 0, len(payload)+8), kind, payload))
	}
	if err := c.write(wire.AppendHeader(nil, kind, len(payload))); err != nil {
		return err
	}
	return c.write(payload)
}

func (c *pipeConn) write(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(c.out, b)
		switch err {
		case nil:
			b = b[n:]
		case syscall.EINTR:
		case syscall.EAGAIN:
			if err := poll(c.out, unix.POLLOUT, time.Time{}); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// Recv implements Conn.
func (c *pipeConn) Recv(deadline time.Time) (wire.Kind, []byte, error) {
	for {
		kind, payload, rest, need, ok, err := wire.Split(c.buf, wire.MaxPayload)
		if err != nil {
			return 0, nil, err
		}
		if ok {
			out := append([]byte(nil), payload...)
			c.buf = append(c.buf[:0], rest...)
			return kind, out, nil
		}
		if !deadline.IsZero() {
			if err := poll(c.in, unix.POLLIN, deadline); err != nil {
				return 0, nil, err
			}
		}
		// A large frame is read straight to where it is wanted.
		if need > cap(c.buf) {
			c.buf = append(make([]byte, 0, need), c.buf...)
		}
		n, err := unix.Read(c.in, c.chunk)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if err := poll(c.in, unix.POLLIN, deadline); err != nil {
				return 0, nil, err
			}
		case err != nil:
			return 0, nil, err
		case n == 0:
			return 0, nil, io.EOF
		default:
			c.buf = append(c.buf, c.chunk[:n]...)
		}
	}
}

// orphaned says whether the parent's end of stdin is gone, without reading.
func (c *pipeConn) orphaned() bool {
	fds := []unix.PollFd{{Fd: int32(c.in)}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}

// poll waits for an event until the deadline, if there is one.
func poll(fd int, events int16, deadline time.Time) error {
	for {
		timeout := -1
		if !deadline.IsZero() {
			left := time.Until(deadline)
			if left <= 0 {
				left = 0
			}
			timeout = int((left + time.Millisecond - 1) / time.Millisecond)
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Poll(fds, timeout)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case n > 0:
			return nil
		case !deadline.IsZero() && !time.Now().Before(deadline):
			return ErrDeadline
		}
	}
}
