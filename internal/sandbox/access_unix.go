//go:build unix

package sandbox

import "golang.org/x/sys/unix"

func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
