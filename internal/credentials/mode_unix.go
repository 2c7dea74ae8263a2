//go:build unix

package credentials

import "io/fs"

// exposed reports whether others than the owner can read the file.
func exposed(m fs.FileMode) bool { return m.Perm()&0o077 != 0 }
