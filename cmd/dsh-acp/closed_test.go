package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/config"
)

// What a session has of its own goes with it: a program that serves for days
// must not keep something of each.
func TestAClosedSessionLeavesNothing(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	cwd := t.TempDir()
	if err := os.WriteFile(filepath.Join(cwd, ".dsh-acp.yaml"), []byte("code_mode: {compute: 1s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Flags: config.Flags{Model: "local"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Sessions.Dir = t.TempDir()
	a, err := newApp(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	s, err := a.OpenSession(t.Context(), acp.SessionParams{Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	limited := func() bool { _, ok := a.codeMode.tighter.Load(s.SessionID()); return ok }
	if !limited() {
		t.Fatal("the workspace's limits do not hold")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a.SessionClosed(t.Context(), s.SessionID())
	if limited() {
		t.Error("its limits are kept")
	}
}
