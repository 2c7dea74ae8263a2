package sandbox_test

import (
	"os"
	"syscall"
)

// owner is the user of a file.
func owner(info os.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }
