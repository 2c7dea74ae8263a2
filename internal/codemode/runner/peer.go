package runner

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// peer is a worker as its parent sees it.
type peer interface {
	// next is the worker's next frame. After kill it soon returns an error.
	next() (wire.Kind, []byte, error)
	// send sends a frame without waiting for the worker to read it. head and
	// tail together are the payload.
	send(kind wire.Kind, head, tail []byte) error
	// sendSoon is send for a frame that more will follow: it may wait a moment
	// for them.
	sendSoon(kind wire.Kind, head, tail []byte) error
	// kill ends the worker now. It does not wait.
	kill(reason string)
	// reap waits for the worker's end and says how it came.
	reap() ending
	alive() bool
}

// ending is how a worker process ended.
type ending struct {
	code   int
	signal string
	stderr string // the end of what the Go runtime had to say
}

func awaitReady(ctx context.Context, p peer) error {
	stop := context.AfterFunc(ctx, func() { p.kill("cancelled") })
	defer stop()
	kind, payload, err := p.next()
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the Code Mode worker did not start: %w", err)
	}
	if kind != wire.KindReady || string(payload) != wire.Version {
		return fmt.Errorf("the Code Mode worker answers with %s %.20q: it is not this program's", kind, payload)
	}
	return nil
}

// localPeer is an engine in this process.
type localPeer struct{ l *worker.Local }

func (p *localPeer) ready(ctx context.Context) error  { return awaitReady(ctx, p) }
func (p *localPeer) next() (wire.Kind, []byte, error) { return p.l.Next() }
func (p *localPeer) kill(reason string)               { p.l.Kill(reason) }
func (p *localPeer) alive() bool                      { return true }
func (p *localPeer) send(k wire.Kind, h, t []byte) error {
	return p.l.Post(k, append(h, t...))
}

// sendSoon does not wait: a frame costs nothing here.
func (p *localPeer) sendSoon(k wire.Kind, h, t []byte) error { return p.send(k, h, t) }

// reap does not wait for an engine in a native loop: nothing can end it.
func (p *localPeer) reap() ending {
	select {
	case <-p.l.Done():
	case <-time.After(time.Second):
	}
	return ending{}
}

// childPeer is a worker process.
type childPeer struct {
	process *proc.Process
	handle  *os.Process // the same process: a kill through it cannot hit another
	in      *bufio.Reader
	frames  *wire.Reader
	out     sender
	reaped  sync.Once
	end     ending
}

// stderrKept is how much of a dying worker's stderr is looked at.
const stderrKept = 16 << 10

func startChild(s *proc.Supervisor, executable string) (*childPeer, error) {
	process, err := s.Start(proc.Command{
		Spec: proc.Spec{
			Args: []string{executable, worker.Argument},
			// A traceback of the Go runtime is only looked at for its cause.
			// One thread computes; the other is for the collector.
			Env: []string{
				worker.EnvName + "=" + worker.EnvValue, "GOTRACEBACK=none", "GOMAXPROCS=2", "GODEBUG=containermaxprocs=0,updatemaxprocs=0",
				"TMPDIR=" + os.TempDir(), "TZ=" + os.Getenv("TZ"),
			},
			Dir: os.TempDir(),
		},
		Owner: "codemode",
	}, proc.StartOptions{StderrLimit: stderrKept})
	if err != nil {
		return nil, fmt.Errorf("start the Code Mode worker: %w", err)
	}
	handle, err := os.FindProcess(process.PID())
	if err != nil {
		process.Kill()
		process.Release()
		return nil, fmt.Errorf("start the Code Mode worker: %w", err)
	}
	in := bufio.NewReaderSize(process.Stdout, 32<<10)
	return &childPeer{
		process: process,
		handle:  handle,
		in:      in,
		frames:  wire.NewReader(in, maxFrame+1<<20),
		out:     sender{w: process.Stdin},
	}, nil
}

func (p *childPeer) ready(ctx context.Context) error { return awaitReady(ctx, p) }

func (p *childPeer) next() (wire.Kind, []byte, error) {
	if p.in.Buffered() == 0 {
		// Whoever the last frame woke goes first, on this very thread: asking the
		// pipe, which is empty, would have it wait for another thread to wake.
		runtime.Gosched()
	}
	kind, payload, err := p.frames.Next()
	return kind, payload, err
}

func (p *childPeer) send(kind wire.Kind, head, tail []byte) error {
	return p.out.send(kind, head, tail, false)
}

func (p *childPeer) sendSoon(kind wire.Kind, head, tail []byte) error {
	return p.out.send(kind, head, tail, true)
}

// kill kills the one process there is: a worker cannot start others, so nothing
// has to be searched for, which a general kill does and which takes its time.
func (p *childPeer) kill(string) {
	if p.alive() {
		_ = p.handle.Kill()
	}
}

func (p *childPeer) alive() bool {
	select {
	case <-p.process.Done():
		return false
	default:
		return true
	}
}

func (p *childPeer) reap() ending {
	p.reaped.Do(func() {
		select {
		case <-p.process.Done():
		case <-time.After(patience):
			p.kill("")
		}
		exit := p.process.Exit()
		p.process.Release()
		p.out.wait()
		_ = p.handle.Release()
		p.end = ending{code: exit.Code, signal: exit.Signal, stderr: string(p.process.Stderr().Text)}
	})
	return p.end
}

// patience is how long a worker may take to leave after its last word.
const patience = 250 * time.Millisecond

// sender writes frames to a pipe whose reader may not be reading: what the pipe
// takes at once is written by the caller, the rest by a goroutine. What can
// queue is bounded by the number of calls a worker may have open.
type sender struct {
	w *os.File

	mu    sync.Mutex
	held  []byte // small frames that wait for company; they go before queue's next
	late  *time.Timer
	queue [][]byte
	busy  bool // somebody writes; others queue
	err   error
	wg    sync.WaitGroup
}

const (
	// holdLimit is how long a frame waits for company: less than the shortest
	// tool takes, more than settling a call does.
	holdLimit = 200 * time.Microsecond
	// maxHeld is how many bytes of frames wait at most.
	maxHeld = 4 << 10
)

// send sends a frame after all that came before. When more will follow soon, a
// small one may wait for them.
func (s *sender) send(kind wire.Kind, head, tail []byte, more bool) error {
	n := len(head) + len(tail)
	if n > wire.MaxPayload {
		return wire.ErrTooLarge
	}
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return s.err
	}
	if s.held == nil {
		s.held = make([]byte, 0, n+8)
	}
	s.held = wire.AppendHeader(s.held, kind, n)
	s.held = append(append(s.held, head...), tail...)
	if more && len(s.held) < maxHeld {
		if s.late == nil {
			s.wg.Add(1)
			s.late = time.AfterFunc(holdLimit, func() {
				defer s.wg.Done()
				_ = s.flush()
			})
		}
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	return s.flush()
}

// flush sends what is held.
func (s *sender) flush() error {
	s.mu.Lock()
	s.disarm()
	b := s.held
	s.held = nil
	if s.err != nil || len(b) == 0 || s.busy {
		defer s.mu.Unlock()
		if s.err == nil && len(b) > 0 {
			s.queue = append(s.queue, b)
		}
		return s.err
	}
	s.busy = true
	s.mu.Unlock()
	rest, err := writeNow(s.w, b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.err // ended meanwhile
	}
	switch {
	case err != nil:
		s.err, s.busy, s.queue = err, false, nil
	case len(rest) > 0:
		s.queue = append([][]byte{rest}, s.queue...)
		s.wg.Go(s.drain)
	case len(s.queue) > 0:
		s.wg.Go(s.drain)
	default:
		s.busy = false
	}
	return err
}

// disarm takes back the timer of what is held. The caller holds s.mu.
func (s *sender) disarm() {
	if s.late != nil && s.late.Stop() {
		s.wg.Done()
	}
	s.late = nil
}

func (s *sender) drain() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		b := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		if _, err := s.w.Write(b); err != nil {
			s.mu.Lock()
			s.err, s.busy, s.queue = err, false, nil
			s.mu.Unlock()
			return
		}
	}
}

// wait ends the sending and waits for whoever writes; the pipe must be closed,
// or its reader gone.
func (s *sender) wait() {
	s.mu.Lock()
	if s.err == nil {
		s.err = os.ErrClosed
	}
	s.disarm()
	s.mu.Unlock()
	s.wg.Wait()
}
