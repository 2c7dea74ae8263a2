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
	buf     []byte     // received; what is before taken has been handed out
	taken   int        // only the VM's goroutine touches buf and taken
	mu      sync.Mutex // serialises writers, and guards held
	held    []byte     // frames that wait for company
}

const (
	// readAhead is the room for what one read may bring.
	readAhead = 64 << 10
	// maxHeld is how much is held back at most. A pipe with room for anything has
	// room for this much, so the watchdog can write it without waiting.
	maxHeld = 4 << 10
)

func newPipeConn(in, out *os.File) *pipeConn {
	return &pipeConn{in: int(in.Fd()), out: int(out.Fd())} // Fd makes them blocking
}

// Send implements Conn.
func (c *pipeConn) Send(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(payload) <= maxHeld {
		c.held = wire.AppendFrame(c.held, kind, payload)
		return c.flush()
	}
	c.held = wire.AppendHeader(c.held, kind, len(payload))
	if err := c.flush(); err != nil {
		return err
	}
	return c.write(payload)
}

// Hold implements Conn.
func (c *pipeConn) Hold(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	full := len(c.held)+len(payload)+8 > maxHeld
	if !full {
		c.held = wire.AppendFrame(c.held, kind, payload)
	}
	c.mu.Unlock()
	if full {
		return c.Send(kind, payload)
	}
	return nil
}

// Flush implements Conn.
func (c *pipeConn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flush()
}

// flush writes what is held. The caller holds c.mu.
func (c *pipeConn) flush() error {
	b := c.held
	c.held = c.held[:0]
	return c.write(b)
}

// nudge writes what is held, if that is possible without waiting for anybody:
// the watchdog has other things to look after.
func (c *pipeConn) nudge() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if len(c.held) > 0 && poll(c.out, unix.POLLOUT, time.Unix(1, 0)) == nil {
		_ = c.flush()
	}
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
		kind, payload, rest, need, ok, err := wire.Split(c.buf[c.taken:], wire.MaxPayload)
		if err != nil {
			return 0, nil, err
		}
		if ok {
			return kind, c.take(payload, rest), nil
		}
		if err := c.Flush(); err != nil {
			return 0, nil, err
		}
		if !deadline.IsZero() {
			if err := poll(c.in, unix.POLLIN, deadline); err != nil {
				return 0, nil, err
			}
		}
		c.makeRoom(need)
		n, err := unix.Read(c.in, c.buf[len(c.buf):cap(c.buf)])
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
			c.buf = c.buf[:len(c.buf)+n]
		}
	}
}

// take hands out a payload that is the caller's own from now on: a copy of a
// small one, the memory itself of a large one.
func (c *pipeConn) take(payload, rest []byte) []byte {
	if len(payload) < readAhead {
		if c.taken = len(c.buf) - len(rest); len(rest) == 0 {
			c.buf, c.taken = c.buf[:0], 0
		}
		return append([]byte(nil), payload...)
	}
	c.buf, c.taken = append([]byte(nil), rest...), 0
	return payload[:len(payload):len(payload)]
}

// makeRoom gets the buffer ready to be read into: for a frame of need bytes, so
// that a large one is read straight to where it is wanted, and for a few small
// ones in any case. What has been handed out makes room first.
func (c *pipeConn) makeRoom(need int) {
	have := len(c.buf) - c.taken
	want := max(need-have, readAhead/2)
	if cap(c.buf)-len(c.buf) >= want {
		return
	}
	if have+want <= cap(c.buf) {
		copy(c.buf, c.buf[c.taken:])
		c.buf, c.taken = c.buf[:have], 0
		return
	}
	c.buf, c.taken = append(make([]byte, 0, max(need, have+readAhead)), c.buf[c.taken:]...), 0
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
