//go:build unix

package wire

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// TakeStdout takes standard output away from the rest of the process: it
// returns a file that writes where descriptor 1 wrote, and from then on
// descriptor 1 and os.Stdout write to standard error. Nothing that prints, in
// this process or in a child that inherits descriptor 1, can break a frame any
// more. The returned file is not inherited by children. Call it once, before
// anything is started.
//
// A broken pipe becomes an error of Write in the whole process, also for
// standard error: without that, the first log line after the editor has gone
// would end the process before its clean-up. Children are not affected.
func TakeStdout() (*os.File, error) {
	frames, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("standard output cannot be used: %w", err)
	}
	if err := divertStdout(); err != nil {
		_ = unix.Close(frames)
		return nil, err
	}
	// Catching the signal, and not ignoring it, is what children do not inherit.
	// Nobody has to read the channel.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(frames), "frames"), nil
}

// divertStdout points descriptor 1 at standard error, or at nowhere when there
// is no standard error.
func divertStdout() error {
	if replaceFd(2, 1) == nil {
		return nil
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("standard output cannot be diverted: %w", err)
	}
	defer func() { _ = null.Close() }()
	if err := replaceFd(int(null.Fd()), 1); err != nil {
		return fmt.Errorf("standard output cannot be diverted: %w", err)
	}
	return nil
}
