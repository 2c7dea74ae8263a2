package session

import (
	"errors"
	"os"

	"github.com/dsh-acp/dsh-acp/internal/filelock"
)

// lockFile takes the exclusive lock of a log for as long as f is open.
func lockFile(f *os.File) error {
	err := filelock.Try(f)
	if errors.Is(err, filelock.ErrLocked) {
		return ErrLocked
	}
	return err
}
