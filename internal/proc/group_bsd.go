//go:build unix && !linux

package proc

// groupAlive says whether the group has any process.
func groupAlive(id int) bool { return exists(id) }

// signalMarked does nothing here: other processes' environments are not
// readable, so what calls setsid escapes.
func signalMarked(string, signal) int { return 0 }
