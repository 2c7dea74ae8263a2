package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// Mode says where programs run.
type Mode int

// The modes.
const (
	// Child runs each program in a process of its own. It needs an executable
	// whose main begins with worker.MaybeWorker.
	Child Mode = iota
	// InProcess runs programs in this process, for where no child can be
	// started. Memory is watched, not walled; a program that exhausts the stack
	// takes the process with it.
	InProcess
)

// Options configure a Runner.
type Options struct {
	Mode Mode
	// Executable is re-executed for a worker; empty means this program.
	Executable string
	// Supervisor starts the processes; nil means one of the runner's own.
	Supervisor *proc.Supervisor
	Logger     *slog.Logger // nil discards
}

// Runner runs programs. It is safe for concurrent use.
type Runner struct {
	o     Options
	owned bool            // the supervisor is ours to close
	ctx   context.Context // ends with Close
	stop  context.CancelFunc

	mu      sync.Mutex
	warm    peer
	warming bool
	closed  bool
	wg      sync.WaitGroup
}

// ErrClosed is the cause of runs refused or ended by Close.
var ErrClosed = errors.New("runtime disposed")

// New returns a Runner. Close must be called.
func New(o Options) *Runner {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Runner{o: o}
	r.ctx, r.stop = context.WithCancel(context.Background())
	if o.Mode == Child {
		if o.Supervisor == nil {
			r.o.Supervisor = proc.NewSupervisor()
			r.owned = true
		}
		if o.Executable == "" {
			r.o.Executable = self()
		}
	}
	return r
}

// self is this program, even when its file has been replaced since.
func self() string {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// Warm starts a worker ahead of need and returns when it is ready. One is kept;
// with one there it does nothing.
func (r *Runner) Warm(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	if r.warm != nil || r.warming {
		r.mu.Unlock()
		return nil
	}
	r.warming = true
	r.wg.Add(1)
	r.mu.Unlock()
	defer r.wg.Done()
	p, err := r.start(ctx)
	r.mu.Lock()
	r.warming = false
	if err == nil && r.warm == nil && !r.closed {
		r.warm, p = p, nil
	}
	r.mu.Unlock()
	if p != nil {
		p.kill("not needed")
		p.reap()
	}
	return err
}

// rewarm starts the next worker in the background.
func (r *Runner) rewarm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.warm != nil || r.warming || r.o.Mode != Child {
		return
	}
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		if err := r.Warm(ctx); err != nil && !errors.Is(err, ErrClosed) {
			r.o.Logger.Warn("Code Mode: no worker could be started ahead", "error", err)
		}
	})
}

// take returns a worker that is ready; warm says whether it was kept ahead.
func (r *Runner) take(ctx context.Context) (p peer, warm bool, err error) {
	r.mu.Lock()
	p, r.warm = r.warm, nil
	r.mu.Unlock()
	if p != nil {
		if p.alive() {
			return p, true, nil
		}
		p.kill("died while waiting")
		p.reap()
	}
	p, err = r.start(ctx)
	return p, false, err
}

// startLimit is how long a worker may take to be ready.
const startLimit = 20 * time.Second

// start starts a worker and waits until it is ready.
func (r *Runner) start(ctx context.Context) (peer, error) {
	if r.o.Mode == InProcess {
		l, err := worker.StartLocal()
		if err != nil {
			return nil, err
		}
		p := &localPeer{l}
		return p, p.ready(ctx)
	}
	p, err := startChild(r.o.Supervisor, r.o.Executable)
	if err != nil {
		return nil, err
	}
	if err := p.ready(ctx); err != nil {
		p.kill("not ready")
		p.reap()
		return nil, err
	}
	return p, nil
}

// Close ends every run and worker and waits for them.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	p := r.warm
	r.warm = nil
	r.mu.Unlock()
	if p != nil {
		p.kill("runtime disposed")
		p.reap()
	}
	r.stop()
	r.wg.Wait()
	if r.owned {
		if err := r.o.Supervisor.Close(context.Background()); err != nil {
			r.o.Logger.Warn("Code Mode: workers were left", "error", err)
		}
	}
}

// enter counts a run in; false once the runner is closed.
func (r *Runner) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.wg.Add(1)
	return true
}
