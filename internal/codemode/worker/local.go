package worker

import (
	"io"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// Local is an engine inside this process, for where a child cannot be started.
// It speaks the same frames. Two things are weaker: a native loop of the engine
// can only be abandoned, not ended, and what kills a process kills this one.
type Local struct {
	engine *Engine
	toPeer *queue
	toUs   *queue
	done   chan struct{}
}

// StartLocal prepares an engine and serves it in a goroutine that ends with the
// program, or after Kill once the engine notices.
func StartLocal() (*Local, error) {
	l := &Local{toPeer: newQueue(), toUs: newQueue(), done: make(chan struct{})}
	engine, err := NewEngine(l, nil)
	if err != nil {
		return nil, err
	}
	l.engine = engine
	go func() {
		defer close(l.done)
		defer l.toPeer.close()
		_ = engine.Serve()
	}()
	return l, nil
}

// Send implements Conn, for the engine.
func (l *Local) Send(kind wire.Kind, payload []byte) error {
	// Done may come from the watchdog of an engine that no longer reacts:
	// nothing may be expected after it.
	if !l.toPeer.put(frame{kind, payload}) {
		return io.ErrClosedPipe
	}
	if kind == wire.KindDone {
		l.toPeer.close()
	}
	return nil
}

// Hold implements Conn, for the engine: a frame costs nothing here, so none waits.
func (l *Local) Hold(kind wire.Kind, payload []byte) error { return l.Send(kind, payload) }

// Flush implements Conn, for the engine.
func (l *Local) Flush() error { return nil }

// Recv implements Conn, for the engine.
func (l *Local) Recv(deadline time.Time) (wire.Kind, []byte, error) { return l.toUs.take(deadline) }

// Next is the engine's next frame, for the parent; io.EOF after its last.
func (l *Local) Next() (wire.Kind, []byte, error) { return l.toPeer.take(time.Time{}) }

// Post sends a frame to the engine.
func (l *Local) Post(kind wire.Kind, payload []byte) error {
	if !l.toUs.put(frame{kind, payload}) {
		return io.ErrClosedPipe
	}
	return nil
}

// Kill interrupts the program. Done follows, at the latest from the watchdog.
func (l *Local) Kill(reason string) {
	l.engine.Interrupt(reason)
	l.toUs.close()
}

// Done is closed when the engine's goroutine has ended.
func (l *Local) Done() <-chan struct{} { return l.done }

type frame struct {
	kind    wire.Kind
	payload []byte
}

// queue is an unbounded line of frames; what bounds it is the protocol, which
// limits the calls under way, and the ledger, which limits the log.
type queue struct {
	mu     sync.Mutex
	frames []frame
	closed bool
	ready  chan struct{} // holds a token while there may be something to take
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) put(f frame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.frames = append(q.frames, f)
	q.signal()
	return true
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue) take(deadline time.Time) (wire.Kind, []byte, error) {
	for {
		q.mu.Lock()
		if len(q.frames) > 0 {
			f := q.frames[0]
			q.frames[0] = frame{}
			if q.frames = q.frames[1:]; len(q.frames) == 0 {
				q.frames = nil
			} else {
				q.signal()
			}
			q.mu.Unlock()
			return f.kind, f.payload, nil
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			q.signal()
			return 0, nil, io.EOF
		}
		if deadline.IsZero() {
			<-q.ready
			continue
		}
		timer := time.NewTimer(time.Until(deadline))
		select {
		case <-q.ready:
			timer.Stop()
		case <-timer.C:
			return 0, nil, ErrDeadline
		}
	}
}
