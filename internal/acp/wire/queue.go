package wire

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// sendClass says who waits for room in the queue.
type sendClass uint8

const (
	// classOwn is what we send by ourselves: notifications and calls. It waits
	// when the queue is full.
	classOwn sendClass = iota
	// classReply is what we owe the peer. It may use a second queue's worth of
	// room, so that the reading goroutine can answer while our own messages
	// wait, and a peer that writes before it reads is not locked out.
	classReply
)

// outFrame is a finished line and the room it takes.
type outFrame struct {
	line []byte // ends with a newline
	room int
}

type roomWaiter struct {
	room  int
	ready chan struct{} // closed, under the lock, when the room is granted
}

// writeBytes is how much of what waits leaves with one Write. A client that reads
// slowly is seen to read at all when that much has gone.
const writeBytes = 16 << 10

// queue is the only way out: frames leave in the order they were pushed, whole;
// small ones that wait leave together. Room is granted first come, first served, before a frame is
// pushed, so that pushing never blocks.
type queue struct {
	maxFrames, maxBytes int
	stall               time.Duration
	onDead              func(error)
	trace               func(line []byte) // may be nil

	mu       sync.Mutex
	frames   []outFrame
	count    int // granted and not yet written
	bytes    int
	waiting  [2][]*roomWaiter
	pushed   uint64
	written  uint64
	closing  bool
	err      error         // why the queue is dead
	moved    time.Time     // when a write last ended
	progress chan struct{} // closed at the next write, when somebody asked
	wake     chan struct{} // tells the writer that there is work
	dead     chan struct{}
	done     chan struct{} // the writer has returned
}

func newQueue(maxFrames, maxBytes int, stall time.Duration, onDead func(error)) *queue {
	return &queue{
		maxFrames: maxFrames, maxBytes: maxBytes, stall: stall, onDead: onDead,
		wake: make(chan struct{}, 1), dead: make(chan struct{}), done: make(chan struct{}),
	}
}

func (q *queue) fits(room int, class sendClass) bool {
	n := 1
	if class == classReply {
		n = 2
	}
	if q.count == 0 {
		return true // a frame above the bound goes alone
	}
	return q.count < n*q.maxFrames && q.bytes+room <= n*q.maxBytes
}

func (q *queue) take(room int) { q.count++; q.bytes += room }

func (q *queue) give(room int) {
	if q.err != nil {
		return // nothing is granted any more
	}
	q.count--
	q.bytes -= room
	for class := range q.waiting {
		for len(q.waiting[class]) > 0 && q.fits(q.waiting[class][0].room, sendClass(class)) {
			w := q.waiting[class][0]
			q.waiting[class] = q.waiting[class][1:]
			q.take(w.room)
			close(w.ready)
		}
	}
}

// tryAdmit grants room without waiting.
func (q *queue) tryAdmit(room int, class sendClass) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil || q.closing || len(q.waiting[class]) > 0 || !q.fits(room, class) {
		return false
	}
	q.take(room)
	return true
}

// admit waits for room. It fails when ctx ends, when the queue is dead, and
// when nothing at all left the queue for the stall time: then it kills the
// queue. What was granted must be pushed or released.
func (q *queue) admit(ctx context.Context, room int, class sendClass) error {
	q.mu.Lock()
	if err := q.stateLocked(); err != nil {
		q.mu.Unlock()
		return err
	}
	if len(q.waiting[class]) == 0 && q.fits(room, class) {
		q.take(room)
		q.mu.Unlock()
		return nil
	}
	w := &roomWaiter{room: room, ready: make(chan struct{})}
	q.waiting[class] = append(q.waiting[class], w)
	q.mu.Unlock()

	timer := time.NewTimer(q.stall)
	defer timer.Stop()
	for {
		select {
		case <-w.ready:
			return nil
		case <-q.dead:
			return q.abandon(w, class, nil)
		case <-ctx.Done():
			return q.abandon(w, class, context.Cause(ctx))
		case <-timer.C:
			q.mu.Lock()
			idle := time.Since(q.moved)
			q.mu.Unlock()
			if idle >= q.stall {
				q.kill(ErrStalled)
			} else {
				timer.Reset(q.stall - idle)
			}
		}
	}
}

// abandon takes a waiter back and returns err, or the queue's own error.
func (q *queue) abandon(w *roomWaiter, class sendClass, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.ready:
		q.give(w.room)
	default:
		for i, o := range q.waiting[class] {
			if o == w {
				q.waiting[class] = append(q.waiting[class][:i:i], q.waiting[class][i+1:]...)
				break
			}
		}
	}
	if q.err != nil {
		return q.err
	}
	return err
}

func (q *queue) release(room int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.give(room)
}

func (q *queue) stateLocked() error {
	if q.err != nil {
		return q.err
	}
	if q.closing {
		return ErrClosed
	}
	return nil
}

// push appends a frame whose room was granted. It never blocks.
func (q *queue) push(f outFrame) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.stateLocked(); err != nil {
		q.give(f.room)
		return err
	}
	q.frames = append(q.frames, f)
	q.pushed++
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// run writes frames until the queue is closed and empty, or dead.
func (q *queue) run(w io.Writer) {
	defer close(q.done)
	var batch []outFrame
	var joined []byte
	for {
		var ok bool
		if batch, ok = q.pop(batch[:0]); !ok {
			return
		}
		out := batch[0].line
		if len(batch) > 1 {
			joined = joined[:0]
			for _, f := range batch {
				joined = append(joined, f.line...)
			}
			out = joined
		}
		if q.trace != nil {
			for _, f := range batch {
				q.trace(f.line)
			}
		}
		n, err := w.Write(out)
		if err == nil && n < len(out) {
			err = io.ErrShortWrite
		}
		q.wrote(batch)
		clear(batch) // keeps no line alive
		if err != nil {
			q.kill(&WriteError{Err: err})
			return
		}
	}
}

// wrote takes note of frames that have left, or failed to.
func (q *queue) wrote(batch []outFrame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moved = time.Now()
	q.written += uint64(len(batch))
	for _, f := range batch {
		q.give(f.room)
	}
	if q.progress != nil {
		close(q.progress)
		q.progress = nil
	}
}

// pop waits for frames and adds to batch those that leave together: one, or
// several that take no more than writeBytes.
func (q *queue) pop(batch []outFrame) ([]outFrame, bool) {
	for {
		q.mu.Lock()
		if q.err != nil {
			q.mu.Unlock()
			return batch, false
		}
		size := 0
		for len(q.frames) > 0 && (len(batch) == 0 || size+len(q.frames[0].line) <= writeBytes) {
			size += len(q.frames[0].line)
			batch = append(batch, q.frames[0])
			q.frames[0] = outFrame{}
			q.frames = q.frames[1:]
		}
		if len(q.frames) == 0 {
			q.frames = nil // let a burst's backing array go
		}
		closing := q.closing
		q.mu.Unlock()
		if len(batch) > 0 {
			return batch, true
		}
		if closing {
			return batch, false
		}
		select {
		case <-q.wake:
		case <-q.dead:
		}
	}
}

// flush waits until everything pushed so far has been written.
func (q *queue) flush(ctx context.Context) error {
	q.mu.Lock()
	target := q.pushed
	for q.written < target && q.err == nil {
		if q.progress == nil {
			q.progress = make(chan struct{})
		}
		progress := q.progress
		q.mu.Unlock()
		select {
		case <-progress:
		case <-q.dead:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		q.mu.Lock()
	}
	defer q.mu.Unlock()
	if q.written < target {
		return q.err
	}
	return nil
}

// close lets the writer return once the queue is empty; nothing more is taken.
func (q *queue) close() {
	q.mu.Lock()
	q.closing = true
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// kill drops what is queued and gives every sender err.
func (q *queue) kill(err error) {
	q.mu.Lock()
	if q.err != nil {
		q.mu.Unlock()
		return
	}
	q.err = err
	q.frames = nil
	close(q.dead)
	q.mu.Unlock()
	q.onDead(err)
}

// ErrClosed is what sending on a connection gives after Close, and the reason
// of a connection that was closed by its owner.
var ErrClosed = errors.New("wire: the connection is closed")

// ErrStalled is the reason of a connection whose peer read nothing for the
// stall time while messages waited for it.
var ErrStalled = errors.New("wire: the peer stopped reading, its messages no longer fit the queue")

// WriteError is the reason of a connection whose output broke.
type WriteError struct{ Err error }

// Error names the cause.
func (e *WriteError) Error() string { return "wire: writing to the peer failed: " + e.Err.Error() }

// Unwrap gives the cause, such as a broken pipe.
func (e *WriteError) Unwrap() error { return e.Err }
