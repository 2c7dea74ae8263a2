package session_test

import (
	"errors"
	"os"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/session"
)

func TestASessionIsOpenOnceOnly(t *testing.T) {
	dir := t.TempDir()
	one, other := session.NewStore(dir, session.Options{}), session.NewStore(dir, session.Options{})
	log, err := one.Create(session.Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	id := log.Header().ID
	if _, err := other.Open(id); !errors.Is(err, session.ErrLocked) {
		t.Errorf("opening a session that is open: %v", err)
	}
	if err := other.Delete(id); !errors.Is(err, session.ErrLocked) {
		t.Errorf("deleting a session that is open: %v", err)
	}
	if _, err := other.Load(id); err != nil {
		t.Errorf("reading a session that is open: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := other.Open(id)
	if err != nil {
		t.Fatalf("opening it after it was closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if err := one.Delete(id); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(one.Dir(id)); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if err := one.Delete(id); err != nil {
		t.Errorf("deleting it again: %v", err)
	}
	if _, err := one.Open(id); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("opening it after it was deleted: %v", err)
	}
}
