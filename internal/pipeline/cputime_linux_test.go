package pipeline_test

import (
	"syscall"
	"testing"
	"time"
)

// threadTime is the processor time of the calling thread: unlike the clock, it
// does not count what other processes take. Lock the goroutine to its thread.
func threadTime(tb testing.TB) time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	must(tb, syscall.Getrusage(thread, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
