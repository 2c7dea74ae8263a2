package record

import (
	"errors"
	"os"

	"github.com/dsh-acp/dsh-acp/internal/filelock"
)

// lock holds a file for as long as the process lives; another process is
// refused meanwhile.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
