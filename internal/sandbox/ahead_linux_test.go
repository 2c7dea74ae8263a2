package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// aheadBox is a box of Landlock with what runs commands in it, by a launcher that
// waits or not.
type aheadBox struct {
	*Box
	t     *testing.T
	dir   string
	procs *proc.Supervisor
}

func newAheadBox(t *testing.T) *aheadBox {
	t.Helper()
	b := &aheadBox{Box: New(Landlock), t: t, procs: proc.NewSupervisor()}
	if b.Status().Mechanism == None {
		t.Skip("this machine has no Landlock")
	}
	var err error
	if b.dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	t.Cleanup(func() { _ = b.procs.Close(context.Background()) })
	return b
}

func (b *aheadBox) run(spec proc.Spec, stdin string) proc.Outcome {
	b.t.Helper()
	run, err := b.Command(Policy{Mode: WorkspaceWrite, Roots: []string{b.dir}})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	out, err := b.procs.Run(ctx, proc.Command{Spec: spec, Wrap: run.Wrap}, proc.RunOptions{Stdin: []byte(stdin)})
	if err != nil || run.Failure() != "" {
		b.t.Fatal(err, run.Failure())
	}
	return out
}

// waiting gives the launcher that the next command takes over.
func (b *aheadBox) waiting() *launcher {
	b.t.Helper()
	b.ahead.mu.Lock()
	defer b.ahead.mu.Unlock()
	for _, l := range b.ahead.ready {
		return l
	}
	return nil
}

// A command that takes over a launcher is what it would be with one of its own:
// its environment, its folder, its descriptors, its bounds.
func TestTakenOverLauncherIsAsGoodAsANewOne(t *testing.T) {
	b := newAheadBox(t)
	sub := filepath.Join(b.dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	extra, err := os.CreateTemp(t.TempDir(), "extra")
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	spec := proc.Spec{
		Args: []string{"bash", "-c", `env | grep -v '^DSH_RUN_ID=' | sort; pwd; cat; ls /proc/self/fd; readlink /proc/$$/fd/3; echo err >&2
			grep -E '^(Cap|NoNewPrivs|Seccomp|SigBlk|SigIgn|Threads)' /proc/self/status; ulimit -a; umask
			ps -o sid= -p $$ | grep -qw $$ && echo leads; echo x > ../escaped-from-"$1" || true; echo x > ../../escaped || true`, "name", "sub"},
		Env: []string{"PATH=" + os.Getenv("PATH"), "A=1", "B=with space\nand line", "A=2", "EMPTY="}, Dir: sub, ExtraFiles: []*os.File{extra},
	}
	first := b.run(spec, "the input\n")
	l := b.waiting()
	if l == nil {
		t.Fatal("no launcher waits after a command")
	}
	second := b.run(spec, "the input\n")
	if now := b.waiting(); now == l || now == nil {
		t.Error("the launcher was not taken over")
	}
	if first.Exit != second.Exit || first.Stdout.Text != second.Stdout.Text || first.Stderr.Text != second.Stderr.Text {
		t.Errorf("new:\n%v\n%s%s\ntaken over:\n%v\n%s%s", first.Exit, first.Stdout.Text, first.Stderr.Text, second.Exit, second.Stdout.Text, second.Stderr.Text)
	}
	for _, want := range []string{"A=2\n", "B=with space\n", "and line\n", "EMPTY=\n", sub + "\n", "the input\n", extra.Name() + "\n", "leads\n"} {
		if !strings.Contains(second.Stdout.Text, want) {
			t.Errorf("%q is not in\n%s", want, second.Stdout.Text)
		}
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(b.dir), "escaped")); err == nil {
		t.Error("written outside")
	}
}

// Whoever kills a launcher that waits gains nothing: the command gets a new one.
func TestKilledLauncherIsReplaced(t *testing.T) {
	b := newAheadBox(t)
	spec := proc.Spec{Args: []string{"sh", "-c", "echo ran"}, Dir: b.dir}
	b.run(spec, "")
	l := b.waiting()
	<-l.started
	if err := l.process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Its end of the socket is closed once it has ended.
	for fds := []unix.PollFd{{Fd: int32(l.line), Events: unix.POLLRDHUP}}; ; {
		if n, err := unix.Poll(fds, 60_000); err == unix.EINTR {
			continue
		} else if n != 1 {
			t.Fatalf("the killed launcher does not end: %v", err)
		}
		break
	}
	if out := b.run(spec, ""); out.Stdout.Text != "ran\n" || out.Code != 0 {
		t.Errorf("%+v", out)
	}
}

// Few descriptors are enough for a launcher that waits, as they are for a new one.
func TestLauncherNeedsFewDescriptors(t *testing.T) {
	b := newAheadBox(t)
	spec := proc.Spec{Args: []string{"sh", "-c", "ulimit -n"}, Dir: b.dir}
	b.run(spec, "")
	l := b.waiting()
	<-l.started
	if err := unix.Prlimit(l.process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 40, Max: 40}, nil); err != nil {
		t.Skip("a launcher's limits cannot be set:", err)
	}
	if out := b.run(spec, ""); out.Stdout.Text != "40\n" || out.Code != 0 {
		t.Errorf("%+v", out)
	}
}

// A launcher ends when the program has gone, without anybody telling it.
func TestLauncherEndsWithItsProgram(t *testing.T) {
	b := newAheadBox(t)
	b.run(proc.Spec{Args: []string{"true"}, Dir: b.dir}, "")
	l := b.ahead.take(b.key(t))
	if l == nil {
		t.Fatal("no launcher waits")
	}
	_ = unix.Close(l.line)
	if state, err := l.process.Wait(); err != nil || state.ExitCode() != 0 {
		t.Errorf("%v, %v", state, err)
	}
}

func (b *aheadBox) key(t *testing.T) wanted {
	t.Helper()
	b.ahead.mu.Lock()
	defer b.ahead.mu.Unlock()
	for w := range b.ahead.ready {
		return w
	}
	t.Fatal("no launcher waits")
	return wanted{}
}

func TestCloseEndsWhatWaits(t *testing.T) {
	b := newAheadBox(t)
	spec := proc.Spec{Args: []string{"sh", "-c", "echo ran"}, Dir: b.dir}
	b.run(spec, "")
	l := b.waiting()
	b.Close()
	b.Close()
	if l.process == nil || l.process.Signal(unix.Signal(0)) == nil {
		t.Error("the launcher still runs")
	}
	if out := b.run(spec, ""); out.Stdout.Text != "ran\n" {
		t.Errorf("%+v", out)
	}
	if b.waiting() != nil {
		t.Error("a launcher was started after the end")
	}
}

func TestIdleLauncherIsDropped(t *testing.T) {
	b := newAheadBox(t)
	b.run(proc.Spec{Args: []string{"true"}, Dir: b.dir}, "")
	w, l := b.key(t), b.waiting()
	b.ahead.drop(w, l)
	if b.waiting() != nil || l.process.Signal(unix.Signal(0)) == nil {
		t.Error("it still waits")
	}
	b.ahead.drop(w, l) // the timer may come late
}
