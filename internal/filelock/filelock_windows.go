package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try takes the exclusive lock of a file for as long as f is open, without
// waiting: ErrLocked when another process, or another opening of the file in
// this one, has it. The locked byte lies far behind any content, because a lock
// on Windows keeps others from reading what it covers.
func Try(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
