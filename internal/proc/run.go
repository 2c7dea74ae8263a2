package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Stream names an output stream.
type Stream uint8

// The two output streams of a process.
const (
	Stdout Stream = iota + 1
	Stderr
)

// RunOptions are the bounds of one run.
type RunOptions struct {
	// Stdin is what the command reads; nil means an empty, closed stdin.
	Stdin []byte
	// Timeout ends the command's group when it is over. Zero means none.
	Timeout time.Duration
	// Limit is how many bytes of each stream are kept in memory. Zero means
	// DefaultLimit.
	Limit int
	// SpillDir is the directory for the files that take whole streams once they
	// are longer than Limit. It is made, for us alone, when the first one is
	// needed. "" means no files.
	SpillDir string
	// SpillName is part of those files' names.
	SpillName string
	// SpillLimit is how many bytes such a file may have before it is removed.
	// Zero means DefaultSpillLimit.
	SpillLimit int64
	// Conceal, if set, gives for each stream a function that changes what is
	// written to its file, piece by piece; the last piece may be empty.
	Conceal func() func(piece []byte, last bool) []byte
	// OnOutput, if set, gets the output as it comes, in whole characters, one
	// call at a time. The bytes are only good during the call. It must not
	// block: the command waits for it.
	OnOutput func(stream Stream, chunk []byte)
	// OnStart, if set, is called once the process runs, before any output. It
	// must not block.
	OnStart func()
	// EndGroup ends what a finished command left running in its process group.
	// Otherwise that goes on, until Close or CloseOwner.
	EndGroup bool
}

// Outcome is how a run ended. A timeout, a cancellation and a failing exit
// status are outcomes, not errors.
type Outcome struct {
	Exit
	TimedOut bool // the timeout was over before the command ended
	Aborted  bool // the context ended, or the supervisor was closed, before that
	Stdout   Output
	Stderr   Output
	// Background says that processes of the command's group were still running
	// when it had ended.
	Background bool
	Duration   time.Duration
}

// Run runs a command to its end and collects its output. When ctx ends or the
// timeout is over the whole group is ended, and Run waits for that. A process
// that the command left in the background does not hold Run back, even when it
// has inherited the output pipes: they are read on until nothing comes for a
// quarter of a second, for three seconds at most.
//
// An error means that the command was not started: ctx had ended already
// (context.Cause), ErrClosed, or a *StartError.
func (s *Supervisor) Run(ctx context.Context, c Command, o RunOptions) (Outcome, error) {
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	p, err := openStdio(o.Stdin != nil)
	if err != nil {
		return Outcome{}, &StartError{Program: firstOf(c.Args), Err: err}
	}
	began := time.Now()
	g, err := s.start(c, p.childIn, p.childOut, p.childErr)
	p.closeChildEnds()
	if err != nil {
		p.closeOurEnds()
		return Outcome{}, err
	}

	var wg sync.WaitGroup
	if p.in != nil {
		wg.Go(func() {
			_, _ = io.Copy(p.in, bytes.NewReader(o.Stdin)) // a command need not read it
			_ = p.in.Close()
		})
	}
	if o.OnStart != nil {
		o.OnStart()
	}
	readers := startReaders(p.out, p.err, o)

	var out Outcome
	out.TimedOut, out.Aborted = s.await(ctx, g, o.Timeout)
	if out.TimedOut || out.Aborted {
		g.terminate()
	}
	// Nobody of the group may be left to read stdin.
	if p.in != nil {
		_ = p.in.Close()
	}
	readers.drain()
	wg.Wait()
	if groupAlive(g.id) && o.EndGroup {
		g.terminate()
	}
	out.Background = s.finished(g)
	p.closeOurEnds()

	out.Exit = g.ended()
	out.Stdout, out.Stderr = readers.outputs()
	out.Duration = time.Since(began)
	return out, nil
}

// await waits for the command's end, or for the reason to end it.
func (s *Supervisor) await(ctx context.Context, g *group, timeout time.Duration) (timedOut, aborted bool) {
	var expired <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-g.exited:
		return false, false
	case <-expired:
		return true, false
	case <-ctx.Done():
		return false, true
	case <-s.closing:
		return false, true
	}
}

// readers collect both output streams of a run.
type readers struct {
	pipes    [2]*os.File
	captures [2]*capture
	done     chan struct{} // both have ended
	// reading counts readers that wait for output, lastRead is when one last
	// got some (Unix nanoseconds): together they tell quiet from busy.
	reading  atomic.Int32
	lastRead atomic.Int64
	open     atomic.Int32
}

func startReaders(stdout, stderr *os.File, o RunOptions) *readers {
	rs := &readers{pipes: [2]*os.File{stdout, stderr}, done: make(chan struct{})}
	limit := o.SpillLimit
	if limit <= 0 {
		limit = DefaultSpillLimit
	}
	names := [2]string{"stdout", "stderr"}
	var emitting sync.Mutex
	var wg sync.WaitGroup
	rs.open.Store(2)
	rs.lastRead.Store(time.Now().UnixNano())
	for i := range rs.pipes {
		rs.captures[i] = newCapture(o.Limit, spill{dir: o.SpillDir, pattern: o.SpillName + "-*-" + names[i] + ".txt", limit: limit, conceal: concealer(o.Conceal)})
		stream := Stdout + Stream(i)
		live := chunker{emit: func([]byte) {}}
		if o.OnOutput != nil {
			live.emit = func(p []byte) {
				emitting.Lock()
				defer emitting.Unlock()
				o.OnOutput(stream, p)
			}
		}
		wg.Go(func() { rs.read(rs.pipes[i], rs.captures[i], &live) })
	}
	go func() {
		wg.Wait()
		close(rs.done)
	}()
	return rs
}

const readSize = 32 << 10

var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

func (rs *readers) read(pipe *os.File, c *capture, live *chunker) {
	buf := readBuffers.Get().(*[readSize]byte)
	defer readBuffers.Put(buf)
	defer rs.open.Add(-1)
	take := func(n int) {
		c.write(buf[:n])
		live.write(buf[:n])
		rs.lastRead.Store(time.Now().UnixNano())
	}
	for {
		rs.reading.Add(1)
		n, err := pipe.Read(buf[:])
		rs.reading.Add(-1)
		if n > 0 {
			take(n)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// Told to stop: what is in the pipe already still counts, at most
			// as much as the largest pipe holds.
			for range (1 << 20) / readSize {
				if n := readRest(pipe, buf[:]); n > 0 {
					take(n)
					continue
				}
				break
			}
		}
		break
	}
	live.flush()
	c.close()
}

// drain waits for the end of both streams, but not for whoever still holds
// them after the command's end.
func (rs *readers) drain() {
	start := time.Now()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-rs.done:
			return
		case <-tick.C:
		}
		waiting := rs.reading.Load() == rs.open.Load()
		last := time.Unix(0, rs.lastRead.Load())
		if last.Before(start) {
			last = start
		}
		if time.Since(start) > drainLimit || waiting && time.Since(last) > quietLimit {
			stopReading(rs.pipes[0])
			stopReading(rs.pipes[1])
			<-rs.done
			return
		}
	}
}

func (rs *readers) outputs() (stdout, stderr Output) {
	stdout, stderr = rs.captures[0].output(), rs.captures[1].output()
	rs.captures[0].close()
	rs.captures[1].close()
	return stdout, stderr
}

// stdio holds both ends of a child's standard files.
type stdio struct {
	in, out, err                *os.File // ours; in is nil for an empty stdin
	childIn, childOut, childErr *os.File
}

func openStdio(withStdin bool) (p stdio, err error) {
	defer func() {
		if err != nil {
			p.closeChildEnds()
			p.closeOurEnds()
		}
	}()
	if withStdin {
		p.childIn, p.in, err = os.Pipe()
	} else {
		p.childIn, err = os.Open(os.DevNull)
	}
	if err != nil {
		return p, err
	}
	if p.out, p.childOut, err = os.Pipe(); err != nil {
		return p, err
	}
	p.err, p.childErr, err = os.Pipe()
	return p, err
}

func (p *stdio) closeChildEnds() { closeAll(p.childIn, p.childOut, p.childErr) }
func (p *stdio) closeOurEnds()   { closeAll(p.in, p.out, p.err) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func validBytes(p []byte) []byte {
	if utf8.Valid(p) {
		return p
	}
	return bytes.ToValidUTF8(p, []byte("\uFFFD"))
}

// unixEpoch is a deadline that is long over.
var unixEpoch = time.Unix(0, 0)
