package session

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestForkCopiesWhatIsThere(t *testing.T) {
	s := NewStore(t.TempDir(), Options{})
	src, err := s.Create(Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	say := func(l *Log, text string) {
		t.Helper()
		if _, err := l.Append(Draft{Type: TypeUserMessage, Data: Data("content", []any{Data("type", "text", "text", text)})}); err != nil {
			t.Fatal(err)
		}
	}
	say(src, "one")
	say(src, "two")
	// A line that is being written is not there yet.
	f, err := os.OpenFile(src.Path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"type":"user/mess`); err != nil {
		t.Fatal(err)
	}
	f.Close()

	fork, err := s.Fork(src.Header().ID, Header{Cwd: "/w2"})
	if err != nil {
		t.Fatal(err)
	}
	h := fork.Header()
	if h.ID == src.Header().ID || h.ParentSession != src.Header().ID || h.SeedLength != 2 || h.Cwd != "/w2" || h.DelegationDepth != 0 {
		t.Errorf("%+v", h)
	}
	say(fork, "three")
	if fork.Len() != 3 || src.Len() != 2 {
		t.Errorf("%d events in the fork, %d in its source", fork.Len(), src.Len())
	}
	if err := fork.Close(); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Load(h.ID)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Torn != nil || len(rec.Events) != 3 || !reflect.DeepEqual(rec.Header.SeedLength, 2) || len(Messages(rec.Events)) != 3 {
		t.Errorf("%+v", rec)
	}
	if _, err := s.Fork("nobody", Header{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := s.Fork("../x", Header{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	entries, _ := os.ReadDir(filepath.Dir(s.Dir(h.ID)))
	if len(entries) != 2 {
		t.Errorf("%v", entries)
	}
}

// What a session keeps beside its log is the copy's too, and outlasts the other
// one; the paths in the copy lead to its own.
func TestForkKeepsTheFilesBesideTheLog(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "se ss%20\"é"), Options{})
	src, err := s.Create(Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	keep := func(folder, name, text string) string {
		t.Helper()
		path := filepath.Join(s.Dir(src.Header().ID), folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	paths := []string{keep("results", "1-bash.txt", "one"), keep("output", "bash-2-stdout.txt", "two"), keep("agents/sub/results", "3.txt", "three")}
	keep("agents/sub", logName, "a log")
	missing := filepath.Join(s.Dir(src.Header().ID), "results", "gone.txt")
	for _, d := range []Draft{
		{Type: TypeToolResult, Data: Data("turn", 1, "step", 1, "callId", "c", "content", []any{Data("type", "text", "text", "see "+paths[0]+". Or "+missing)})},
		{Type: "tool/spill", Data: Data("path", paths[1], "more", []any{paths[2], 3, nil})},
		{Type: TypeToolCall, Data: Data("arguments", `{"file_path":"`+paths[0]+`"}`)},
	} {
		if _, err := src.Append(d); err != nil {
			t.Fatal(err)
		}
	}
	fork, err := s.Fork(src.Header().ID, Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	from, to := s.Dir(src.Header().ID), s.Dir(fork.Header().ID)
	if err := errors.Join(fork.Close(), src.Close(), s.Delete(src.Header().ID)); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Load(fork.Header().ID)
	if err != nil {
		t.Fatal(err)
	}
	moved := func(path string) string { return to + strings.TrimPrefix(path, from) }
	for i, want := range []string{"one", "two", "three"} {
		if got, err := os.ReadFile(moved(paths[i])); err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "agents", "sub", logName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log of a subagent was copied: %v", err)
	}
	e := rec.Events
	if got, want := e[0].Data.Get("content").At(0).GetString("text"), "see "+moved(paths[0])+". Or "+missing; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e[1].Data.GetString("path") != moved(paths[1]) || e[1].Data.Get("more").At(0).String() != Data("x", moved(paths[2])).Get("x").String() {
		t.Errorf("%s", e[1].Data)
	}
	if got, want := e[2].Data.GetString("arguments"), `{"file_path":"`+moved(paths[0])+`"}`; got != want {
		t.Errorf("%s", got)
	}
	if original := src.Events()[1].Data.GetString("path"); original != paths[1] {
		t.Errorf("the source's events changed: %s", original)
	}
}

// A copy that was made in the middle of something does not say that the program
// stopped, for it has not.
func TestRepairOfACopy(t *testing.T) {
	s := NewStore(t.TempDir(), Options{})
	src, err := s.Create(Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	call := func(id string) any { return Data("type", "tool-call", "id", id, "name", "bash", "arguments", "{}") }
	if _, err := src.AppendAll([]Draft{
		{Type: TypeTurnStart, Data: Data("turn", 1)},
		{Type: TypeStepStart, Data: Data("turn", 1, "step", 1)},
		{Type: TypeAssistantMessage, Data: Data("turn", 1, "step", 1, "content", []any{call("a"), call("b")})},
		{Type: TypeToolCall, Data: Data("turn", 1, "step", 1, "callId", "a", "name", "bash", "arguments", "{}")},
		{Type: TypeJobStart, Data: Data("taskId", "bash_1", "callId", "x")},
		{Type: TypeCompactStart, Data: Data("id", "k")},
	}); err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(src.Header().ID, Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	repaired, crashed := RepairCopy(fork.Events()), Repair(fork.Events())
	if len(repaired) != len(crashed) || len(repaired) != 7 {
		t.Fatalf("%d and %d drafts", len(repaired), len(crashed))
	}
	said := 0
	for i, d := range repaired {
		if d.Type != crashed[i].Type {
			t.Errorf("%s and %s", d.Type, crashed[i].Type)
		}
		if text := d.Data.String(); strings.Contains(text, "stopped") {
			t.Errorf("%s", text)
		} else if strings.Contains(text, "copied") {
			said++
		}
	}
	if said != 4 {
		t.Errorf("%d of 4 say it", said)
	}
	if _, err := fork.AppendAll(repaired); err != nil {
		t.Fatal(err)
	}
	if again := RepairCopy(fork.Events()); again != nil {
		t.Errorf("repaired again with %v", again)
	}
}
