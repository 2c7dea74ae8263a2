//go:build !linux

package conformance

import (
	"os"
	"syscall"
)

// running reports whether a process runs.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}
