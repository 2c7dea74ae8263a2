//go:build unix

package main

import (
	"os"
	"syscall"
)

// ownFile says whether a file belongs to this user.
func ownFile(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
