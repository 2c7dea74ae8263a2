package proc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// markVariable marks every process we start and all that it starts in turn,
// wherever they move: it is how those that left the process group are found.
const markVariable = "DSH_RUN_ID"

// sweepInterval is how often groups that outlived their command are looked at.
const sweepInterval = time.Second

// Supervisor owns the processes that were started through it. The zero value
// is not usable; call [NewSupervisor].
type Supervisor struct {
	mark    string        // begins the mark of every process of ours
	closing chan struct{} // closed when Close begins: end everything
	hurry   chan struct{} // closed when Close loses patience: kill at once

	mu       sync.Mutex
	closed   bool
	sweeping bool
	started  bool                // whether anything ever was
	guard    *guard              // ends everything when this program is killed; nil before the first start
	groups   map[*group]struct{} // those whose command is still running
	leftover map[*group]struct{} // those that outlived it
	wg       sync.WaitGroup      // waiters, runs and the sweeper
}

// NewSupervisor returns a supervisor without processes.
func NewSupervisor() *Supervisor {
	return &Supervisor{
		mark:     rand.Text() + "-",
		closing:  make(chan struct{}),
		hurry:    make(chan struct{}),
		groups:   make(map[*group]struct{}),
		leftover: make(map[*group]struct{}),
	}
}

// group is a started process with everything that descends from it.
type group struct {
	id    int // process group id: the leader's pid
	mark  string
	owner string
	grace time.Duration
	hurry <-chan struct{}

	process *os.Process
	exited  chan struct{} // closed once the leader was reaped
	exit    Exit          // valid after exited
}

// start launches the command with the given standard files, which it does not
// close, and registers its group. The caller must call finished in the end:
// Close waits for that.
func (s *Supervisor) start(c Command, stdin, stdout, stderr *os.File) (*group, error) {
	if len(c.Args) == 0 {
		return nil, &StartError{Err: errors.New("no program was named")}
	}
	program := c.Args[0]
	spec := c.Spec
	mark := s.ownerMark(c.Owner) + rand.Text()
	if spec.Env == nil {
		spec.Env = os.Environ()
	}
	spec.Env = append(slices.Clip(spec.Env), markVariable+"="+mark)
	release := func() {}
	if c.Wrap != nil {
		r, err := c.Wrap(&spec)
		if err != nil {
			return nil, &StartError{Program: program, Err: err}
		}
		if r != nil {
			release = r
		}
	}
	cmd := exec.Command(spec.Args[0], spec.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = spec.Dir, spec.Env, spec.ExtraFiles
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	detach(cmd)
	if spec.Attributes != nil {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		spec.Attributes(cmd.SysProcAttr)
	}

	// The lock is held over the start, so that Close sees either a closed
	// supervisor that starts nothing or the group in its table.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		release()
		return nil, ErrClosed
	}
	if s.guard == nil && !s.started {
		s.guard = startGuard(s.mark)
	}
	process, err := spawn(&spec, cmd, stdin, stdout, stderr)
	if err != nil {
		release()
		return nil, &StartError{Program: program, Dir: spec.Dir, Err: err}
	}
	g := &group{
		id: process.Pid, mark: mark, owner: c.Owner, grace: c.Grace, hurry: s.hurry,
		process: process, exited: make(chan struct{}),
	}
	if g.grace <= 0 {
		g.grace = DefaultGrace
	}
	s.started = true
	s.groups[g] = struct{}{}
	s.wg.Add(1) // for whoever called; finished gives it back
	s.wg.Go(func() {
		// All standard files are real files, so Wait returns when the process
		// ends, whoever else still holds its pipes.
		state, err := process.Wait()
		g.exit = exitOf(state, err)
		release()
		close(g.exited)
	})
	return g, nil
}

// spawn gives the command a process: one that is there already, or a new one.
func spawn(spec *Spec, cmd *exec.Cmd, stdin, stdout, stderr *os.File) (*os.Process, error) {
	if spec.Spawn != nil {
		if p, err := spec.Spawn(append([]*os.File{stdin, stdout, stderr}, spec.ExtraFiles...)); err == nil {
			return p, nil
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd.Process, nil
}

// finished takes the group of an ended command out of the table, or keeps an
// eye on it when some of its processes go on. It reports whether any do.
func (s *Supervisor) finished(g *group) bool {
	defer s.wg.Done()
	alive := groupAlive(g.id)
	s.mu.Lock()
	delete(s.groups, g)
	closed := s.closed
	if alive && !closed {
		s.leftover[g] = struct{}{}
		if !s.sweeping {
			s.sweeping = true
			s.wg.Go(s.sweep)
		}
	}
	s.mu.Unlock()
	if alive && closed {
		g.terminate() // Close has already collected what was left over
	}
	return alive
}

// sweep forgets groups whose last process has ended: their id may then belong
// to somebody else. While any process of a group lives, its id is taken.
func (s *Supervisor) sweep() {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.closing:
			return // Close deals with the rest
		case <-tick.C:
		}
		s.mu.Lock()
		for g := range s.leftover {
			if !groupAlive(g.id) {
				delete(s.leftover, g)
			}
		}
		if len(s.leftover) == 0 {
			s.sweeping = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

// Live is the number of process groups that are running or were left behind.
func (s *Supervisor) Live() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.groups) + len(s.leftover)
}

// CloseOwner ends what the owner's finished commands left running. Commands
// that still run are ended by their own contexts. It returns when the groups
// are gone or ctx ends.
func (s *Supervisor) CloseOwner(ctx context.Context, owner string) error {
	s.mu.Lock()
	var mine []*group
	for g := range s.leftover {
		if g.owner == owner {
			mine = append(mine, g)
			delete(s.leftover, g)
		}
	}
	strays := s.started
	s.mu.Unlock()
	err := terminateAll(ctx, mine)
	if strays {
		endMarked(ctx, s.ownerMark(owner))
	}
	return err
}

// ownerMark begins the mark of every process of one owner. A mark stands in the
// environment, so the owner's name is not spelled out in it.
func (s *Supervisor) ownerMark(owner string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(owner))
	return s.mark + strconv.FormatUint(h.Sum64(), 36) + "-"
}

// endMarked ends what left its group by setsid and outlived its command: those
// processes belong to no group of ours and are found by their mark alone. They
// get a short grace.
func endMarked(ctx context.Context, mark string) {
	if signalMarked(mark, term) == 0 {
		return
	}
	for range 10 {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		if signalMarked(mark, 0) == 0 || ctx.Err() != nil {
			break
		}
	}
	signalMarked(mark, kill)
}

// Close ends every process: SIGTERM to all groups at once, a second later
// SIGKILL to what is left. It returns when all are gone and every goroutine of
// the supervisor has ended, or with an error when ctx ends before that.
// Nothing can be started afterwards. Close may be called more than once.
func (s *Supervisor) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	var left []*group
	for g := range s.leftover {
		left = append(left, g)
		delete(s.leftover, g)
	}
	strays := s.started
	s.mu.Unlock()

	if first {
		close(s.closing)
		// Left to fire even when all ends sooner: it holds nothing but a channel.
		time.AfterFunc(closeGrace, func() { close(s.hurry) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = terminateAll(ctx, left)
		s.wg.Wait()
		if strays {
			endMarked(ctx, s.mark)
		}
		s.guard.end() // nothing starts any more, so nobody else writes it
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("processes are still running: %w", context.Cause(ctx))
	}
}

func terminateAll(ctx context.Context, groups []*group) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		for _, g := range groups {
			wg.Go(g.terminate)
		}
		wg.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		for _, g := range groups {
			g.signal(kill)
		}
		return fmt.Errorf("processes are still running: %w", context.Cause(ctx))
	}
}
