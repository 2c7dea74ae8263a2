package launch

import (
	"os"
	"syscall"
	"testing"
)

// Where close_range is not to be had, what somebody left open ends all the same, and
// the command's own descriptors stay.
func TestEndEach(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	open := func(atLeast int) int {
		fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_DUPFD, uintptr(atLeast))
		if errno != 0 {
			t.Fatal(errno)
		}
		t.Cleanup(func() { _ = syscall.Close(int(fd)) })
		return int(fd)
	}
	ends := func(fd int) bool {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		return flags&syscall.FD_CLOEXEC != 0
	}
	below, first := open(3), open(100)
	var behind []int
	for range 600 { // more than one reading of the folder gives
		behind = append(behind, open(first))
	}
	if err := endEach(first); err != nil {
		t.Fatal(err)
	}
	if ends(below) || !ends(first) {
		t.Errorf("the last that stays ends: %v, the first that does not: %v", ends(below), ends(first))
	}
	for _, fd := range behind {
		if !ends(fd) {
			t.Fatalf("descriptor %d stays", fd)
		}
	}
}
