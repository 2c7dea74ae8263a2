//go:build !unix

package config

import "errors"

// errNotDir matches nothing where the system has no such error.
var errNotDir = errors.New("not a directory")
