//go:build !unix

package credentials

import "io/fs"

// exposed cannot be told from the mode here: access lists decide.
func exposed(fs.FileMode) bool { return false }
