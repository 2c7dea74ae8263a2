// Package filelock locks files against other processes. The kernel lets go of a
// lock when its process dies, so no stale lock can remain.
package filelock

import "errors"

// ErrLocked says that somebody else has the lock.
var ErrLocked = errors.New("the file is locked")
