//go:build unix

package worker

import "golang.org/x/sys/unix"

// limitCompiler bounds memory and processor time; the system enforces both.
func limitCompiler(memory, cpu uint64) {
	setLimit(unix.RLIMIT_DATA, memory)
	setLimit(unix.RLIMIT_CPU, cpu)
	setLimit(unix.RLIMIT_CORE, 0)
}

func setLimit(resource int, value uint64) {
	// A limit that cannot be set leaves the parent's clock, which always holds.
	_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}
