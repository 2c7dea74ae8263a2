// Package proc starts processes. Nothing else in the program does: every
// command, helper and server gets from here its own session and process group,
// a closed stdin, no terminal, bounded output, and a kill ladder that reaches
// its grandchildren.
//
// A [Supervisor] owns all of them, so that one call ends everything at shutdown.
// [Supervisor.Run] runs a command to its end and collects its output;
// [Supervisor.Start] starts one that is spoken to over pipes.
package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Defaults of the limits below.
const (
	// DefaultGrace is how long a group may go on after SIGTERM before SIGKILL.
	DefaultGrace = 3 * time.Second
	// DefaultLimit is how many bytes of each output stream are kept in memory.
	DefaultLimit = 64_000
	// DefaultSpillLimit is how many bytes of a stream go to its spill file
	// before the file is given up.
	DefaultSpillLimit = 64 << 20

	// drainLimit bounds how long output is still awaited after a command has
	// ended while something else holds its pipes; quietLimit ends the wait
	// sooner when nothing more comes.
	drainLimit = 3 * time.Second
	quietLimit = 250 * time.Millisecond

	// closeGrace is the time between SIGTERM and SIGKILL at shutdown, which has
	// to be over within three seconds as a whole.
	closeGrace = time.Second
)

// ErrClosed is returned by Run and Start after Close.
var ErrClosed = errors.New("the program is shutting down; no more processes are started")

// Spec is what is about to be executed; a [Wrapper] may rewrite all of it.
type Spec struct {
	Args       []string // the program and its arguments
	Env        []string // the whole environment, KEY=value; nil means our own
	Dir        string   // the working directory, absolute; "" means our own
	ExtraFiles []*os.File
	// Attributes, if set, changes how the system starts the process: namespaces,
	// rights. What makes it a group of its own is set already and must stay.
	Attributes func(*syscall.SysProcAttr)
	// Spawn, if set, gives the command a process that was started ahead for it, in
	// a session and group of its own; files are its descriptors from 0 on, and stay
	// the caller's. With an error the command is started as the rest of this says.
	Spawn func(files []*os.File) (*os.Process, error)
}

// Wrapper changes a command just before it starts: confinement puts its helper
// in front of the arguments and hands over what the helper needs. The returned
// release, if any, is called once, when the process has ended or could not be
// started. An error means the command is not started.
type Wrapper func(*Spec) (release func(), err error)

// Command describes a process to start.
type Command struct {
	Spec
	// Owner names whoever the process belongs to, such as a session, so that
	// CloseOwner can end what is left of it. May be empty.
	Owner string
	// Wrap, if set, rewrites the command just before it starts.
	Wrap Wrapper
	// Grace is the time between SIGTERM and SIGKILL. Zero means DefaultGrace.
	Grace time.Duration
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // the exit status; -1 when a signal ended the process
	Signal string // the signal's name, such as SIGKILL; "" when it exited
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit code: %d", e.Code)
}

// StartError says why a process could not be started.
type StartError struct {
	Program string
	Dir     string
	Err     error
}

func (e *StartError) Error() string {
	if e.Dir != "" {
		switch info, err := os.Stat(e.Dir); {
		case errors.Is(err, os.ErrNotExist):
			return fmt.Sprintf("cannot start %q: the working directory %q does not exist", e.Program, e.Dir)
		case err != nil:
			return fmt.Sprintf("cannot start %q: the working directory %q cannot be used: %v", e.Program, e.Dir, err)
		case !info.IsDir():
			return fmt.Sprintf("cannot start %q: the working directory %q is not a directory", e.Program, e.Dir)
		}
	}
	return fmt.Sprintf("cannot start %q: %v", e.Program, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// LookPath finds a program as starting it would. A [Wrapper] that hands a command
// to a helper needs it.
func LookPath(program string) (string, error) { return exec.LookPath(program) }
