package proc

import (
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor behind the standard files.
const firstInherited = 3

// KeepDescriptors keeps from every program that is started what whoever started this
// one left open behind its standard files: a socket of the editor, a file. Nothing
// bounds what is done with a descriptor that is open already.
func KeepDescriptors() {
	if unix.CloseRange(firstInherited, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // Linux 5.11, and not in every container
		keepEach()
	}
}

// keepEach is KeepDescriptors, one by one.
func keepEach() {
	open, _ := os.ReadDir("/proc/self/fd")
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= firstInherited {
			unix.CloseOnExec(fd)
		}
	}
}
