package session

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the exclusive lock of a log for as long as f is open. The
// locked byte lies far behind the log, because a lock on Windows keeps others
// from reading what it covers.
func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
