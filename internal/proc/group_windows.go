package proc

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// On Windows there are no process groups to signal; a tree is ended as a whole
// and without a grace.

type signal int

const (
	term signal = iota
	kill
)

func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func signalGroup(id int, p *os.Process, _ signal) {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(id)).Run() != nil {
		_ = p.Kill()
	}
}

func signalMarked(string, signal) int { return 0 }

// groupAlive cannot see the tree of an ended process.
func groupAlive(int) bool { return false }

func exitOf(state *os.ProcessState, _ error) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	return Exit{Code: state.ExitCode()}
}

// stopReading closes the pipe: its reads cannot be given a deadline.
func stopReading(r *os.File) { _ = r.Close() }

func readRest(*os.File, []byte) int { return 0 }
