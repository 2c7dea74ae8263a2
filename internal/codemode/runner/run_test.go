package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
)

// TestFailures checks the failure texts, with lines and hints.
func TestFailures(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		for name, c := range map[string]struct {
			source  string
			limits  Limits
			kind    Kind
			line    int
			message string // the whole of it
		}{
			"throw":           {"function f() {\n  throw new RangeError('too far');\n}\nf();", Limits{}, KindException, 2, "RangeError: too far\n    at f, line 2, column 9: throw new RangeError('too far');\n    at line 4, column 1"},
			"custom error":    {"class MyError extends Error { name = 'MyError' }\nthrow new MyError('m');", Limits{}, KindException, 2, "MyError: m\n    at line 2, column 7: throw new MyError('m');"},
			"not a function":  {"const file: any = {};\nreturn file.readAll(1);", Limits{}, KindException, 2, "TypeError: file.readAll is not a function\n    at line 2, column 13: return file.readAll(1);"},
			"of undefined":    {"const o: any = {};\n\nreturn o.a.b;", Limits{}, KindException, 3, "TypeError: Cannot read property 'b' of undefined\n    at line 3, column 12: return o.a.b;"},
			"no callback":     {"const o: any = {};\n[1].map(o.f);", Limits{}, KindException, 2, "TypeError: undefined is not a function\n    at line 2, column 5: [1].map(o.f);"},
			"callback object": {"[1].forEach({} as any);", Limits{}, KindException, 1, "TypeError: [object Object] is not a function\n    at line 1, column 5: [1].forEach({} as any);"},
			"no class":        {"const o: any = {};\nnew o.Thing(1);", Limits{}, KindException, 2, "TypeError: o.Thing is not a constructor\n    at line 2, column 1: new o.Thing(1);"},
			"no constructor":  {"const o: any = {};\nnew o();", Limits{}, KindException, 2, "TypeError: o is not a constructor\n    at line 2, column 1: new o();"},
			"no resolver":     {"new Promise(undefined as any);", Limits{}, KindException, 1, "TypeError: what a Promise is made with is not a function\n    at line 1, column 1: new Promise(undefined as any);"},
			"destructuring":   {"const f = () => null as any;\nconst { a } = f();", Limits{}, KindException, 2, "TypeError: cannot destructure undefined or null\n    at line 2, column 15: const { a } = f();"},
			"error subclass": {
				"class E extends Error {\n  constructor(m: string) {\n    super(m);\n  }\n}\nclass F extends E { constructor() { super('x'); this.name = 'F' } }\nfunction g() { throw new F(); }\ng();",
				Limits{},
				KindException, 7, "F: x\n    at g, line 7, column 22: function g() { throw new F(); }\n    at line 8, column 1",
			},
			"endless recursion": {"function f(): any { return f() }\ntry { f() } catch {}", Limits{}, KindException, 1, "RangeError: Maximum call stack size exceeded\n    at f, line 1, column 28: function f(): any { return f() }" + strings.Repeat("\n    at f, line 1, column 28", 9) + "\nmore than 10000 calls are open at once: a recursion does not end; a program cannot catch this"},
			"wrong tool":        {"await tools.ehco({});", Limits{}, KindException, 1, "TypeError: tools.ehco is not a function\n    at line 1, column 13: await tools.ehco({});\nhint: there is no tool \"ehco\"; did you mean tools.echo?"},
			"wrong tool name":   {"await tools.my_tool({});", Limits{}, KindException, 1, "TypeError: tools.my_tool is not a function\n    at line 1, column 13: await tools.my_tool({});\nhint: there is no tool \"my_tool\"; did you mean tools[\"my-tool\"]?"},
			"unknown tool":      {"await tools.xyzzy({});", Limits{}, KindException, 1, "TypeError: tools.xyzzy is not a function\n    at line 1, column 13: await tools.xyzzy({});\nhint: there is no tool \"xyzzy\"; the tools are echo, sleep, fail, noop, my-tool"},
			"bare tool":         {"await echo({});", Limits{}, KindException, 1, "ReferenceError: echo is not defined\n    at line 1, column 7: await echo({});\nhint: tools are members of tools: tools.echo(...)"},
			"no network":        {"await fetch('http://x');", Limits{}, KindException, 1, "ReferenceError: fetch is not defined\n    at line 1, column 7: await fetch('http://x');\nhint: a program has no network; every effect is a call of a tool"},
			"tool failure":      {"const r =\n  await tools.fail({message: 'no such file'});", Limits{}, KindException, 2, "ToolCallError: no such file\n    at line 2, column 15: await tools.fail({message: 'no such file'});"},
			"lossy argument":    {"await tools.echo({when: [new Date(0)]});", Limits{}, KindException, 1, "ToolCallError: binding arguments must be lossless JSON\n    at line 1, column 13: await tools.echo({when: [new Date(0)]});\nthe argument at .when[0] is a Date; use x.toISOString()"},
			"lossy result":      {"return {a: [tools.noop({})]};", Limits{}, KindInvalidOutput, 0, "program completion must be lossless JSON\nthe returned value at .a[0] is a Promise; await it"},
			"cause":             {"throw new Error('outer', {cause: new Error('inner')});", Limits{}, KindException, 1, ""},
			"thrown object":     {"throw {code: 7};", Limits{}, KindException, 0, "[object Object]\nthrown value: { code: 7 }"},
			"deadlock":          {"async function never() {\n  await new Promise(() => {});\n}\nawait never();", Limits{}, KindTimeout, 2, "the program waits on a promise that nothing can resolve\n    waiting at never, line 2, column 9: await new Promise(() => {});\n    waiting at line 4, column 7\nno tool call and no timer is pending, so it would wait forever"},
			"compute":           {"let n = 0;\nfor (;;) n++;", Limits{Compute: 500 * time.Millisecond}, KindTimeout, 2, ""},
			"unhandled":         {"Promise.reject(new Error('lost'));\nreturn 1;", Limits{}, KindException, 1, "Error: lost\n    at line 1, column 16: Promise.reject(new Error('lost'));\nthe promise that failed was never awaited, and nothing handled its rejection"},
			"timer throws":      {"setTimeout(() => { throw new Error('in timer') }, 1);\nawait new Promise(r => setTimeout(r, 1000));", Limits{}, KindException, 1, "Error: in timer\n    at line 1, column 26: setTimeout(() => { throw new Error('in timer') }, 1);"},
			"syntax":            {"const a = ;", Limits{}, KindException, 1, "SyntaxError: Unexpected \";\"\n    at line 1, column 11: const a = ;"},
			"eval syntax":       {"eval('const a = ;')", Limits{}, KindException, 1, ""},
			"lowered":           {"enum E { A }\nfor await (const x of [1]) {\n  (x as any).y.f();\n}", Limits{}, KindException, 3, ""},
			"recursion":         {"const f = (): any => f();\nf();", Limits{}, KindException, 1, ""},
			"wall":              {"await tools.sleep({ms: 60000})", Limits{Wall: 100 * time.Millisecond}, KindTimeout, 0, ""},
		} {
			t.Run(name, func(t *testing.T) {
				out, _ := runSource(t, r, c.source, c.limits)
				f := out.Failure
				if f == nil {
					t.Fatalf("ran to %s", out.Value)
				}
				if f.Kind != c.kind || c.message != "" && f.Message != c.message {
					t.Errorf("%s: %q\nwant %s: %q", f.Kind, f.Message, c.kind, c.message)
				}
				if f.Line != c.line {
					t.Errorf("line %d, want %d: %s", f.Line, c.line, f.Message)
				}
				if f.Line > 0 && f.SourceLine != strings.Split(c.source, "\n")[f.Line-1] {
					t.Errorf("source line %q", f.SourceLine)
				}
			})
		}
	})
}

// TestForms runs the shapes of programs that models write.
func TestForms(t *testing.T) {
	r := New(Options{Mode: InProcess})
	defer r.Close()
	for source, want := range map[string]string{
		"return await tools.echo(7)":                                     "7",
		"async function main() { return await tools.echo(7) }":           "7",
		"async () => { return 7 };":                                      "7",
		"(async () => { return await tools.echo(7) })();":                "7",
		"(async () => { return 7 })":                                     "7",
		"function run(t: any) { return typeof t.echo }":                  `"function"`,
		"export default async function () { return 7 }":                  "7",
		"const a: number = 7;\nexport default a;":                        "7",
		"export const helper = () => 7;\nexport default () => helper();": "7",
		"async function f() { return 6 }\nreturn await f() + 1;":         "7",
		"// comment\n/* more */ async () => 7":                           "7",
		"async (t) => (await t.echo({a: 7})).a":                          "7",
		"const x = 7":                                                    "",
	} {
		out, _ := runSource(t, r, source, Limits{})
		got := ""
		if !out.Value.IsUndefined() {
			got = out.Value.String()
		}
		if !out.OK || got != want {
			t.Errorf("%s: %s, want %s (%+v)", source, got, want, out.Failure)
		}
	}
}

func TestCallsInOrder(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		out, h := runSource(t, r, "const p = [];\nfor (let i = 0; i < 1000; i++) p.push(tools.echo({i}));\nreturn (await Promise.all(p)).every((x, i) => x.i === i)", Limits{})
		if !out.OK || out.Value.String() != "true" {
			t.Fatalf("%+v", out)
		}
		for i, c := range h.calls {
			if c.N != i+1 || c.Arguments.Get("i").String() != strconv.Itoa(i) || c.Line != 2 || !strings.Contains(c.SourceLine, "tools.echo") {
				t.Fatalf("call %d: %+v", i, c)
			}
		}
	})
}

func TestUnawaited(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		out, _ := runSource(t, r, "tools.sleep({ms: 60000});\nvoid tools.sleep({ms: 60000});\nreturn 'early'", Limits{})
		if !out.OK || len(out.Unawaited) != 2 || out.Unawaited[1].Line != 2 || out.Unawaited[0].Name != "sleep" {
			t.Fatalf("%+v", out)
		}
	})
}

// TestLogsAreEager kills a program and expects everything printed before.
func TestLogsAreEager(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		var out Outcome
		var h *fakeHost
		// On a slow machine the time may be over before all is printed.
		for compute := 200 * time.Millisecond; compute < time.Minute; compute *= 4 {
			out, h = runSource(t, r, "for (let i = 0; i < 100; i++) console.log('line', i);\nfor (;;) {}", Limits{Compute: compute})
			if len(out.Logs) == 100 {
				break
			}
		}
		if len(out.Logs) != 100 || len(h.logs) != 100 || out.Logs[99] != "line 99" || out.Failure == nil {
			t.Fatalf("%d logs, %d live, %+v", len(out.Logs), len(h.logs), out.Failure)
		}
	})
}

// pausingHost pauses the wall clock during its calls, as an approval does.
type pausingHost struct {
	fakeHost
	pause time.Duration
}

func (h *pausingHost) Submit(_ context.Context, c Call, settle func(Reply)) {
	resume := c.PauseWall()
	h.wg.Go(func() {
		time.Sleep(h.pause)
		resume()
		resume() // once counts
		settle(Reply{Value: []byte("1")})
	})
}

func TestWallPauses(t *testing.T) {
	r := New(Options{Mode: Child})
	defer r.Close()
	// Where all but the pause takes too long already, everything has more time.
	for wall := 300 * time.Millisecond; ; wall *= 3 {
		out := r.Run(context.Background(), Program{
			Source: "return await tools.ask({})", Tools: []string{"ask"}, Limits: Limits{Wall: wall},
		}, &pausingHost{pause: wall + 100*time.Millisecond})
		if out.OK {
			break
		}
		if wall > 10*time.Second {
			t.Fatalf("%+v", out.Failure)
		}
	}
	out := r.Run(context.Background(), Program{
		Source: "await tools.ask({}); await new Promise(r => setTimeout(r, 10000))", Tools: []string{"ask"},
		Limits: Limits{Wall: 300 * time.Millisecond},
	}, &pausingHost{pause: 400 * time.Millisecond})
	if out.Failure == nil || !strings.HasPrefix(out.Failure.Message, "wall-clock ceiling reached (300ms)") {
		t.Fatalf("%+v", out)
	}
}

// TestWaitingIsFree waits longer than the compute budget.
func TestWaitingIsFree(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		// Where all but the waiting takes too long already, everything has more time.
		for n := 1; ; n *= 3 {
			source := fmt.Sprintf("await tools.sleep({ms: %d}); await new Promise(r => setTimeout(r, %d)); return 1", 400*n, 300*n)
			out, _ := runSource(t, r, source, Limits{Compute: time.Duration(300*n) * time.Millisecond})
			if out.OK && out.Busy <= time.Duration(250*n)*time.Millisecond {
				return
			}
			if n > 20 {
				t.Fatalf("busy %v, %+v", out.Busy, out.Failure)
			}
		}
	})
}

// TestManyAtOnce runs fifty programs at once, twice.
func TestManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		for range 2 {
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					h := &fakeHost{}
					out := r.Run(context.Background(), Program{
						Source: fmt.Sprintf("console.log('run', %d); let s = 0; for (let i = 0; i < 20; i++) s += (await tools.echo({i})).i; return s + %d", i, i),
						Tools:  fakeTools,
					}, h)
					if !out.OK || out.Value.String() != strconv.Itoa(190+i) || len(out.Logs) != 1 || len(h.calls) != 20 {
						t.Errorf("run %d: %+v", i, out)
					}
				})
			}
			wg.Wait()
		}
	})
}

// TestClose ends runs that are under way and leaves no process.
func TestClose(t *testing.T) {
	r := New(Options{Mode: Child})
	if err := r.Warm(context.Background()); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	result := make(chan Outcome)
	h := &fakeHost{onLog: sync.OnceFunc(func() { close(begun) })}
	go func() {
		result <- r.Run(context.Background(), Program{Source: "console.log(1); for (;;) {}", Tools: fakeTools}, h)
	}()
	<-begun
	r.Close()
	out := <-result
	if out.Failure == nil || out.Failure.Kind != KindAbort || !strings.HasPrefix(out.Failure.Message, "runtime disposed") {
		t.Errorf("%+v", out.Failure)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	out = r.Run(context.Background(), Program{Source: "return 1"}, h)
	if out.Failure == nil || out.Failure.Kind != KindAbort {
		t.Errorf("a closed runner ran: %+v", out)
	}
	if err := r.Warm(context.Background()); err != ErrClosed {
		t.Errorf("a closed runner warmed: %v", err)
	}
	r.Close()
}

// TestDeadWarmWorker kills the worker that waits; the run takes another.
func TestDeadWarmWorker(t *testing.T) {
	r := New(Options{Mode: Child})
	defer r.Close()
	if err := r.Warm(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.warm.(*childPeer).process.Kill()
	if out, _ := runSource(t, r, "return 1", Limits{}); !out.OK {
		t.Fatalf("%+v", out.Failure)
	}
}

func TestCancelledBefore(t *testing.T) {
	r := New(Options{Mode: Child})
	defer r.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errStop)
	out := r.Run(ctx, Program{Source: "return 1"}, &fakeHost{})
	if out.Failure == nil || out.Failure.Kind != KindAbort || out.Failure.Message != "stop it" {
		t.Fatalf("%+v", out)
	}
}

// scripted is a worker that says what the test tells it.
type scripted struct {
	frames []byte
	killed chan struct{}
	once   sync.Once
	reader *wire.Reader
}

func (s *scripted) next() (wire.Kind, []byte, error) {
	kind, payload, err := s.reader.Next()
	if err == io.EOF {
		<-s.killed
	}
	return kind, payload, err
}
func (s *scripted) send(wire.Kind, []byte, []byte) error     { return nil }
func (s *scripted) sendSoon(wire.Kind, []byte, []byte) error { return nil }
func (s *scripted) kill(string)                              { s.once.Do(func() { close(s.killed) }) }
func (s *scripted) reap() ending                             { return ending{} }
func (s *scripted) alive() bool                              { return true }

// TestHostileWorker lets a worker break the protocol in every way: the run ends
// as worker-exit and nothing reaches the host that should not.
func TestHostileWorker(t *testing.T) {
	frame := func(k wire.Kind, payload []byte) []byte { return wire.AppendFrame(nil, k, payload) }
	call := func(id, tool uint32, args string) []byte {
		return frame(wire.KindCall, (&wire.Call{ID: id, Tool: tool, Args: []byte(args)}).Append(nil))
	}
	flood := []byte{}
	for i := range uint32(maxPending + 1) {
		flood = append(flood, call(i+1, 1, `{"ms":60000}`)...)
	}
	for name, c := range map[string]struct {
		frames []byte
		calls  int
	}{
		"call out of order": {call(2, 0, "{}"), 0},
		"same call twice":   {append(call(1, 0, "{}"), call(1, 0, "{}")...), 1},
		"unknown tool":      {call(1, 99, "{}"), 0},
		"no JSON":           {call(1, 0, "{"), 0},
		"lossy JSON":        {call(1, 0, "[-0]"), 0},
		"malformed call":    {frame(wire.KindCall, []byte{0xFF}), 0},
		"malformed done":    {frame(wire.KindDone, []byte{0xFF}), 0},
		"parent's frame":    {frame(wire.KindSettle, []byte{1, 1}), 0},
		"ready again":       {frame(wire.KindReady, nil), 0},
		"unknown kind":      {[]byte{0, 0, 0, 0, 77}, 0},
		"too large":         {[]byte{0xFF, 0xFF, 0xFF, 0xFF, byte(wire.KindLog)}, 0},
		"too many calls":    {flood, maxPending},
		"value is no JSON":  {frame(wire.KindDone, (&wire.Done{Value: []byte("nope")}).Append(nil)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Mode: Child})
			defer r.Close()
			s := &scripted{frames: c.frames, killed: make(chan struct{})}
			s.reader = wire.NewReader(strings.NewReader(string(c.frames)), maxFrame)
			r.warm = s
			out, h := runSource(t, r, "return 1", Limits{Wall: time.Minute})
			if out.Failure == nil || out.Failure.Kind != KindWorkerExit && out.Failure.Kind != KindInvalidOutput {
				t.Fatalf("%+v", out.Failure)
			}
			if len(h.calls) != c.calls {
				t.Errorf("%d calls reached the host, want %d", len(h.calls), c.calls)
			}
		})
	}
}

// TestWorkerIsConfined looks at a warm worker from outside.
func TestWorkerIsConfined(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc")
	}
	t.Setenv("SECRET_OF_THE_PARENT", "1")
	r := New(Options{Mode: Child})
	defer r.Close()
	if err := r.Warm(context.Background()); err != nil {
		t.Fatal(err)
	}
	pid := r.warm.(*childPeer).process.PID()
	dir := fmt.Sprintf("/proc/%d/", pid)
	env, err := os.ReadFile(dir + "environ")
	if err != nil || strings.Contains(string(env), "SECRET") {
		t.Errorf("environment %q, %v", env, err)
	}
	cwd, err := os.Readlink(dir + "cwd")
	if err != nil || !strings.HasSuffix(cwd, " (deleted)") {
		t.Errorf("working directory %q, %v", cwd, err)
	}
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		target, _ := os.Readlink(dir + "fd/" + fd.Name())
		if ours, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && ours == target && inherited(fd.Name()) {
			continue // whoever started the tests left it open for all their children
		}
		if !strings.HasPrefix(target, "pipe:") && !strings.HasPrefix(target, "anon_inode:") && target != "/dev/null" {
			t.Errorf("descriptor %s is %s", fd.Name(), target)
		}
	}
	if text := strings.Join(worker.Confinement(), "\n"); !strings.Contains(text, "resource limits") {
		t.Errorf("confinement %q", text)
	}
	if n := resident(pid); n > 28<<20 {
		t.Logf("a warm worker holds %d KiB, more than the 28 MiB it should", n>>10)
	}
}

// inherited says whether a descriptor of this process goes on to its children, as
// only those do that it was started with.
func inherited(fd string) bool {
	info, err := os.ReadFile("/proc/self/fdinfo/" + fd)
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(info), "flags:")
	flags, err := strconv.ParseUint(strings.Fields(rest + " x")[0], 8, 64)
	return err == nil && flags&syscall.O_CLOEXEC == 0
}

// TestWorkerNeedsBoth makes sure no ordinary start becomes a worker.
func TestWorkerNeedsBoth(t *testing.T) {
	if os.Getenv("RUNNER_TEST_PLAIN") != "" {
		return // reached by the child below: it ran as a test, not as a worker
	}
	for _, env := range []string{"RUNNER_TEST_PLAIN=1", worker.EnvName + "=" + worker.EnvValue} {
		cmd := exec.Command(os.Args[0], "-test.run=TestWorkerNeedsBoth$")
		cmd.Env = []string{"RUNNER_TEST_PLAIN=1", env}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("with %s: %v %s", env, err, out)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"read", "write", "bash", "web_search", "todo-write", "glob"}
	for name, want := range map[string]string{
		"reed": "read", "read_file": "read", "readFile": "read", "webSearch": "web_search", "todoWrite": "todo-write", "Bash": "bash",
		"globb": "glob", "frobnicate": "", "": "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// FuzzProgram feeds anything to a child as a program. Whatever happens, the run
// ends in time, with an outcome that is consistent, and this process lives.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{
		"return 1", "for (;;) {}", "throw 1", "await tools.echo({})", "console.log(globalThis)", "return tools", "export default 1",
		strings.Repeat("[", 2000), "let s = ''; for (const x of 'ab') s += x; return s", "return new Array(1e9)", "}", "eval('1')",
	} {
		f.Add(s)
	}
	r := New(Options{Mode: Child})
	f.Cleanup(r.Close)
	limits := Limits{Compute: 300 * time.Millisecond, Wall: time.Second, MemoryBytes: 64 << 20, MaxOutputBytes: 1 << 16}
	f.Fuzz(func(t *testing.T, source string) {
		start := time.Now()
		out, _ := runSource(t, r, source, limits)
		if d := time.Since(start); d > limits.Wall+hang {
			t.Errorf("took %v", d)
		}
		if out.OK == (out.Failure != nil) {
			t.Errorf("inconsistent outcome %+v", out)
		}
		if f := out.Failure; f != nil && (f.Message == "" || strings.Contains(f.Message, "goroutine ")) {
			t.Errorf("failure %+v", f)
		}
	})
}

// TestCallsGoOutWhileTheProgramComputes makes calls and computes on: all of them
// reach the host, though only the first is worth a write of its own.
func TestCallsGoOutWhileTheProgramComputes(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		h := &countingHost{last: 5, reached: func() { cancel(errStop) }}
		out := r.Run(ctx, Program{Source: "for (let i = 0; i < 5; i++) tools.noop({}); for (;;) {}", Tools: []string{"noop"}}, h)
		if out.Failure == nil || out.Failure.Kind != KindAbort {
			t.Fatalf("%+v: not all calls came", out.Failure)
		}
	})
}

// countingHost never answers, and says when a number of calls has come.
type countingHost struct {
	last    int
	reached func()
}

func (h *countingHost) Log(string) {}

func (h *countingHost) Submit(_ context.Context, c Call, _ func(Reply)) {
	if c.N == h.last {
		h.reached()
	}
}

// TestHelpersCannotBeMet declares and sets the names that helpers once had, and
// one that a program has to go out of its way for.
func TestHelpersCannotBeMet(t *testing.T) {
	each(t, func(t *testing.T, r *Runner) {
		out, _ := runSource(t, r, `
			const $callable = 1, $text = 2, $textAdd = 3, $hand = 4;
			globalThis.$textRead = 5;
			globalThis["$ textRead"] = globalThis["$ callable"] = 6;
			let s = "";
			for (let i = 0; i < 3; i++) s += "x" + i;
			try { (tools as any).nope($callable) } catch (e: any) { s += " " + e.message }
			return [s, $text + $textAdd + $hand]`, Limits{})
		if want := `["x0x1x2 tools.nope is not a function",9]`; !out.OK || out.Value.String() != want {
			t.Errorf("%+v %s, want %s", out.Failure, out.Value, want)
		}
	})
}

// TestLongValues hands over more than a frame holds, all of it in the value's
// last part: a call is rejected and can be caught, a result is too much output.
func TestLongValues(t *testing.T) {
	if slow {
		t.Skip("the race detector makes long values too long")
	}
	each(t, func(t *testing.T, r *Runner) {
		long := fmt.Sprintf("'x'.repeat(%d)", maxFrame+2<<20)
		out, h := runSource(t, r, "return await tools.noop({a: "+long+"}).catch(e => e.message)", Limits{})
		if !out.OK || out.Value.String() != fmt.Sprintf(`"binding arguments exceed %d bytes"`, maxFrame) || len(h.calls) != 0 {
			t.Errorf("%+v %.100s", out.Failure, out.Value)
		}
		if out, _ = runSource(t, r, "return "+long, Limits{}); out.Failure == nil || out.Failure.Kind != KindOutputLimit {
			t.Errorf("%+v %.100s", out.Failure, out.Value)
		}
	})
}
