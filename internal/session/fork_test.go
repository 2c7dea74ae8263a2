package session

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
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
