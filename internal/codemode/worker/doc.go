// Package worker runs one Code Mode program in goja and speaks to its parent in
// frames (package wire). It is both the child process and, where starting one
// is impossible, the engine inside the parent's process.
//
// The program owns no effects: it computes, prints, waits on timers, and calls
// tools, which are frames to the parent. One goroutine owns the VM; another
// watches its budgets. What cannot be interrupted (a native loop of the engine)
// is ended by leaving the process, and what the process itself cannot end is
// killed by the parent or by the limits the kernel holds over it.
package worker

import (
	"errors"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// Conn is how a program's engine speaks to the parent.
type Conn interface {
	// Send writes one frame, after those that are held, before it returns. It may
	// be called from any goroutine, as Flush may.
	Send(kind wire.Kind, payload []byte) error
	// Hold is Send for a frame that may wait for company: until the next Send or
	// Flush, or until Recv would have to wait. A payload is copied or sent.
	Hold(kind wire.Kind, payload []byte) error
	// Flush writes what is held.
	Flush() error
	// Recv waits for the parent's next frame, until the deadline if it is not
	// zero, and then returns ErrDeadline. Only the VM's goroutine calls it.
	Recv(deadline time.Time) (wire.Kind, []byte, error)
}

// ErrDeadline is returned by Conn.Recv when the deadline has come.
var ErrDeadline = errors.New("deadline reached")

// Exit codes of a worker process, beside what the Go runtime uses itself.
const (
	exitOK       = 0
	exitProtocol = 87 // the parent spoke nonsense or is gone
	exitEnded    = 88 // the program was ended by the watchdog
)
