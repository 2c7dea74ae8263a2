//go:build !linux

package proc

// guard is there on Linux only: elsewhere a process cannot be recognised by what
// stands in its environment, and a process group's id may be somebody else's by
// the time it is looked at.
type guard struct{}

func startGuard(string) *guard { return nil }

func (*guard) end() {}
