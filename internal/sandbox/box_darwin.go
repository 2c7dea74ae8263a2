package sandbox

import (
	"os"

	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// sandboxExec comes with the system; one that is found elsewhere is something else.
const sandboxExec = "/usr/bin/sandbox-exec"

// Box is a way in which this machine confines. Make it with [New]; it is safe for
// concurrent use.
type Box struct{ status Status }

// New finds out what this machine can do.
func New(want Mechanism) *Box {
	b := &Box{status: Status{Mechanism: None}}
	switch _, err := os.Stat(sandboxExec); {
	case want == None:
		b.status.Details = []string{"switched off by sandbox.mechanism"}
		b.status.Remedy = "set sandbox.mechanism: auto"
	case want != Auto && want != Seatbelt:
		b.status.Details = []string{string(want) + " is not to be had on macOS"}
		b.status.Remedy = "set sandbox.mechanism: auto"
	case err != nil:
		b.status.Details = []string{sandboxExec + " is missing"}
		b.status.Remedy = "it is a part of macOS; without it run the program in a virtual machine"
	default:
		b.status = Status{Mechanism: Seatbelt, Protects: true, Details: []string{sandboxExec + ": what may be written, network"}}
	}
	return b
}

func (b *Box) wrap(p Policy, layout *Layout, run *Run) error {
	profile := seatbelt(p, layout)
	run.Wrap = func(spec *proc.Spec) (func(), error) {
		spec.Args = append([]string{sandboxExec, "-p", profile}, spec.Args...)
		return nil, nil
	}
	return nil
}

// Sweep has nothing to do here: nothing is undone after a command.
func (b *Box) Sweep() {}

// Close has nothing to end here.
func (b *Box) Close() {}
