//go:build !unix

package wire

import "os"

// TakeStdout takes os.Stdout away from the rest of the program: it returns the
// file frames are written to, and makes os.Stdout another name of os.Stderr.
// Where descriptors cannot be moved, as here, code that writes to the handle
// itself is not stopped.
func TakeStdout() (*os.File, error) {
	frames := os.Stdout
	os.Stdout = os.Stderr
	return frames, nil
}
