package fs

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
)

// openDirAndLook opens a folder and then makes sure that it is the one the path
// names, without a symbolic link on the way.
func openDirAndLook(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil {
		var real string
		if real, err = filepath.EvalSymlinks(dir); err == nil && real != dir {
			err = ErrChanged
		}
	}
	var there os.FileInfo
	if err == nil {
		there, err = os.Lstat(dir)
	}
	if err == nil && !os.SameFile(opened, there) {
		err = ErrChanged
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// makeDir opens a folder that may not exist yet. What is missing is made from the
// nearest folder that exists, and never outside of it.
func makeDir(dir string) (*os.Root, error) {
	root, err := openDir(dir)
	if !errors.Is(err, iofs.ErrNotExist) {
		return root, err
	}
	above, missing := filepath.Dir(dir), filepath.Base(dir)
	for {
		if _, err := os.Lstat(above); err == nil || filepath.Dir(above) == above {
			break
		}
		above, missing = filepath.Dir(above), filepath.Join(filepath.Base(above), missing)
	}
	base, err := openDir(above)
	if err != nil {
		return nil, err
	}
	err = base.MkdirAll(missing, 0o777)
	if err = errors.Join(err, base.Close()); err != nil {
		return nil, err
	}
	return openDir(dir)
}
