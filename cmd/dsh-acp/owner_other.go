//go:build !unix

package main

import "os"

// ownFile says whether a file belongs to this user: the system keeps the
// temporary folder of each user apart.
func ownFile(os.FileInfo) bool { return true }
