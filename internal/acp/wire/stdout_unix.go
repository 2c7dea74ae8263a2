//go:build unix && !linux

package wire

import "golang.org/x/sys/unix"

// replaceFd makes newFd another name of oldFd.
func replaceFd(oldFd, newFd int) error { return unix.Dup2(oldFd, newFd) }
