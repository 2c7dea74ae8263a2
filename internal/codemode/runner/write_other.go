//go:build !unix

package runner

import "os"

// writeNow leaves everything to the writing goroutine: here a write waits.
func writeNow(_ *os.File, b []byte) (rest []byte, err error) { return b, nil }
