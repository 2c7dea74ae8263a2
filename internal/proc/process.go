package proc

import (
	"context"
	"os"
	"sync"
	"time"
)

// Process is a running process that is spoken to over pipes: a worker, a
// server. It belongs to its supervisor.
type Process struct {
	// Stdin and Stdout are our ends of its pipes. Whoever started the process
	// reads and writes them; Stop and Release close them.
	Stdin, Stdout *os.File

	s       *Supervisor
	g       *group
	stderr  *capture
	pipe    *os.File
	drained chan struct{} // the stderr reader has ended
	once    sync.Once
}

// StartOptions say what becomes of a piped process's stderr.
type StartOptions struct {
	// OnStderr, if set, gets stderr as it comes, in whole characters. The bytes
	// are only good during the call. It must not block for long.
	OnStderr func(chunk []byte)
	// StderrLimit is how many bytes of stderr Stderr can show. Zero means
	// DefaultLimit.
	StderrLimit int
}

// Start starts a process with pipes for stdin and stdout. The process is ended
// by Stop, Kill or Supervisor.Close; the caller must call Stop or Release once
// it is done with it. Errors are as for Run.
func (s *Supervisor) Start(c Command, o StartOptions) (*Process, error) {
	p, err := openStdio(true)
	if err != nil {
		return nil, &StartError{Program: firstOf(c.Args), Err: err}
	}
	g, err := s.start(c, p.childIn, p.childOut, p.childErr)
	p.closeChildEnds()
	if err != nil {
		p.closeOurEnds()
		return nil, err
	}
	pr := &Process{
		Stdin: p.in, Stdout: p.out,
		s: s, g: g, pipe: p.err, stderr: newCapture(o.StderrLimit, spill{}), drained: make(chan struct{}),
	}
	live := chunker{emit: func([]byte) {}}
	if o.OnStderr != nil {
		live.emit = o.OnStderr
	}
	go func() {
		defer close(pr.drained)
		buf := readBuffers.Get().(*[readSize]byte)
		defer readBuffers.Put(buf)
		for {
			n, err := pr.pipe.Read(buf[:])
			pr.stderr.write(buf[:n])
			live.write(buf[:n])
			if err != nil {
				live.flush()
				return
			}
		}
	}()
	go func() {
		select {
		case <-g.exited:
		case <-s.closing:
			g.terminate()
		}
		s.finished(g) // which Close waits for
	}()
	return pr, nil
}

// PID is the process's id.
func (p *Process) PID() int { return p.g.id }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.g.exited }

// Exit says how the process ended; it is good once Done is closed.
func (p *Process) Exit() Exit {
	<-p.g.exited
	return p.g.exit
}

// Stderr is what the process has written to stderr so far, bounded.
func (p *Process) Stderr() Output { return p.stderr.output() }

// Kill ends the process's group at once, without a grace and without waiting.
func (p *Process) Kill() { p.g.kill() }

// Stop asks the process to end by closing its stdin, which is how servers on
// pipes are told; when it has not ended by the time ctx ends, its group gets
// SIGTERM and after the grace SIGKILL. Stop returns when the process is gone
// and releases the pipes.
func (p *Process) Stop(ctx context.Context) Exit {
	_ = p.Stdin.Close()
	select {
	case <-p.g.exited:
	case <-ctx.Done():
	}
	if groupAlive(p.g.id) {
		p.g.terminate()
	}
	p.Release()
	return p.g.ended()
}

// Release closes the pipes of a process that has ended or was killed, and
// waits for the rest of its stderr. It may be called more than once.
func (p *Process) Release() {
	p.once.Do(func() {
		_ = p.Stdin.Close()
		_ = p.Stdout.Close()
		select {
		case <-p.drained:
		case <-time.After(quietLimit):
			stopReading(p.pipe) // something else holds the other end
			<-p.drained
		}
		_ = p.pipe.Close()
	})
}
