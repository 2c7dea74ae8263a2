//go:build unix

package config

import "syscall"

// errNotDir is what the system answers for a path that leads through a file.
var errNotDir error = syscall.ENOTDIR
