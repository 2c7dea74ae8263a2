package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// agent is a session that keeps what is logged and shown.
type agent struct {
	scope   *registry.Scope
	session string

	mu     sync.Mutex
	events []LogEvent
	shown  map[string]string
	broken error
}

func (a *agent) AgentID() string        { return a.session }
func (a *agent) SessionID() string      { return a.session }
func (a *agent) Scope() *registry.Scope { return a.scope }

func (a *agent) Record(typ string, data jsonvalue.Value) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken == nil {
		a.events = append(a.events, LogEvent{Type: typ, Time: time.Now(), Data: data})
	}
	return a.broken
}

func (a *agent) CallOutput(id string, p []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown[id] += string(p)
}

func (a *agent) log() (lines []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.events {
		lines = append(lines, e.Type+" "+e.Data.String())
	}
	return lines
}

type world struct {
	t    *testing.T
	reg  *registry.Registry
	pipe *pipeline.Pipeline
	m    *Manager
	a    *agent
}

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, reg: reg, m: New(o)}
	if err := Register(reg.Global(), w.m); err != nil {
		t.Fatal(err)
	}
	if w.pipe, err = pipeline.New(reg, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	w.a = w.agent("s")
	return w
}

func (w *world) agent(session string) *agent {
	return &agent{scope: w.reg.Global(), session: session, shown: map[string]string{}}
}

func (w *world) exec(a *agent) *registry.Execution {
	e, err := w.reg.Begin(registry.ExecutionSpec{CallID: "c1", Name: "bash", Arguments: jsonvalue.Object(), Agent: a})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// task is a job that does what the test tells it.
type task struct {
	w    *world
	id   string
	out  func([]byte)
	stop chan End
}

func (w *world) start(a *agent) *task {
	w.t.Helper()
	k := &task{w: w, stop: make(chan End, 1)}
	ready := make(chan struct{})
	id, err := w.m.Start(context.Background(), w.exec(a), Spec{
		Kind: "bash", Label: "sleep 1", Description: "Sleep", Cwd: "/w",
		Run: func(ctx context.Context, started func(), output func([]byte)) (End, error) {
			k.out = output
			close(ready)
			started()
			select {
			case end := <-k.stop:
				return end, nil
			case <-ctx.Done():
				return End{Failed: true, Killed: true, Detail: "signal: SIGTERM", Signal: "SIGTERM"}, nil
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	<-ready
	k.id = id
	return k
}

func (k *task) end(e End) {
	k.stop <- e
	k.w.t.Helper()
	j, err := k.w.m.find(k.w.exec(k.w.a), k.id)
	if err != nil {
		k.w.t.Fatal(err)
	}
	<-j.done
}

func exited(code int) End {
	return End{Failed: code != 0, ExitCode: &code, Detail: fmt.Sprintf("exit code: %d", code)}
}

func (w *world) call(a *agent, name, args string) string {
	r := w.pipe.Execute(context.Background(), pipeline.Call{ID: "c", Name: name, RawArguments: args, Agent: a})
	return r.Text()
}

func (w *world) news(session string) (texts []string) {
	for _, c := range w.m.News(session) {
		texts = append(texts, content.JoinText(c.Content))
	}
	return texts
}

func (w *world) expect(what, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func TestAJobsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		w.expect("no task", w.call(w.a, "task_list", `{}`), "(no background tasks)")
		k := w.start(w.a)
		w.expect("id", k.id, "bash_1")
		w.expect("list", w.call(w.a, "task_list", `{}`), "bash_1 [bash] running — sleep 1")
		w.expect("nothing yet", w.call(w.a, "task_output", `{"task_id":"bash_1"}`), "(no new output)\n[status: running]")
		k.out([]byte("one\ntw"))
		w.expect("output", w.call(w.a, "task_output", `{"task_id":"bash_1"}`), "one\ntw\n[status: running]")
		k.out([]byte("o\n"))
		w.expect("delta", w.call(w.a, "task_output", `{"task_id":"bash_1"}`), "o\n[status: running]")

		began := time.Now()
		w.expect("a wait that is over", w.call(w.a, "task_output", `{"task_id":"bash_1","wait":true,"timeout_ms":1500}`), "(no new output)\n[status: running]")
		if d := time.Since(began); d != 1500*time.Millisecond {
			t.Errorf("waited %v", d)
		}
		time.AfterFunc(time.Second, func() { k.out([]byte("end")); k.stop <- exited(0) })
		began = time.Now()
		w.expect("a wait", w.call(w.a, "task_output", `{"task_id":"bash_1","wait":true}`), "end\n[status: completed, exit code: 0]")
		if d := time.Since(began); d != time.Second {
			t.Errorf("waited %v", d)
		}
		w.expect("after the end", w.call(w.a, "task_output", `{"task_id":"bash_1"}`), "(no new output)\n[status: completed, exit code: 0]")
		w.expect("killed too late", w.call(w.a, "task_kill", `{"task_id":"bash_1"}`), "task bash_1 had already finished [status: completed, exit code: 0]")
		if n := w.news("s"); n != nil {
			t.Errorf("the model has read the end and is told of it: %q", n)
		}
		want := []string{
			`job/start {"taskId":"bash_1","callId":"c1","kind":"bash","label":"sleep 1","description":"Sleep","cwd":"/w"}`,
			`job/end {"taskId":"bash_1","status":"completed","detail":"exit code: 0","exitCode":0,"output":"one\ntwo\nend"}`,
		}
		w.expect("events", strings.Join(w.a.log(), "\n"), strings.Join(want, "\n"))
		w.expect("shown", w.a.shown["job:bash_1"], "one\ntwo\nend")
	})
}

func TestTheModelIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		a, b := w.start(w.a), w.start(w.a)
		if n := w.news("s"); n != nil {
			t.Errorf("told of running tasks: %q", n)
		}
		b.end(exited(2))
		w.expect("news", fmt.Sprint(w.news("s")), "[background task bash_2 (bash: sleep 1) finished [status: failed, exit code: 2]. Read its output with task_output.]")
		a.end(exited(0))
		if n := w.news("s"); len(n) != 1 || !strings.HasPrefix(n[0], "background task bash_1 ") {
			t.Errorf("%q", n)
		}
		if n := append(w.news("s"), w.news("other")...); n != nil {
			t.Errorf("told again, or somebody else: %q", n)
		}
	})
}

func TestKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		w.start(w.a)
		w.expect("kill", w.call(w.a, "task_kill", `{"task_id":"bash_1","reason":"enough"}`), "requested cancellation of task bash_1")
		synctest.Wait()
		w.expect("killed", w.call(w.a, "task_output", `{"task_id":"bash_1"}`), "(no new output)\n[status: killed, signal: SIGTERM]")
	})
}

// Another session's ids are as unknown as ids that nobody has, also to the same
// registry and manager.
func TestSessionsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		k := w.start(w.a)
		other := w.agent("other")
		for _, tool := range []string{"task_output", "task_kill"} {
			w.expect(tool, w.call(other, tool, `{"task_id":"bash_1"}`), "Error: unknown task bash_1")
			w.expect(tool, w.call(w.a, tool, `{"task_id":"bash_7"}`), "Error: unknown task bash_7")
			w.expect(tool, w.call(w.a, tool, `{"task_id":""}`), `Error: invalid task_id: expected a non-empty string, got ""`)
		}
		w.expect("list", w.call(other, "task_list", `{}`), "(no background tasks)")
		w.expect("their own first", w.start(other).id, "bash_1")
		if err := w.m.CloseSession(context.Background(), "other"); err != nil {
			t.Error(err)
		}
		w.expect("still there", w.call(w.a, "task_list", `{}`), "bash_1 [bash] running — sleep 1")
		k.end(exited(0))
	})
}

func TestCloseSessionEndsItsJobsAndLogsThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		w.start(w.a)
		w.start(w.a)
		if err := w.m.CloseSession(context.Background(), "s"); err != nil {
			t.Fatal(err)
		}
		ends := 0
		for _, line := range w.a.log() {
			if strings.HasPrefix(line, "job/end ") && strings.Contains(line, `"status":"killed","detail":"the session was closed"`) {
				ends++
			}
		}
		if ends != 2 {
			t.Errorf("%q", w.a.log())
		}
	})
}

func TestWhatIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{MaxRunning: 2})
		_, err := w.m.Start(context.Background(), w.exec(w.a), Spec{Kind: "bash", Label: "x", Run: func(context.Context, func(), func([]byte)) (End, error) {
			return End{}, errors.New("no such program")
		}})
		if err == nil || err.Error() != "no such program" || len(w.a.log()) != 0 {
			t.Errorf("%v %q", err, w.a.log())
		}
		w.expect("list", w.call(w.a, "task_list", `{}`), "(no background tasks)")
		k := w.start(w.a)
		w.start(w.a)
		start := func() error {
			_, err := w.m.Start(context.Background(), w.exec(w.a), Spec{Kind: "bash", Label: "x", Run: func(_ context.Context, started func(), _ func([]byte)) (End, error) {
				started()
				return End{}, nil
			}})
			return err
		}
		if err := start(); err == nil || !strings.HasPrefix(err.Error(), "too many background tasks are running (2)") {
			t.Errorf("%v", err)
		}
		k.end(exited(0))
		if err := start(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		w.a.mu.Lock()
		w.a.broken = errors.New("disk full")
		w.a.mu.Unlock()
		if err := start(); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%v", err)
		}
		if err := w.m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := start(); !errors.Is(err, errClosed) {
			t.Errorf("%v", err)
		}
	})
}

// A call that is cancelled while its job starts leaves none behind.
func TestCancelledWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		_, err := w.m.Start(ctx, w.exec(w.a), Spec{Kind: "bash", Label: "x", Run: func(ctx context.Context, started func(), _ func([]byte)) (End, error) {
			cancel()
			started()
			<-ctx.Done()
			return End{Killed: true}, nil
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		w.expect("list", w.call(w.a, "task_list", `{}`), "bash_1 [bash] killed — x")
	})
}

func TestAPanickingJobFails(t *testing.T) {
	w := newWorld(t, Options{})
	_, err := w.m.Start(context.Background(), w.exec(w.a), Spec{Kind: "bash", Label: "x", Run: func(_ context.Context, started func(), _ func([]byte)) (End, error) {
		started()
		panic("oops")
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.call(w.a, "task_output", `{"task_id":"bash_1","wait":true}`); got != "(no new output)\n[status: failed, it broke unexpectedly; the log has the details]" {
		t.Errorf("%q", got)
	}
}

func TestFinishedJobsAreForgottenInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		first := w.start(w.a)
		for range maxKept + 10 {
			w.start(w.a).end(exited(0))
		}
		if n := len(w.m.list(w.exec(w.a))); n != maxKept {
			t.Errorf("%d are kept", n)
		}
		if got := w.call(w.a, "task_output", `{"task_id":"bash_1"}`); !strings.HasSuffix(got, "[status: running]") {
			t.Errorf("one that runs was forgotten: %q", got)
		}
		first.end(exited(0))
	})
}

// However output comes and is read, what is read is all of it as long as little
// waits, and its end with a word about the rest otherwise; the file has it all.
func TestOutputIsBoundedAndWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		b := buffer{spool: spool{path: filepath.Join(dir, "x.txt")}}
		unit := rapid.SampledFrom([]string{"a", "é\n", "漢", "😀b"}).Draw(rt, "unit")
		var all, read strings.Builder
		lostAny := false
		for range rapid.IntRange(0, 12).Draw(rt, "steps") {
			chunk := strings.Repeat(unit, rapid.IntRange(0, 40_000).Draw(rt, "times"))
			b.write([]byte(chunk))
			all.WriteString(chunk)
			if rapid.Bool().Draw(rt, "read") {
				text, lost := b.read()
				if len(text) > keptUnread || !utf8.ValidString(text) {
					rt.Fatalf("%d bytes", len(text))
				}
				if !strings.HasSuffix(all.String(), text) {
					rt.Fatal("it is not the end of the output")
				}
				read.WriteString(text)
				lostAny = lostAny || lost
			}
		}
		text, lost := b.read()
		read.WriteString(text)
		if !lostAny && !lost && read.String() != all.String() {
			rt.Fatal("the reads together are not the output")
		}
		last, cut := b.last()
		if len(last) > keptLast || !strings.HasSuffix(all.String(), last) || cut != (all.Len() > keptLast) {
			rt.Fatalf("the end has %d bytes of %d, cut %v", len(last), all.Len(), cut)
		}
		b.close()
		if data, err := os.ReadFile(b.path); all.Len() > 0 && (err != nil || string(data) != all.String()) {
			rt.Fatalf("the file has %d bytes of %d: %v", len(data), all.Len(), err)
		}
	})
}

// A file that lacks the end of the output is never called the whole, while the
// job runs, on its card, and when the session is loaded again.
func TestAFileThatIsNotTheWholeSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := newWorld(t, Options{Dir: func(string) string { return dir }})
		k := w.start(w.a)
		piece := []byte(strings.Repeat("x\n", 1<<20))
		path := filepath.Join(dir, "bash_1.txt")
		for range spoolLimit / len(piece) {
			k.out(piece)
		}
		if got := w.call(w.a, "task_output", `{"task_id":"bash_1"}`); !strings.Contains(got, "; full output: "+path) {
			t.Errorf("exactly as much as fits: %.300q", got[max(0, len(got)-300):])
		}
		k.out([]byte("y\n"))
		k.out(piece)
		held := fmt.Sprintf("the first %d bytes of it: %s", spoolLimit, path)
		if got := w.call(w.a, "task_output", `{"task_id":"bash_1"}`); !strings.Contains(got, held) || strings.Contains(got, "full output") {
			t.Errorf("%.300q", got[max(0, len(got)-300):])
		}
		k.end(exited(0))
		synctest.Wait()
		log := w.a.log()
		if last := log[len(log)-1]; !strings.HasPrefix(last, TypeEnd+" ") || !strings.Contains(last, fmt.Sprintf(`"outputHeld":%d`, spoolLimit)) {
			t.Errorf("%.100q", last)
		}
		v := newWorld(t, Options{})
		v.m.Restore("s", slices.Values(w.a.events))
		if got := v.call(v.a, "task_output", `{"task_id":"bash_1"}`); !strings.Contains(got, held) {
			t.Errorf("loaded again: %.300q", got[max(0, len(got)-300):])
		}
	})
}

func TestLostOutputIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := newWorld(t, Options{Dir: func(string) string { return dir }})
		k := w.start(w.a)
		k.out([]byte(strings.Repeat("x\n", 50_000)))
		got := w.call(w.a, "task_output", `{"task_id":"bash_1"}`)
		want := "x\n[some output was dropped from memory; full output: " + filepath.Join(dir, "bash_1.txt") + "]\n[status: running]"
		if !strings.HasSuffix(got, want) || len(got) > keptUnread+len(want) {
			t.Errorf("%d bytes, %.300q", len(got), got[max(0, len(got)-300):])
		}
		if info, err := os.Stat(filepath.Join(dir, "bash_1.txt")); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 100_000 {
			t.Errorf("%v %v", info, err)
		}
		k.end(exited(0))
	})
}

func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		read, told, both, open := w.start(w.a), w.start(w.a), w.start(w.a), w.start(w.a)
		for _, k := range []*task{read, told, both} {
			k.out([]byte("output of " + k.id))
			k.end(exited(0))
		}
		events := append(w.a.events[:len(w.a.events):len(w.a.events)],
			LogEvent{Type: "tool/result", Data: jsonvalue.MustFromGo(map[string]any{"meta": map[string]any{"taskId": "bash_1", "status": "completed"}})},
			LogEvent{Type: "tool/result", Data: jsonvalue.MustFromGo(map[string]any{"meta": map[string]any{"taskId": "bash_3", "status": "running"}})},
			LogEvent{Type: "context/message", Data: jsonvalue.MustFromGo(map[string]any{"meta": map[string]any{"taskId": "bash_2"}})},
		)
		v := newWorld(t, Options{})
		v.m.Restore("s", func(yield func(LogEvent) bool) {
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
		})
		v.expect("list", v.call(v.a, "task_list", `{}`), strings.Join([]string{
			"bash_1 [bash] completed — sleep 1", "bash_2 [bash] completed — sleep 1", "bash_3 [bash] completed — sleep 1", "bash_4 [bash] killed — sleep 1",
		}, "\n"))
		if n := v.news("s"); len(n) != 2 || !strings.HasPrefix(n[0], "background task bash_3 ") || !strings.HasPrefix(n[1], "background task bash_4 ") {
			t.Errorf("%q", n)
		}
		v.expect("read before", v.call(v.a, "task_output", `{"task_id":"bash_1"}`), "(no new output)\n[status: completed, exit code: 0]")
		v.expect("not read", v.call(v.a, "task_output", `{"task_id":"bash_2"}`), "output of bash_2\n[status: completed, exit code: 0]")
		v.expect("the next id", v.start(v.a).id, "bash_5")
		open.end(exited(0))
		if err := v.m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
