//go:build !unix

package sandbox

import "os"

func mayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o200 != 0
}

// nonBlocking lets nothing that is opened wait for somebody else.
const nonBlocking = 0
