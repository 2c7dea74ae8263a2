package fs

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes copies extended attributes, access lists among them, as far
// as the system allows. A file system without them is no reason to fail.
func copyAttributes(f *os.File, from string) {
	names := make([]byte, 16<<10)
	n, err := unix.Listxattr(from, names)
	if err != nil || n <= 0 {
		return
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		if n, err := unix.Getxattr(from, name, value); err == nil {
			_ = unix.Fsetxattr(int(f.Fd()), name, value[:n], 0)
		}
	}
}
