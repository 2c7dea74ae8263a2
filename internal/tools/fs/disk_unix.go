//go:build unix

package fs

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps an open from waiting for the other end of a named pipe.
const nonblock = syscall.O_NONBLOCK

func writable(path string) error {
	if err := unix.Access(path, unix.W_OK); err != nil && !errors.Is(err, syscall.ETXTBSY) {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// keepIdentity gives a new file the owner, the attributes and the mode of the
// one that it will replace. The mode comes last: changing the owner clears the
// set-user-id bit.
func keepIdentity(f *os.File, t Target) error {
	old, ok := t.info.Sys().(*syscall.Stat_t)
	if ok {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		mine, ok := info.Sys().(*syscall.Stat_t)
		if ok && (mine.Uid != old.Uid || mine.Gid != old.Gid) && f.Chown(int(old.Uid), int(old.Gid)) != nil {
			return errOwnerLost
		}
	}
	copyAttributes(f, t.Real)
	return f.Chmod(t.info.Mode())
}
