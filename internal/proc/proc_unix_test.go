//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// supervised gives a supervisor that must be able to end everything.
func supervised(t testing.TB) *Supervisor {
	s := NewSupervisor()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func bash(script string) Command {
	return Command{Spec: Spec{Args: []string{"bash", "-c", script}, Env: os.Environ()}}
}

func run(t testing.TB, s *Supervisor, ctx context.Context, c Command, o RunOptions) Outcome {
	t.Helper()
	out, err := s.Run(ctx, c, o)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return out
}

// alive says whether the process runs; a zombie does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		return !bytes.Contains(stat, []byte(") Z "))
	}
	return runtime.GOOS != "linux" && syscall.Kill(pid, 0) == nil
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); alive(pid); {
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", pid)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// begun runs a command that prints a line and goes on, with longer and longer
// timeouts until one is over after that line and not before it.
func begun(t *testing.T, s *Supervisor, c Command) Outcome {
	t.Helper()
	for limit := 100 * time.Millisecond; ; limit *= 3 {
		if out := run(t, s, t.Context(), c, RunOptions{Timeout: limit}); out.Stdout.Text != "" || limit > 30*time.Second {
			return out
		}
	}
}

func pidFrom(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		data, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			return pid
		}
	}
	t.Fatalf("no pid appeared in %s", file)
	return 0
}

func TestRunReportsExitAndOutput(t *testing.T) {
	tests := []struct {
		script         string
		want           Exit
		stdout, stderr string
	}{
		{"echo hi", Exit{Code: 0}, "hi\n", ""},
		{"echo oops >&2; exit 3", Exit{Code: 3}, "", "oops\n"},
		{"kill -9 $$", Exit{Code: -1, Signal: "SIGKILL"}, "", ""},
		{"cat; echo end", Exit{Code: 0}, "end\n", ""},
		{"printf 'a\\xffb\\xe2\\x82'", Exit{Code: 0}, "a\uFFFDb\uFFFD", ""},
		{"printf '\\xe2\\x82\\xac'", Exit{Code: 0}, "€", ""},
	}
	s := supervised(t)
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			out := run(t, s, t.Context(), bash(tt.script), RunOptions{})
			if out.Exit != tt.want || out.Stdout.Text != tt.stdout || out.Stderr.Text != tt.stderr {
				t.Errorf("got %+v %q %q, want %+v %q %q", out.Exit, out.Stdout.Text, out.Stderr.Text, tt.want, tt.stdout, tt.stderr)
			}
			if out.TimedOut || out.Aborted || out.Background || out.Stdout.Truncated {
				t.Errorf("unexpected flags: %+v", out)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PROC_TEST", "inherited")
	s := supervised(t)
	c := bash("echo $PROC_TEST")
	c.Env = nil
	if out := run(t, s, t.Context(), c, RunOptions{}); out.Stdout.Text != "inherited\n" {
		t.Errorf("got %q", out.Stdout.Text)
	}
	c.Env = []string{"PROC_TEST=given"}
	if out := run(t, s, t.Context(), c, RunOptions{}); out.Stdout.Text != "given\n" {
		t.Errorf("got %q", out.Stdout.Text)
	}
}

func TestRunFeedsStdin(t *testing.T) {
	s := supervised(t)
	big := strings.Repeat("0123456789\n", 20_000)
	if out := run(t, s, t.Context(), bash("wc -c"), RunOptions{Stdin: []byte(big)}); strings.TrimSpace(out.Stdout.Text) != strconv.Itoa(len(big)) {
		t.Errorf("the command read %q bytes, want %d", out.Stdout.Text, len(big))
	}
	// A command that does not read must not hold anything back.
	if out := run(t, s, t.Context(), bash("exit 4"), RunOptions{Stdin: []byte(big)}); out.Code != 4 {
		t.Errorf("exit %+v", out.Exit)
	}
}

func TestCommandHasNoTerminal(t *testing.T) {
	s := supervised(t)
	out := run(t, s, t.Context(), bash("(exec 3</dev/tty) 2>/dev/null && echo terminal || echo none; [ -t 0 ] && echo tty0; ps -o pgid= -p $$ | tr -d ' '; echo $$"), RunOptions{})
	lines := strings.Fields(out.Stdout.Text)
	if len(lines) < 1 || lines[0] != "none" {
		t.Fatalf("got %q, want no terminal", out.Stdout.Text)
	}
	if len(lines) == 3 && lines[1] != lines[2] {
		t.Errorf("process group %s is not the shell's own %s", lines[1], lines[2])
	}
}

func TestTimeoutEndsTheGroup(t *testing.T) {
	s := supervised(t)
	out := begun(t, s, bash("echo before; sleep 100; echo after"))
	if !out.TimedOut || out.Aborted || out.Signal != "SIGTERM" || out.Stdout.Text != "before\n" {
		t.Errorf("got %+v", out)
	}
}

func TestSIGKILLFollowsTheGrace(t *testing.T) {
	s := supervised(t)
	c := bash("trap '' TERM; echo up; while :; do sleep 0.05; done")
	c.Grace = 200 * time.Millisecond
	out := begun(t, s, c)
	if !out.TimedOut || out.Signal != "SIGKILL" {
		t.Errorf("got %+v", out)
	}
}

func TestCancelKillsGrandchildren(t *testing.T) {
	s := supervised(t)
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	ctx, cancel := context.WithCancel(t.Context())
	c := bash(fmt.Sprintf("(trap '' TERM; sleep 100 & echo $! > %s; wait) & wait", pidFile))
	c.Grace = 100 * time.Millisecond
	done := make(chan Outcome)
	go func() { done <- run(t, s, ctx, c, RunOptions{}) }()
	pid := pidFrom(t, pidFile)
	cancel()
	out := <-done
	if !out.Aborted || out.Background {
		t.Errorf("got %+v", out)
	}
	waitGone(t, pid)
	if n := s.Live(); n != 0 {
		t.Errorf("%d groups still known", n)
	}
}

func TestCancelReachesWhatLeftTheGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not show a process's environment")
	}
	s := supervised(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	c := bash(fmt.Sprintf(`setsid bash -c 'trap "" TERM; echo $$ > %s; while :; do sleep 0.05; done' & wait`, pidFile))
	done := make(chan Outcome)
	go func() { done <- run(t, s, ctx, c, RunOptions{}) }()
	pid := pidFrom(t, pidFile)
	cancel()
	<-done
	waitGone(t, pid)
}

func TestBackgroundChildDoesNotHoldTheCommandBack(t *testing.T) {
	s := supervised(t)
	dir := t.TempDir()
	for i, script := range []string{
		"sleep 100 & echo hi",
		"setsid sleep 100 & echo hi",
		"(setsid sleep 100 &) ; echo hi",
	} {
		t.Run(script, func(t *testing.T) {
			pidFile := filepath.Join(dir, strconv.Itoa(i))
			script := strings.Replace(script, "sleep 100", "bash -c 'echo $$ > "+pidFile+"; exec sleep 100'", 1)
			// Before that, it may not have left the group.
			script = strings.Replace(script, "echo hi", "until [ -s "+pidFile+" ]; do sleep 0.01; done; echo hi", 1)
			out := run(t, s, t.Context(), bash(script), RunOptions{})
			if out.Stdout.Text != "hi\n" || out.Code != 0 || out.TimedOut {
				t.Errorf("got %+v", out)
			}
			if out.Duration > 50*time.Second {
				t.Errorf("took %v", out.Duration)
			}
			pid := pidFrom(t, pidFile)
			if !alive(pid) {
				t.Error("the background child was ended")
			}
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			if inGroup := !strings.Contains(script, "setsid"); inGroup != out.Background {
				t.Errorf("Background is %v, want %v", out.Background, inGroup)
			}
		})
	}
}

func TestChattyBackgroundChildIsLeftAfterTheDrainLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as the drain limit")
	}
	s := supervised(t)
	// Several, so that a busy machine does not make them all fall silent; should it
	// do so, they are tried again.
	c := bash("for i in 1 2 3 4 5 6; do (while :; do echo tick; done) & done; echo hi")
	c.Owner = "ticks"
	for range 20 {
		out := run(t, s, t.Context(), c, RunOptions{})
		if out.Duration > drainLimit+time.Minute || !out.Background {
			t.Fatalf("took %v, background %v", out.Duration, out.Background)
		}
		if out.Duration >= drainLimit {
			return
		}
		if err := s.CloseOwner(t.Context(), "ticks"); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("it was never waited for")
}

func TestEndGroupEndsBackgroundChildren(t *testing.T) {
	s := supervised(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	out := run(t, s, t.Context(), bash("sleep 100 & echo $! > "+pidFile), RunOptions{EndGroup: true})
	if out.Background || out.Code != 0 {
		t.Errorf("got %+v", out)
	}
	waitGone(t, pidFrom(t, pidFile))
}

func TestCloseOwnerEndsItsLeftovers(t *testing.T) {
	s := supervised(t)
	dir := t.TempDir()
	pids := map[string]int{}
	for _, owner := range []string{"one", "two"} {
		c := bash("sleep 100 & echo $! > " + filepath.Join(dir, owner))
		c.Owner = owner
		run(t, s, t.Context(), c, RunOptions{})
		pids[owner] = pidFrom(t, filepath.Join(dir, owner))
	}
	if err := s.CloseOwner(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	waitGone(t, pids["one"])
	if !alive(pids["two"]) {
		t.Error("somebody else's process was ended")
	}
}

func TestCloseEndsEverything(t *testing.T) {
	s := NewSupervisor()
	dir := t.TempDir()
	stubborn := "trap '' TERM; echo $$ > %s; while :; do sleep 0.05; done"
	left := filepath.Join(dir, "left")
	run(t, s, t.Context(), bash("("+fmt.Sprintf(strings.Replace(stubborn, "$$", "$BASHPID", 1), left)+") >/dev/null 2>&1 &"), RunOptions{})
	running := filepath.Join(dir, "running")
	done := make(chan Outcome)
	go func() { done <- run(t, s, t.Context(), bash(fmt.Sprintf(stubborn, running)), RunOptions{}) }()
	piped, err := s.Start(bash("cat"), StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leftPID, runningPID := pidFrom(t, left), pidFrom(t, running)

	// They would all run for ever.
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if out := <-done; !out.Aborted {
		t.Errorf("got %+v", out)
	}
	<-piped.Done()
	piped.Release()
	waitGone(t, leftPID)
	waitGone(t, runningPID)
	if _, err := s.Run(t.Context(), bash("true"), RunOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	s := supervised(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	released := 0
	wrap := func(*Spec) (func(), error) { return func() { released++ }, nil }
	tests := []struct {
		c    Command
		want string
	}{
		{Command{Spec: Spec{Args: []string{"bash"}, Dir: filepath.Join(dir, "none")}, Wrap: wrap}, `does not exist`},
		{Command{Spec: Spec{Args: []string{"bash"}, Dir: file}, Wrap: wrap}, `is not a directory`},
		{Command{Spec: Spec{Args: []string{"no-such-program-at-all"}}, Wrap: wrap}, `cannot start "no-such-program-at-all"`},
		{Command{}, "no program"},
		{Command{Spec: Spec{Args: []string{"true"}}, Wrap: func(*Spec) (func(), error) { return nil, errors.New("no sandbox here") }}, "no sandbox here"},
	}
	for _, tt := range tests {
		_, err := s.Run(t.Context(), tt.c, RunOptions{})
		var se *StartError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want a StartError with %q", err, tt.want)
		}
	}
	if released != 3 {
		t.Errorf("release was called %d times, want 3", released)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("changed my mind")
	cancel(why)
	if _, err := s.Run(ctx, bash("true"), RunOptions{}); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestWrapperRewritesTheCommand(t *testing.T) {
	s := supervised(t)
	released := make(chan struct{})
	c := bash("echo $0 $WRAPPED")
	c.Wrap = func(spec *Spec) (func(), error) {
		spec.Args = append([]string{"env", "WRAPPED=yes"}, spec.Args...)
		spec.Args = append(spec.Args, "inner")
		return func() { close(released) }, nil
	}
	out := run(t, s, t.Context(), c, RunOptions{})
	if out.Stdout.Text != "inner yes\n" {
		t.Errorf("got %q", out.Stdout.Text)
	}
	<-released
}

func TestLiveOutputComesInWholeCharacters(t *testing.T) {
	s := supervised(t)
	var live [3]bytes.Buffer
	var calls atomic.Int32
	out := run(t, s, t.Context(), bash(`printf '\xe2\x82'; sleep 0.1; printf '\xacx'; printf '\xff' >&2; printf '\xe2'`), RunOptions{
		OnOutput: func(st Stream, p []byte) {
			calls.Add(1)
			if !utf8.Valid(p) {
				t.Errorf("chunk %q is no UTF-8", p)
			}
			live[st].Write(p)
		},
	})
	if got := live[Stdout].String(); got != "€x\uFFFD" || got != out.Stdout.Text {
		t.Errorf("live %q, collected %q", got, out.Stdout.Text)
	}
	if got := live[Stderr].String(); got != "\uFFFD" {
		t.Errorf("live stderr %q", got)
	}
}

func TestLargeOutputCostsConstantMemory(t *testing.T) {
	s := supervised(t)
	const size = 200 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var live int64
	out := run(t, s, t.Context(), bash(fmt.Sprintf("yes 0123456789abcdef | head -c %d", size)), RunOptions{
		SpillDir: t.TempDir(), SpillName: "big",
		OnOutput: func(_ Stream, p []byte) { live += int64(len(p)) },
	})
	runtime.ReadMemStats(&after)
	if out.Stdout.Total != size || live != size || !out.Stdout.Truncated || len(out.Stdout.Text) > DefaultLimit {
		t.Errorf("total %d, live %d, text of %d bytes", out.Stdout.Total, live, len(out.Stdout.Text))
	}
	if out.Stdout.SpillPath != "" {
		t.Errorf("a spill file over the limit was kept: %s", out.Stdout.SpillPath)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
		t.Errorf("%d bytes were allocated for %d bytes of output", allocated, size)
	}
}

func TestSpillFileHoldsTheWholeStream(t *testing.T) {
	s := supervised(t)
	dir := t.TempDir()
	out := run(t, s, t.Context(), bash("seq 1 40000"), RunOptions{SpillDir: dir, SpillName: "seq"})
	if !out.Stdout.Truncated || out.Stderr.Truncated || out.Stderr.SpillPath != "" {
		t.Fatalf("got %+v", out)
	}
	data, err := os.ReadFile(out.Stdout.SpillPath)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) != out.Stdout.Total || !bytes.HasSuffix(data, []byte("\n40000\n")) {
		t.Errorf("the file has %d of %d bytes", len(data), out.Stdout.Total)
	}
	if info, _ := os.Stat(out.Stdout.SpillPath); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	text := out.Stdout.Text
	if !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "\n40000\n") || !strings.Contains(text, " bytes omitted ...]\n") {
		t.Errorf("text begins %q and ends %q", text[:20], text[len(text)-20:])
	}
}

func TestNoDescriptorOrGoroutineIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts /proc/self/fd")
	}
	s := supervised(t)
	count := func() (int, int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds), runtime.NumGoroutine()
	}
	once := func() {
		run(t, s, t.Context(), bash("echo x; echo y >&2"), RunOptions{Stdin: []byte("in")})
		run(t, s, t.Context(), bash("sleep 100"), RunOptions{Timeout: time.Millisecond})
		_, _ = s.Run(t.Context(), Command{Spec: Spec{Args: []string{"no-such-program-at-all"}}}, RunOptions{Stdin: []byte("in")})
		p, err := s.Start(bash("cat"), StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.Stop(t.Context())
	}
	once()
	fds, goroutines := count()
	for range 20 {
		once()
	}
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		nowFDs, nowGoroutines := count()
		if nowFDs <= fds && nowGoroutines <= goroutines {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("descriptors %d → %d, goroutines %d → %d", fds, nowFDs, goroutines, nowGoroutines)
		}
	}
}

func TestPipedProcess(t *testing.T) {
	s := supervised(t)
	var logged bytes.Buffer
	p, err := s.Start(bash("echo ready >&2; while read -r line; do echo \"got $line\"; done; echo bye >&2; exit 7"), StartOptions{OnStderr: func(b []byte) { logged.Write(b) }})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(p.Stdin, "one")
	buf := make([]byte, 64)
	n, err := p.Stdout.Read(buf)
	if err != nil || string(buf[:n]) != "got one\n" {
		t.Fatalf("read %q, %v", buf[:n], err)
	}
	if e := p.Stop(t.Context()); e.Code != 7 {
		t.Errorf("exit %v", e)
	}
	if p.Stderr().Text != "ready\nbye\n" || logged.String() != "ready\nbye\n" {
		t.Errorf("stderr %q, logged %q", p.Stderr().Text, logged.String())
	}
	if _, err := io.ReadAll(p.Stdout); err == nil {
		t.Error("stdout was not closed")
	}
}

func TestStopWalksTheLadderWhenStdinIsIgnored(t *testing.T) {
	s := supervised(t)
	p, err := s.Start(bash("sleep 100"), StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if e := p.Stop(ctx); e.Signal != "SIGTERM" {
		t.Errorf("exit %v", e)
	}
}

func BenchmarkRunTrue(b *testing.B) {
	s := supervised(b)
	for b.Loop() {
		run(b, s, context.Background(), bash("true"), RunOptions{})
	}
}

func BenchmarkOutput(b *testing.B) {
	s := supervised(b)
	const size = 64 << 20
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		run(b, s, context.Background(), bash(fmt.Sprintf("yes 0123456789abcdef | head -c %d", size)), RunOptions{SpillDir: b.TempDir()})
	}
}
