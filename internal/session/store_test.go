package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestNewID(t *testing.T) {
	v4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for range 1000 {
		id := NewID()
		if !v4.MatchString(id) {
			t.Fatalf("%q is no UUID of version 4", id)
		}
		if seen[id] {
			t.Fatalf("%q came twice", id)
		}
		seen[id] = true
	}
}

func TestCreateFillsTheHeader(t *testing.T) {
	s := newStore(t, Options{})
	l, err := s.Create(Header{Cwd: "/w", ParentSession: "p", SeedLength: 3, DelegationDepth: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	h := l.Header()
	if h.ID == "" || h.Version != Version || h.CreatedAt.IsZero() {
		t.Errorf("header %+v", h)
	}
	rec, err := s.Load(h.ID)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Header.CreatedAt != h.CreatedAt || rec.Header.SeedLength != 3 || rec.Header.ParentSession != "p" {
		t.Errorf("read back %+v", rec.Header)
	}
	if _, err := s.Create(Header{ID: h.ID}); !errors.Is(err, ErrExists) {
		t.Errorf("the same id again: %v", err)
	}
}

func TestHeaderKeepsAdditionalDirectories(t *testing.T) {
	s := NewStore(t.TempDir(), Options{})
	l, err := s.Create(Header{Cwd: "/w", AdditionalDirectories: []string{"/x", "/y z"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Load(l.Header().ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := rec.Header.AdditionalDirectories; len(got) != 2 || got[0] != "/x" || got[1] != "/y z" {
		t.Errorf("%q", got)
	}
	for range 2 { // the second list comes from the index
		list, err := s.List(t.Context())
		if err != nil || len(list) != 1 || len(list[0].AdditionalDirectories) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
	}
}

func TestStoreRefusesIDsThatAreNoNames(t *testing.T) {
	s := newStore(t, Options{})
	for _, id := range []string{"..", ".", "a/b", "../x", `a\b`, "a\x00b", "index.json", strings.Repeat("x", 129)} {
		if _, err := s.Create(Header{ID: id}); err == nil {
			t.Errorf("Create %q worked", id)
		}
		if _, err := s.Open(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("Open %q: %v", id, err)
		}
	}
	for _, id := range []string{"", "nobody"} {
		if _, err := s.Load(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("Load %q: %v", id, err)
		}
	}
}

func TestStoreNamesTheFileThatIsCorrupt(t *testing.T) {
	s := newStore(t, Options{})
	l := create(t, s)
	_ = l.Close()
	if err := os.WriteFile(l.Path(), []byte(testHeader+"nonsense\n"+`{"type":"x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.Open(l.Header().ID)
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.Line != 2 || !strings.Contains(err.Error(), l.Path()+":2:") {
		t.Errorf("error %v", err)
	}
	if data, _ := os.ReadFile(l.Path()); !bytes.Contains(data, []byte("nonsense")) {
		t.Error("a corrupt log was changed")
	}
}

// A parent that is a file stands for every folder that cannot be written,
// whoever runs the test.
func TestStoreThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewStore(filepath.Join(file, "sessions"), Options{})
	if _, err := s.Create(Header{}); err == nil || !strings.Contains(err.Error(), "session folder") {
		t.Errorf("error %v", err)
	}
	if _, err := s.List(context.Background()); err == nil {
		t.Error("a store that cannot be read was listed as empty")
	}
}

// mustList lists a store as text: id, cwd, title, prompts.
func mustList(t *testing.T, s *Store) string {
	t.Helper()
	list, err := s.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, x := range list {
		fmt.Fprintf(&b, "%s %s %q %d\n", x.ID, x.Cwd, x.Title, x.Prompts)
	}
	return b.String()
}

func setTime(t *testing.T, l *Log, minute int) {
	t.Helper()
	at := time.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC)
	if err := os.Chtimes(l.Path(), at, at); err != nil {
		t.Fatal(err)
	}
}

func title(text string) Draft {
	return Draft{Type: TypeTitle, Data: Data("title", text, "messageSeqs", []any{0}, "source", Data("kind", "fallback"))}
}

func TestList(t *testing.T) {
	var logged bytes.Buffer
	s := newStore(t, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if got := mustList(t, s); got != "" {
		t.Errorf("a store that does not exist: %q", got)
	}
	logs := make(map[string]*Log)
	for i, id := range []string{"a", "b", "c"} {
		l, err := s.Create(Header{ID: id, Cwd: "/w/" + id})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		logs[id] = l
		mustAppend(t, l, prompt("one"))
		mustAppend(t, l, title("Title of "+id))
		setTime(t, l, i)
	}
	want := "c /w/c \"Title of c\" 1\nb /w/b \"Title of b\" 1\na /w/a \"Title of a\" 1\n"
	diffLines(t, want, mustList(t, s))

	// From the index, by another process, and after a log has grown.
	other := NewStore(s.dir, s.opts)
	diffLines(t, want, mustList(t, other))
	mustAppend(t, logs["a"], prompt("two"))
	mustAppend(t, logs["a"], title("New\nname"))
	setTime(t, logs["a"], 9)
	want = "a /w/a \"New\\nname\" 2\nc /w/c \"Title of c\" 1\nb /w/b \"Title of b\" 1\n"
	diffLines(t, want, mustList(t, other))

	// A broken index or a foreign one is rebuilt.
	index := filepath.Join(s.dir, indexName)
	for _, text := range []string{"{", `{"version":99,"sessions":{}}`, `{"version":1,"sessions":{"a":{"header":{}}}}`} {
		if err := os.WriteFile(index, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		diffLines(t, want, mustList(t, s))
	}

	// What holds no log is left out; sessions that are gone are forgotten.
	if err := os.MkdirAll(filepath.Join(s.dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path("broken"), []byte("no header"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.Dir("b")); err != nil {
		t.Fatal(err)
	}
	want = "a /w/a \"New\\nname\" 2\nc /w/c \"Title of c\" 1\n"
	diffLines(t, want, mustList(t, s))
	if !strings.Contains(logged.String(), "broken") {
		t.Errorf("the broken session was not reported: %s", &logged)
	}
	if data, _ := os.ReadFile(index); bytes.Contains(data, []byte("/w/b")) {
		t.Error("the index keeps a session that is gone")
	}
	left, err := filepath.Glob(filepath.Join(s.dir, indexName+".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// A line that is being written while the list is made is read next time.
func TestListSeesOnlyWholeLines(t *testing.T) {
	s := newStore(t, Options{})
	l := create(t, s)
	mustAppend(t, l, prompt("one"))
	setTime(t, l, 1)
	data, _ := os.ReadFile(l.Path())
	half := string(Event{Type: TypeUserMessage, Seq: 1, Data: Data("content", []any{})}.AppendLine(nil))
	if err := os.WriteFile(l.Path(), append(data, half[:20]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustList(t, s); !strings.HasSuffix(got, " 1\n") {
		t.Errorf("with half a line: %s", got)
	}
	if err := os.WriteFile(l.Path(), append(data, half...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustList(t, s); !strings.HasSuffix(got, " 2\n") {
		t.Errorf("with the whole line: %s", got)
	}
}

func TestListStopsWithItsContext(t *testing.T) {
	s := newStore(t, Options{})
	create(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
