//go:build unix

package runner

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writeNow writes what the pipe takes without waiting and returns the rest.
func writeNow(f *os.File, b []byte) (rest []byte, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var n int
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		n, failed = unix.Write(int(fd), b)
		return true // also when the pipe is full: the goroutine waits, not we
	})
	if errors.Is(failed, unix.EAGAIN) || errors.Is(failed, unix.EINTR) {
		failed = nil
	}
	if err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	return b[max(n, 0):], nil
}
