//go:build !linux && !darwin

package sandbox

import "runtime"

// Box is a way in which this machine confines: here there is none.
type Box struct{ status Status }

// New finds out what this machine can do.
func New(want Mechanism) *Box {
	b := &Box{status: Status{
		Mechanism: None,
		Details:   []string{"there is nothing to confine commands with on " + runtime.GOOS},
		Remedy:    "run the program on Linux or macOS, or inside of a virtual machine",
	}}
	if want == None {
		b.status.Details, b.status.Remedy = []string{"switched off by sandbox.mechanism"}, ""
	}
	return b
}

func (b *Box) wrap(Policy, *Layout, *Run) error { return nil }

// Sweep has nothing to do here: nothing is undone after a command.
func (b *Box) Sweep() {}

// Close has nothing to end here.
func (b *Box) Close() {}
