package fs

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Disk is the file system of this machine.
//
// A change replaces the file as a whole: the new content is written beside it,
// flushed, and renamed onto it, so that nobody ever sees half of it. Mode,
// owner and, where the system has them, extended attributes stay. A symbolic
// link stays a link, since it is the file it leads to that is replaced. A hard
// link does not: the other names keep the old content, as they do with package
// stores, whose files must not change through one of their links. Where
// replacing is not possible (a directory that we may not write, a mount point,
// a file whose owner would be lost) the file is rewritten in place.
type Disk struct{}

// Open opens a regular file. It does not block on anything else that may have
// taken its place.
func (Disk) Open(_ context.Context, t Target) (io.ReadCloser, error) {
	f, err := os.OpenFile(t.Real, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Write makes data the content of the file that t leads to.
func (Disk) Write(ctx context.Context, t Target, data []byte) (note string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if t.Exists {
		return "", replace(t, data)
	}
	return "", create(t, data)
}

func replace(t Target, data []byte) error {
	// A rename would get past a file that must not be written.
	if err := writable(t.Real); err != nil {
		return err
	}
	dir, err := openDir(filepath.Dir(t.Real))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(t.Real)
	temp, err := writeTemp(dir, 0o600, data, func(f *os.File) error { return keepIdentity(f, t) })
	switch {
	case errors.Is(err, iofs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, errOwnerLost):
		return rewrite(dir, t, data)
	case err != nil:
		return err
	}
	defer dir.Remove(temp) // after the rename there is nothing to remove
	if err := unchanged(dir, t); err != nil {
		return err
	}
	if err := dir.Rename(temp, name); err != nil {
		if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) {
			return rewrite(dir, t, data)
		}
		return err
	}
	syncDir(dir)
	return nil
}

func create(t Target, data []byte) error {
	dir, err := makeDir(filepath.Dir(t.Real))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(t.Real)
	// The system takes the umask, or the directory's default rules, off the mode.
	temp, err := writeTemp(dir, 0o666, data, nil)
	if err != nil {
		return err
	}
	defer dir.Remove(temp)
	// Unlike a rename, a link never takes the place of a file that appeared.
	switch err := dir.Link(temp, name); {
	case err == nil:
		syncDir(dir)
		return nil
	case errors.Is(err, iofs.ErrExist):
		return err
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := finish(f, data, nil); err != nil {
		_ = dir.Remove(name)
		return err
	}
	syncDir(dir)
	return nil
}

// writeTemp writes a new file into dir and gives its name. prepare comes after
// the content, since writing clears the set-user-id and set-group-id bits.
// Nothing is left behind when it fails.
func writeTemp(dir *os.Root, mode os.FileMode, data []byte, prepare func(*os.File) error) (name string, err error) {
	name = ".dsh-" + rand.Text()[:16] + ".tmp"
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	if err := finish(f, data, prepare); err != nil {
		_ = dir.Remove(name)
		return "", err
	}
	return name, nil
}

func finish(f *os.File, data []byte, prepare func(*os.File) error) error {
	_, err := f.Write(data)
	if err == nil && prepare != nil {
		err = prepare(f)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// rewrite changes the file in place. When that fails half way the old content
// is put back: its blocks are still the file's.
func rewrite(dir *os.Root, t Target, data []byte) error {
	if err := unchanged(dir, t); err != nil {
		return err
	}
	f, err := dir.OpenFile(filepath.Base(t.Real), os.O_RDWR|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// A link may have taken its place between the look and the opening.
	if info, err := f.Stat(); err != nil || t.info != nil && !os.SameFile(info, t.info) {
		return errors.Join(err, ErrChanged)
	}
	old, err := io.ReadAll(io.LimitReader(f, maxChange+1))
	if err != nil {
		return err
	}
	put := func(b []byte) error {
		if _, err := f.WriteAt(b, 0); err != nil {
			return err
		}
		if err := f.Truncate(int64(len(b))); err != nil {
			return err
		}
		return f.Sync()
	}
	if err := put(data); err != nil {
		if len(old) <= maxChange {
			err = errors.Join(err, put(old))
		}
		return err
	}
	return nil
}

// unchanged is the last look before a change: whatever was read must still be
// what is there.
func unchanged(dir *os.Root, t Target) error {
	if t.info == nil {
		return nil
	}
	now, err := dir.Lstat(filepath.Base(t.Real))
	if errors.Is(err, iofs.ErrNotExist) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	if !os.SameFile(now, t.info) || now.Size() != t.info.Size() || !now.ModTime().Equal(t.info.ModTime()) {
		return ErrChanged
	}
	return nil
}

// syncDir makes a rename durable, where the system lets us.
func syncDir(dir *os.Root) {
	if d, err := dir.Open("."); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// errOwnerLost means that a new file could not be given to the old one's owner.
var errOwnerLost = errors.New("the owner cannot be kept")
