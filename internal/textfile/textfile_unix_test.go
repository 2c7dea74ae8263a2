//go:build unix

package textfile

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe that nobody writes to must not hold up a prompt.
func TestAPipeDoesNotBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "AGENTS.md")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Read(path, "", 100)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrNotRegular) {
			t.Error(err)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("reading a pipe waits for a writer")
	}
}
