// Package sandbox confines the commands of the model. It decides nothing: it is
// told a [Policy] and gives back what makes a command run within it.
//
// A [Box] is a way in which this machine can confine. On Linux that is Landlock
// for what may be written, with a mount namespace for what must stay as it is
// inside of that, and a system call filter for sockets; or bubblewrap, which does
// it all with mounts; on macOS a profile of sandbox-exec. Where there is none the
// box says so, and whoever asks can do without the trust that confinement earns.
//
// Everything may be read. What a policy bounds is writing and the network.
package sandbox

import (
	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// Mode is what a command may do.
type Mode string

// The modes, from strict to free.
const (
	// ReadOnly writes nothing but devices that swallow everything, and has no
	// network.
	ReadOnly Mode = "read-only"
	// WorkspaceWrite writes inside the policy's roots and the temporary folder.
	WorkspaceWrite Mode = "workspace-write"
	// FullAccess is not confined at all.
	FullAccess Mode = "danger-full-access"
)

// Policy is what a command is confined to.
type Policy struct {
	Mode Mode
	// Roots are the folders that may be written in WorkspaceWrite, absolute. Those
	// that do not exist are left out, and so is the whole file system.
	Roots []string
	// Temp are folders for temporary files, writable like roots; they hold no
	// project, so nothing in them is protected by its name.
	Temp []string
	// Protected are paths that stay as they are wherever they lie: the program's
	// own state and configuration.
	Protected []string
	// Unmade are files that the program runs something by, without asking, when they
	// are there. Those that are not stay so: one that a command made is set aside.
	// They need not be among Protected.
	Unmade []string
	// Home is the user's home folder. When it is a root, or lies in one, nothing
	// appears directly in it and none of its hidden entries changes.
	Home string
	// Network lets WorkspaceWrite use the network.
	Network bool
	// UnixSockets lets a command talk over sockets in the file system, which
	// reaches whatever listens there: other programs of the user, a Docker daemon.
	UnixSockets bool
}

// Mechanism is a way of confining.
type Mechanism string

// The mechanisms, as the configuration names them.
const (
	// Auto chooses the best that this machine has.
	Auto Mechanism = "auto"
	// Landlock is the kernel's own, on Linux.
	Landlock Mechanism = "landlock"
	// Bubblewrap is the program bwrap, on Linux.
	Bubblewrap Mechanism = "bwrap"
	// Seatbelt is the program sandbox-exec, on macOS. It is what Auto means there.
	Seatbelt Mechanism = "sandbox-exec"
	// None confines nothing.
	None Mechanism = "none"
)

// Status says what a box does, for a person.
type Status struct {
	Mechanism Mechanism // what is in force; None when nothing is
	// Details are the parts of it, one a line: "Landlock (ABI 7)".
	Details []string
	// Protects says whether protected paths inside of writable folders are kept.
	Protects bool
	// Remedy says what would make it better; "" when all is well.
	Remedy string
}

// Run is one command's confinement.
type Run struct {
	// Mode is the policy's.
	Mode Mode
	// Enforcement says by what the command is confined: "landlock", "bwrap",
	// "landlock, no network"; "" when it is not.
	Enforcement string
	// Wrap puts the command into the box. nil when it is not confined.
	Wrap proc.Wrapper
	// Layout is what can be written; nil when everything can.
	Layout *Layout
	// NoNetwork says that the command reaches no other machine.
	NoNetwork bool
	// Env is added to the command's environment, for whoever starts it; the box
	// itself needs none of it.
	Env []string

	failure func() string
	touched func() []string
}

// Failure says why the command was not run at all although it seemed to start;
// "" when it was. It is good once the command has ended.
func (r *Run) Failure() string {
	if r.failure == nil {
		return ""
	}
	return r.failure()
}

// Undone lists what the command left where it may not write, what makes git run
// programs in a repository that it made, and what this program would run by, by ways that the mechanism could not close,
// and that was taken away again or renamed to end in [HeldBack]. It is good once the
// command has ended.
func (r *Run) Undone() []string {
	if r.touched == nil {
		return nil
	}
	return r.touched()
}

// HeldBack ends the name of what was renamed, see [Run.Undone].
const HeldBack = ".held-back"

// Confines says whether commands under the policy are kept to all of it, so that
// they may run without a question. With a mechanism that cannot keep what is
// protected inside of a writable folder this depends on whether there is any.
func (b *Box) Confines(p Policy) bool {
	if b.status.Mechanism == None || p.Mode == FullAccess {
		return false
	}
	return b.status.Protects || !NewLayout(p).nested()
}

// Status says what the box does.
func (b *Box) Status() Status { return b.status }

// Command confines one command to the policy. With nothing to confine it with
// the run says so; an error means that the command must not run.
func (b *Box) Command(p Policy) (*Run, error) {
	if p.Mode == FullAccess || b.status.Mechanism == None {
		return &Run{Mode: p.Mode}, nil
	}
	b.Sweep()
	layout := NewLayout(p)
	layout.prepare()
	run := &Run{Mode: p.Mode, Layout: layout, NoNetwork: p.Mode == ReadOnly || !p.Network}
	run.Enforcement = string(b.status.Mechanism)
	if !b.status.Protects && layout.nested() {
		run.Enforcement += ", protected paths not kept"
	}
	if run.NoNetwork {
		run.Enforcement += ", " + noNetwork
	}
	if err := b.wrap(p, layout, run); err != nil {
		return nil, err
	}
	return run, nil
}

const noNetwork = "no network"
