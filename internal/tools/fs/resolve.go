package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxLinks bounds how many dangling links are followed one after another; the
// system has its own bound for those that lead somewhere.
const maxLinks = 40

// Resolve follows path to the file it leads to.
func (Disk) Resolve(_ context.Context, path string) (Target, error) {
	t := Target{Path: path}
	for range maxLinks {
		info, err := os.Stat(path)
		if err == nil {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				return t, err
			}
			t.Real, t.Exists, t.Regular, t.info = real, true, info.Mode().IsRegular(), info
			return t, nil
		}
		if !errors.Is(err, iofs.ErrNotExist) {
			return t, err
		}
		// Nothing is there, or a link that leads nowhere: then the file would
		// be created where the link points, as the system does it.
		target, err := os.Readlink(path)
		if err != nil {
			real, err := resolveMissing(filepath.Dir(path))
			t.Real = filepath.Join(real, filepath.Base(path))
			return t, err
		}
		if !filepath.IsAbs(target) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return t, err
			}
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return t, &os.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
}

// resolveMissing follows the links of a directory whose last parts may not
// exist yet.
func resolveMissing(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		return real, nil
	}
	parent := filepath.Dir(dir)
	if !errors.Is(err, iofs.ErrNotExist) || parent == dir {
		return "", err
	}
	real, err = resolveMissing(parent)
	return filepath.Join(real, filepath.Base(dir)), err
}
