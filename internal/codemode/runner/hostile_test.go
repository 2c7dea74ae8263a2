package runner

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	expectHeader  = regexp.MustCompile(`(?m)^// expect: (.+)$`)
	messageHeader = regexp.MustCompile(`(?m)^// message: (.+)$`)
)

// hostileLimits are small so that the corpus takes seconds.
var hostileLimits = Limits{
	Compute: 400 * time.Millisecond, Wall: 2 * time.Second, MemoryBytes: 128 << 20, MaxOutputBytes: 1 << 20,
}

// TestHostile runs the hostile corpus in children. After each program a fresh
// one runs; after all, no process is left and this process is as small as it
// was.
func TestHostile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "codemode", "hostile", "*.ts"))
	if err != nil || len(files) < 60 {
		t.Fatalf("%d hostile programs, %v", len(files), err)
	}
	r := New(Options{Mode: Child})
	defer r.Close()
	checkAlive(t, r)
	limits := hostileLimits
	if slow {
		limits.Compute, limits.Wall = 2*limits.Compute, 2*limits.Wall
	}
	// What a busy process holds, not a fresh one: buffers for large output and
	// long programs are there from now on.
	for range 3 {
		runSource(t, r, "for (;;) console.log('x'.repeat(1000));"+strings.Repeat("f(1);", 20_000), limits)
	}
	before := residentAfterGC(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ts")
		t.Run(name, func(t *testing.T) { runHostile(t, r, file, limits) })
	}
	checkAlive(t, r)
	r.Close()
	if left := children(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	for end := time.Now().Add(30 * time.Second); !slow && before > 0; time.Sleep(100 * time.Millisecond) {
		after := residentAfterGC(t)
		if after <= before+max(before/10, 6<<20) {
			break
		}
		if time.Now().After(end) {
			t.Errorf("resident memory grew from %d to %d KiB", before>>10, after>>10)
			break
		}
	}
}

func runHostile(t *testing.T, r *Runner, file string, limits Limits) {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := expectHeader.FindSubmatch(source)
	if m == nil {
		t.Fatal("no expectation")
	}
	start := time.Now()
	out, _ := runSource(t, r, string(source), limits)
	expected := strings.Fields(string(m[1]))
	if f := out.Failure; f != nil && f.Kind == KindTimeout && !slices.Contains(expected, "timeout") {
		// A loaded machine computes slowly: what is to end otherwise gets more time.
		limits.Compute, limits.Wall = 20*limits.Compute, 20*limits.Wall
		start = time.Now()
		out, _ = runSource(t, r, string(source), limits)
	}
	elapsed := time.Since(start)
	kind, message := "ok", ""
	if out.Failure != nil {
		kind, message = string(out.Failure.Kind), out.Failure.Message
	}
	t.Logf("%s after %v: %s", kind, elapsed.Round(time.Millisecond), clip(message, 300))
	if slow && kind == "worker-exit" && strings.Contains(message, "code 66") {
		// The race detector's own memory counts against the worker's limit, and it
		// ends the process with this code when it gets no more.
		checkAlive(t, r)
		t.Skip("the race detector needs more memory than the worker may have")
	}
	if !slices.Contains(expected, kind) {
		t.Errorf("ended as %s, want %s", kind, m[1])
	}
	if m := messageHeader.FindSubmatch(source); m != nil && !bytes.Contains([]byte(message), m[1]) && kind != "ok" {
		t.Errorf("message lacks %q: %s", m[1], message)
	}
	if strings.Contains(message, "goroutine ") || strings.Contains(message, ".go:") {
		t.Errorf("the message shows our own insides: %s", message)
	}
	if limit := limits.Wall + hang; elapsed > limit {
		t.Errorf("took %v, more than %v", elapsed, limit)
	}
	checkAlive(t, r)
}

func checkAlive(t *testing.T, r *Runner) {
	t.Helper()
	if out, _ := runSource(t, r, "return 6 * 7", Limits{}); !out.OK || out.Value.String() != "42" {
		t.Fatalf("a fresh program fails: %+v", out.Failure)
	}
}

// children are the ids of this process's children, where /proc tells.
func children(t *testing.T) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	var out []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			out = append(out, pid)
		}
	}
	return out
}

// residentAfterGC is this process's resident memory in bytes, 0 if unknown.
func residentAfterGC(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	return resident(os.Getpid())
}

func resident(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// hang is how far past its limit a run must be to count as one that does not
// end: test machines have other things to do.
const hang = 40 * time.Second

// TestCancel ends programs of every sort within 100 ms of the cancellation. A
// loaded machine gets several tries, and more and more time.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		for name, source := range map[string]string{
			"loop": "for (;;) {}", "microtasks": "for (;;) await null", "sleep": "await new Promise(r => setTimeout(r, 1e6))",
			"tool": "await tools.sleep({ms: 1e6})",
		} {
			t.Run(name, func(t *testing.T) {
				late := time.Duration(0)
				for try := range 12 {
					if late = cancelled(t, r, source); late <= 100*time.Millisecond<<(try/2) {
						return
					}
				}
				t.Errorf("returned %v after the cancellation", late)
			})
		}
	})
}

// cancelled runs a program, cancels it, and says how long it took to return.
func cancelled(t *testing.T, r *Runner, source string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var asked time.Time
	h := &fakeHost{onLog: func() {
		time.AfterFunc(30*time.Millisecond, func() { asked = time.Now(); cancel(errStop) })
	}}
	out := r.Run(ctx, Program{Source: "console.log('begun');" + source, Tools: fakeTools}, h)
	late := time.Since(asked)
	h.wg.Wait()
	if out.Failure == nil || out.Failure.Kind != KindAbort || !strings.HasPrefix(out.Failure.Message, "stop it") {
		t.Fatalf("outcome %+v", out.Failure)
	}
	if len(out.Logs) != 1 {
		t.Errorf("output lost: %q", out.Logs)
	}
	return late
}

type stopError struct{}

func (stopError) Error() string { return "stop it" }

var errStop = stopError{}
