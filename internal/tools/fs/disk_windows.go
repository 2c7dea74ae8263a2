package fs

import (
	"os"
	"path/filepath"
)

const nonblock = 0

func writable(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o200 == 0 {
		err = &os.PathError{Op: "write", Path: filepath.Clean(path), Err: os.ErrPermission}
	}
	return err
}

func keepIdentity(*os.File, Target) error { return nil }
