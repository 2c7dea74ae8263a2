//go:build !linux

package proc

// HideEnviron does nothing here: other processes of the user do not see the
// environment in a file.
func HideEnviron() {}
