//go:build !linux

package worker

import "runtime/debug"

func confine() {}

// limitRun sets the limits that depend on the program; here only the collector
// knows one.
func limitRun(memory uint64, _ uint64) {
	if memory > 0 {
		debug.SetMemoryLimit(int64(memory / 4 * 3)) // garbage must not be taken for use
	}
}

func confinement() []string {
	return []string{"a process of its own, without environment; this system offers no confinement that needs no privilege"}
}
