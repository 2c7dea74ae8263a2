//go:build unix

package search

import (
	"os"
	"syscall"
)

// openFile opens a file for reading. A link is refused, and a pipe that took the
// file's place cannot make the search wait.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
