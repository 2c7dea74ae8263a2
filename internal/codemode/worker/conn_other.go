//go:build !unix

package worker

import (
	"bufio"
	"os"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// pipeConn speaks over the process's own stdin and stdout; a goroutine reads,
// since these systems cannot wait for a pipe with a deadline.
type pipeConn struct {
	out    *os.File
	mu     sync.Mutex
	frames chan received
}

type received struct {
	kind    wire.Kind
	payload []byte
	err     error
}

func newPipeConn(in, out *os.File) *pipeConn {
	c := &pipeConn{out: out, frames: make(chan received, 16)}
	go func() { // ends with the process
		r := wire.NewReader(bufio.NewReaderSize(in, 64<<10), wire.MaxPayload)
		for {
			kind, payload, err := r.Next()
			c.frames <- received{kind, payload, err}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// Send implements Conn.
func (c *pipeConn) Send(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(wire.AppendFrame(nil, kind, payload))
	return err
}

// Hold implements Conn; nothing is held back here.
func (c *pipeConn) Hold(kind wire.Kind, payload []byte) error { return c.Send(kind, payload) }

// Flush implements Conn.
func (c *pipeConn) Flush() error { return nil }

func (c *pipeConn) nudge() {}

// Recv implements Conn.
func (c *pipeConn) Recv(deadline time.Time) (wire.Kind, []byte, error) {
	if deadline.IsZero() {
		r := <-c.frames
		return r.kind, r.payload, r.err
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case r := <-c.frames:
		return r.kind, r.payload, r.err
	case <-timer.C:
		return 0, nil, ErrDeadline
	}
}

func (c *pipeConn) orphaned() bool { return false }
