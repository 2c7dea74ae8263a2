package fs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openDir opens a folder for changes of what is in it. No symbolic link is
// followed on the way: the path has none, and one that has appeared would lead
// somewhere that nobody allowed.
func openDir(dir string) (*os.Root, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err == unix.ENOSYS || err == unix.EPERM { // an old kernel, or one that filters the call
		return openDirAndLook(dir)
	}
	if err == unix.ELOOP {
		return nil, ErrChanged
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
}
