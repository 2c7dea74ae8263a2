package session

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func prompt(text string) Draft {
	return Draft{Type: TypeUserMessage, Data: Data("content", []any{Data("type", "text", "text", text)}, "source", Data("kind", "user"))}
}

func newStore(t *testing.T, opts Options) *Store {
	t.Helper()
	if opts.Now == nil {
		opts.Now = clock()
	}
	return NewStore(filepath.Join(t.TempDir(), "sessions"), opts)
}

func create(t *testing.T, s *Store) *Log {
	t.Helper()
	l, err := s.Create(Header{ID: "3f2b6c1e-0d4a-4c8e-9a51-6f7f3f0f5a11", Cwd: "/tmp/work"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func mustAppend(t *testing.T, l *Log, d Draft) Event {
	t.Helper()
	e, err := l.Append(d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAppendWritesBeforeItReturns(t *testing.T) {
	s := newStore(t, Options{})
	l := create(t, s)
	var atNotice []string
	l.Subscribe(func(e Event) {
		data, err := os.ReadFile(l.Path())
		if err != nil {
			t.Error(err)
		}
		atNotice = append(atNotice, lastLine(data))
	})
	mustAppend(t, l, Draft{Type: TypeTurnStart, Data: Data("turn", 1, "trigger", Data("kind", "message", "source", Data("kind", "user")))})
	mustAppend(t, l, prompt("hello <&> \u2028 \U0001F600"))
	mustAppend(t, l, Draft{Type: TypeToolCall, Data: Data("turn", 1, "step", 1, "callId", "c", "name", "bash", "arguments", "{}")})
	mustAppend(t, l, Draft{Type: TypeToolResult, Data: Data("turn", 1, "step", 1, "callId", "c", "content", []any{}, "isError", false), Sources: []int64{2}})
	mustAppend(t, l, Draft{Type: TypeTurnEnd, Data: Data("turn", 1, "reason", Data("kind", EndCompleted))})
	data, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "log.golden.jsonl", string(data))
	if got := strings.Join(atNotice, "\n") + "\n"; !strings.HasSuffix(string(data), got) {
		t.Errorf("subscribers were told before the file held the event:\n%s", got)
	}
	for path, want := range map[string]os.FileMode{l.Path(): 0o600, s.Dir(l.Header().ID): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
	rec, err := s.Load(l.Header().ID)
	if err != nil {
		t.Fatal(err)
	}
	diffLines(t, lines(l.Header(), l.Events()), lines(rec.Header, rec.Events))
}

func lastLine(b []byte) string {
	all := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	return all[len(all)-1]
}

func TestAppendRefusesBadDrafts(t *testing.T) {
	negativeZero, err := jsonvalue.Parse([]byte(`{"n":-0}`))
	if err != nil {
		t.Fatal(err)
	}
	result := func(id, text string) jsonvalue.Value {
		return Data("turn", 1, "step", 1, "callId", id, "content", []any{Data("type", "text", "text", text)}, "isError", false)
	}
	tests := []struct {
		name  string
		draft Draft
		want  string
	}{
		{"no type", Draft{}, `cannot be ""`},
		{"header type", Draft{Type: "session"}, `cannot be "session"`},
		{"packed type", Draft{Type: "text-chunks"}, "cannot be"},
		{"lossy data", Draft{Type: "x/y", Data: negativeZero}, "zero"},
		{"surfaceOp on a plain event", Draft{Type: TypeStepStart, SurfaceOp: Append()}, "only message"},
		{"unknown surfaceOp", Draft{Type: TypeUserMessage, SurfaceOp: jsonvalue.String("prepend")}, "surfaceOp must be"},
		{"source itself", Draft{Type: "x/y", Sources: []int64{5}}, "source 5 is not an earlier"},
		{"source negative", Draft{Type: "x/y", Sources: []int64{-1}}, "source -1"},
		{"source twice", Draft{Type: "x/y", Sources: []int64{1, 0, 1}}, "source 1 is given twice"},
		{"replace what is not there", Draft{Type: TypeContextMessage, SurfaceOp: Replace(0, 3)}, "not a part"},
		{"replace backwards", Draft{Type: TypeContextMessage, SurfaceOp: Replace(2, 1)}, "not a part"},
		{"result for two", Draft{Type: TypeToolResult, Data: result("a", "x"), SurfaceOp: Replace(1, 2)}, "one tool result only"},
		{"result for a message", Draft{Type: TypeToolResult, Data: result("a", "x"), SurfaceOp: Replace(0, 0)}, "one tool result only"},
		{"result of another call", Draft{Type: TypeToolResult, Data: result("b", "x"), SurfaceOp: Replace(1, 1)}, "content only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t, Options{})
			l := create(t, s)
			mustAppend(t, l, prompt("hi"))
			mustAppend(t, l, Draft{Type: TypeToolResult, Data: result("a", "one")})
			mustAppend(t, l, Draft{Type: TypeToolResult, Data: result("b", "two")})
			mustAppend(t, l, Draft{Type: TypeStepEnd})
			before, _ := os.ReadFile(l.Path())
			_, err := l.AppendAll([]Draft{{Type: "x/first"}, tt.draft})
			if !errors.Is(err, ErrInvalidEvent) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			after, _ := os.ReadFile(l.Path())
			if !bytes.Equal(before, after) || l.Len() != 4 {
				t.Error("something was written")
			}
			if e := mustAppend(t, l, Draft{Type: "x/next"}); e.Seq != 4 {
				t.Errorf("the log stopped working: seq %d", e.Seq)
			}
		})
	}
	t.Run("result with new content", func(t *testing.T) {
		l := NewMemory(Header{}, Options{})
		mustAppend(t, l, Draft{Type: TypeToolResult, Data: result("a", "long")})
		mustAppend(t, l, Draft{Type: TypeToolResult, Data: result("a", "short"), SurfaceOp: Replace(0, 0)})
	})
}

func TestAppendAllSourcesInsideTheBatch(t *testing.T) {
	l := NewMemory(Header{}, Options{})
	events, err := l.AppendAll([]Draft{{Type: "a"}, {Type: "b", Sources: []int64{0}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 2 || events[1].Seq != 1 || events[1].SourceEventSeqs[0] != 0 {
		t.Errorf("events %+v", events)
	}
	if events, err := l.AppendAll(nil); err != nil || events != nil {
		t.Errorf("an empty batch: %v, %v", events, err)
	}
}

func TestAppendTooLong(t *testing.T) {
	l := create(t, newStore(t, Options{}))
	_, err := l.Append(prompt(strings.Repeat("x", MaxLine)))
	if !errors.Is(err, ErrInvalidEvent) {
		t.Fatalf("error %v", err)
	}
	mustAppend(t, l, prompt("short"))
}

func TestReentrantAppendIsRefused(t *testing.T) {
	l := NewMemory(Header{}, Options{})
	var inner error
	l.Subscribe(func(Event) { _, inner = l.Append(Draft{Type: "inner"}) })
	mustAppend(t, l, Draft{Type: "outer"})
	if !errors.Is(inner, ErrReentrant) {
		t.Errorf("inner append: %v", inner)
	}
	if l.Len() != 1 {
		t.Errorf("%d events", l.Len())
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Appends from other goroutines wait while subscribers are called, and are not
// mistaken for re-entrant ones; subscribers see every event in order.
func TestConcurrentAppends(t *testing.T) {
	l := create(t, newStore(t, Options{Now: nil, Sync: SyncNever}))
	var seen []int64
	l.Subscribe(func(e Event) { seen = append(seen, e.Seq) })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, err := l.Append(Draft{Type: "x/y"}); err != nil {
					t.Error(err)
				}
				_ = l.Events()
			}
		})
	}
	wg.Wait()
	if len(seen) != 800 {
		t.Fatalf("%d notifications", len(seen))
	}
	for i, seq := range seen {
		if seq != int64(i) {
			t.Fatalf("notification %d was of event %d", i, seq)
		}
	}
	rec, err := ReadFile(l.Path())
	if err != nil || len(rec.Events) != 800 {
		t.Fatalf("file: %v", err)
	}
}

func TestSubscribers(t *testing.T) {
	var logged bytes.Buffer
	l := NewMemory(Header{}, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	mustAppend(t, l, Draft{Type: "x/before"})
	var got []string
	l.Subscribe(func(Event) { panic("boom") })
	var dispose func()
	snapshot, dispose := l.SubscribeFrom(func(e Event) {
		got = append(got, e.Type)
		if e.Type == "x/two" {
			dispose()
			dispose()
		}
	})
	if len(snapshot) != 1 {
		t.Errorf("snapshot %v", snapshot)
	}
	// Told not to call a later subscriber any more, the log obeys at once.
	var disposeLast func()
	l.Subscribe(func(Event) { disposeLast() })
	disposeLast = l.Subscribe(func(Event) { t.Error("a disposed subscriber was called") })
	for _, name := range []string{"x/one", "x/two", "x/three"} {
		mustAppend(t, l, Draft{Type: name})
	}
	if strings.Join(got, " ") != "x/one x/two" {
		t.Errorf("got %v", got)
	}
	if !strings.Contains(logged.String(), "boom") {
		t.Errorf("the panic was not logged: %s", &logged)
	}
	if len(snapshot) != 1 || cap(snapshot) != 1 {
		t.Error("the snapshot grew")
	}
}

// faulty is a file whose next write stores part of the data and fails.
type faulty struct {
	*os.File
	keep             int // bytes of the next write that are stored; -1: all is well
	syncErr, cutErr  error
	syncs, truncates int
}

var errDisk = syscall.ENOSPC

func (f *faulty) Write(b []byte) (int, error) {
	if f.keep < 0 {
		return f.File.Write(b)
	}
	n, _ := f.File.Write(b[:min(f.keep, len(b))])
	return n, errDisk
}

func (f *faulty) Sync() error {
	f.syncs++
	return f.syncErr
}

func (f *faulty) Truncate(n int64) error {
	f.truncates++
	if f.cutErr != nil {
		return f.cutErr
	}
	return f.File.Truncate(n)
}

func breakFile(l *Log) *faulty {
	f := &faulty{File: l.file.(*os.File), keep: -1}
	l.file = f
	return f
}

func TestFailedWritePoisonsTheLog(t *testing.T) {
	for _, keep := range []int{0, 1, 40, 1 << 20} {
		s := newStore(t, Options{})
		l := create(t, s)
		mustAppend(t, l, prompt("kept"))
		whole, _ := os.ReadFile(l.Path())
		f := breakFile(l)
		f.keep = keep
		called := false
		l.Subscribe(func(Event) { called = true })
		_, err := l.AppendAll([]Draft{{Type: "x/lost"}, {Type: "x/lost"}})
		var we *WriteError
		if !errors.As(err, &we) || !errors.Is(err, syscall.ENOSPC) || we.Seq != 1 || we.CutErr != nil {
			t.Fatalf("keep %d: %v", keep, err)
		}
		if called || l.Len() != 1 {
			t.Errorf("keep %d: an event that is not stored was seen", keep)
		}
		if now, _ := os.ReadFile(l.Path()); !bytes.Equal(now, whole) {
			t.Errorf("keep %d: the file holds a torn line", keep)
		}
		f.keep = -1 // the disk has room again, but the log stays shut
		if _, again := l.Append(prompt("late")); !errors.Is(again, syscall.ENOSPC) {
			t.Errorf("keep %d: a poisoned log took an event: %v", keep, again)
		}
		if !errors.Is(l.Err(), syscall.ENOSPC) {
			t.Errorf("Err: %v", l.Err())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Append(prompt("late")); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("after close the reason is gone: %v", err)
		}
		again, err := s.Open(l.Header().ID)
		if err != nil {
			t.Fatal(err)
		}
		if e := mustAppend(t, again, prompt("more")); e.Seq != 1 {
			t.Errorf("seq %d", e.Seq)
		}
		_ = again.Close()
	}
}

func TestTornLineThatCannotBeCut(t *testing.T) {
	s := newStore(t, Options{})
	l := create(t, s)
	mustAppend(t, l, prompt("kept"))
	f := breakFile(l)
	f.keep, f.cutErr = 10, io.ErrClosedPipe
	_, err := l.Append(prompt("lost"))
	if err == nil || !strings.Contains(err.Error(), "torn last line") {
		t.Fatalf("error %v", err)
	}
	_ = l.Close()
	again, err := s.Open(l.Header().ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if again.Torn() == nil || again.Torn().Bytes != 10 || again.Torn().Line != 3 {
		t.Errorf("torn %+v", again.Torn())
	}
	mustAppend(t, again, prompt("more"))
	if rec, err := ReadFile(again.Path()); err != nil || len(rec.Events) != 2 || rec.Torn != nil {
		t.Errorf("after repair: %+v, %v", rec, err)
	}
}

func TestSyncPolicy(t *testing.T) {
	turnEnd := Draft{Type: TypeTurnEnd, Data: Data("turn", 1)}
	for policy, want := range map[Sync]int{SyncTurns: 2, SyncAlways: 3, SyncNever: 0} {
		l := create(t, newStore(t, Options{Sync: policy}))
		f := breakFile(l)
		mustAppend(t, l, prompt("hi"))
		if _, err := l.AppendAll([]Draft{turnEnd, {Type: "x/y"}}); err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if f.syncs != want {
			t.Errorf("policy %d: %d syncs, want %d", policy, f.syncs, want)
		}
	}
	l := create(t, newStore(t, Options{}))
	f := breakFile(l)
	f.syncErr = syscall.EIO
	if _, err := l.Append(turnEnd); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failed fsync: %v", err)
	}
	if rec, err := ReadFile(l.Path()); err != nil || len(rec.Events) != 0 {
		t.Errorf("the event that was not stored is in the file")
	}
}

func TestClosedLog(t *testing.T) {
	l := create(t, newStore(t, Options{}))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(prompt("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := l.Sync(); err != nil {
		t.Errorf("sync: %v", err)
	}
}

func TestDataRefusesWhatIsNotJSON(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("NaN became data")
		}
	}()
	Data("n", math.NaN())
}

func BenchmarkAppend(b *testing.B) {
	s := NewStore(b.TempDir(), Options{})
	l, err := s.Create(Header{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	l.Subscribe(func(Event) {})
	d := Draft{Type: TypeAssistantChunk, Data: Data("turn", 1, "step", 1, "chunk", Data("type", "text-delta", "index", 0, "text", "hello"))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(d); err != nil {
			b.Fatal(err)
		}
	}
}
