//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

type signal = syscall.Signal

const (
	term = syscall.SIGTERM
	kill = syscall.SIGKILL
)

// detach gives the process a session of its own: a new process group, and no
// terminal that a password prompt could wait on.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func signalGroup(id int, _ *os.Process, sig signal) {
	_ = syscall.Kill(-id, sig) // ESRCH: already gone
}

// exists says whether the group has any process, zombies included.
func exists(id int) bool {
	return !errors.Is(syscall.Kill(-id, 0), syscall.ESRCH)
}

func exitOf(state *os.ProcessState, err error) Exit {
	if state == nil { // the wait itself failed; how it ended is unknown
		return Exit{Code: -1}
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(ws.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

// stopReading makes blocked and future reads of a pipe end return.
func stopReading(r *os.File) { _ = r.SetReadDeadline(unixEpoch) }

// readRest reads what is in the pipe without waiting, after stopReading.
func readRest(r *os.File, buf []byte) int {
	conn, err := r.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	_ = conn.Control(func(fd uintptr) {
		for {
			n, err = syscall.Read(int(fd), buf)
			if !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	})
	return max(n, 0)
}
