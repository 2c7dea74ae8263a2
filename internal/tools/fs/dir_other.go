//go:build !linux

package fs

import "os"

// openDir opens a folder for changes of what is in it.
func openDir(dir string) (*os.Root, error) { return openDirAndLook(dir) }
