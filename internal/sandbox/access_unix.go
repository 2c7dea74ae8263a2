//go:build unix

package sandbox

import "golang.org/x/sys/unix"

func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// nonBlocking lets nothing that is opened wait for somebody else.
const nonBlocking = unix.O_NONBLOCK
