package worker

import (
	"os"
	"runtime/debug"
	"time"
)

// The child process is told apart by its arguments and its environment, both of
// which the parent sets and a person has no reason to.
const (
	// Argument is the child's only argument.
	Argument = "internal-codemode-worker"
	// EnvName is set to EnvValue in the child's environment.
	EnvName = "DSH_ACP_INTERNAL_WORKER"
	// EnvValue names the protocol the parent speaks.
	EnvValue = "codemode/1"
)

// MaybeWorker runs the worker and does not return, if this process was started
// as one. It must be the first statement of main, and of TestMain in packages
// that start workers from their own test binary.
func MaybeWorker() {
	if len(os.Args) != 2 || os.Getenv(EnvName) != EnvValue {
		return
	}
	switch os.Args[1] {
	case Argument:
		os.Exit(Main())
	case CompileArgument:
		os.Exit(compileMain())
	}
}

// maxStack bounds a goroutine's stack in bytes: what exhausts it kills the
// process, and better before it has cost a gigabyte.
const maxStack = 256 << 20

// gcPercent lets the heap grow further between collections than usual: a worker
// lives for one program, and near its limit the memory limit collects anyway.
const gcPercent = 300

// Main is the worker process: it confines itself, prepares an engine, runs one
// program over stdin and stdout, and returns the exit code.
func Main() int {
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(gcPercent)
	_ = time.Now().Local().String() // the zone is a file, read while there are some
	leaveDirectory()
	conn := newPipeConn(os.Stdin, os.Stdout)
	engine, err := NewEngine(conn, os.Exit)
	if err != nil {
		return exitProtocol
	}
	engine.guard.orphaned, engine.guard.nudge = conn.orphaned, conn.nudge
	confine()
	if err := engine.Serve(); err != nil {
		return exitProtocol
	}
	return exitOK
}

// leaveDirectory changes to a directory that is empty and stays so: it has
// already been removed.
func leaveDirectory() {
	dir, err := os.MkdirTemp("", "dsh-acp-worker-")
	if err != nil {
		_ = os.Chdir(os.TempDir())
		return
	}
	_ = os.Chdir(dir)
	_ = os.Remove(dir)
}

// Confinement says which of the operating system's protections a worker on this
// machine runs under, in words for a person.
func Confinement() []string { return confinement() }
