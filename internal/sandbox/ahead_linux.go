package sandbox

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dsh-acp/dsh-acp/internal/sandbox/launch"
)

// ahead are launchers that were started before there was a command for them. Most
// of what a confined command costs is the launcher's own start and its namespaces;
// the time for that is there while the model thinks. A command takes over a
// launcher whose namespaces are those that it wants, and all that confines it is
// in the plan that it hands over then: a launcher from before is as good as a new
// one. It does nothing but wait, and ends with the program, whose end of the
// socket closes however that ends.
type ahead struct {
	mu     sync.Mutex
	ready  map[wanted]*launcher
	closed bool
	wg     sync.WaitGroup // those that are being started
}

// launcher is a process that waits, or is about to.
type launcher struct {
	started chan struct{} // closed when the rest is known
	err     error
	process *os.Process
	line    int // our end of its socket
	expire  *time.Timer
}

// maxIdle is how long a launcher waits for a command. A session that is left alone
// needs none.
const maxIdle = 5 * time.Minute

var errNoneAhead = errors.New("no launcher is waiting")

// take gives the launcher for a command, nil when there is none. One that is being
// started is waited for: that is sooner than to start another.
func (a *ahead) take(w wanted) *launcher {
	a.mu.Lock()
	l := a.ready[w]
	delete(a.ready, w)
	if l != nil {
		l.expire.Stop()
	}
	a.mu.Unlock()
	if l == nil {
		return nil
	}
	<-l.started
	if l.err != nil {
		return nil
	}
	return l
}

// give hands a command over to a launcher that waits, with the descriptors of the
// command and, as the number of one of them says, its plan. With an error nothing
// was started.
func (a *ahead) give(w wanted, plan int, files []*os.File) (*os.Process, error) {
	if len(files) > launch.MaxFiles {
		return nil, errNoneAhead
	}
	l := a.take(w)
	if l == nil {
		return nil, errNoneAhead
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	if err := unix.Sendmsg(l.line, []byte(strconv.Itoa(plan)), unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err != nil {
		l.end()
		return nil, err
	}
	_ = unix.Close(l.line)
	return l.process, nil
}

// prepare starts a launcher for the next command that wants these namespaces, if
// there is none. It does not wait for that.
func (a *ahead) prepare(w wanted, attributes func(*syscall.SysProcAttr)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ready[w] != nil || a.closed {
		return
	}
	if a.ready == nil {
		a.ready = map[wanted]*launcher{}
	}
	l := &launcher{started: make(chan struct{})}
	l.expire = time.AfterFunc(maxIdle, func() { a.drop(w, l) })
	a.ready[w] = l
	a.wg.Go(func() {
		defer close(l.started)
		l.err = l.start(attributes)
	})
}

// drop ends a launcher if no command has taken it.
func (a *ahead) drop(w wanted, l *launcher) {
	a.mu.Lock()
	there := a.ready[w] == l
	if there {
		delete(a.ready, w)
	}
	a.mu.Unlock()
	if there {
		<-l.started
		l.end()
	}
}

// close ends all that wait, and lets none be started any more.
func (a *ahead) close() {
	a.mu.Lock()
	a.closed = true
	left := a.ready
	a.ready = nil
	a.mu.Unlock()
	a.wg.Wait()
	for _, l := range left {
		l.expire.Stop()
		l.end()
	}
}

func (l *launcher) start(attributes func(*syscall.SysProcAttr)) error {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(ends[1]), "launcher")
	defer theirs.Close()
	sys := &syscall.SysProcAttr{Setsid: true}
	attributes(sys)
	p, err := os.StartProcess("/proc/self/exe", []string{"/proc/self/exe", launch.Argument}, &os.ProcAttr{
		Dir: "/", Files: []*os.File{nil, nil, nil, theirs}, Sys: sys,
		Env: []string{launch.EnvName + "=" + launch.EnvValue, launch.EnvWait + "=3"},
	})
	if err != nil {
		_ = unix.Close(ends[0])
		return err
	}
	l.process, l.line = p, ends[0]
	return nil
}

// end ends a launcher that has no command.
func (l *launcher) end() {
	if l.process == nil {
		return
	}
	_ = unix.Close(l.line)
	_ = l.process.Kill()
	_, _ = l.process.Wait()
}

// Close ends what was started ahead of commands. Commands can still be confined
// after it.
func (b *Box) Close() { b.ahead.close() }
