package wire

import "golang.org/x/sys/unix"

// replaceFd makes newFd another name of oldFd. Not every Linux port has dup2.
func replaceFd(oldFd, newFd int) error { return unix.Dup3(oldFd, newFd, 0) }
