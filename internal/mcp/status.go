package mcp

import (
	"fmt"
	"strings"
)

// State is where a server is in its life.
type State string

// The states.
const (
	Starting   State = "starting"
	Ready      State = "ready"
	Restarting State = "restarting" // it ended and is about to be started again
	Failed     State = "failed"     // given up
	Closed     State = "closed"
)

// Status is what is known of a server.
type Status struct {
	Name      string
	Origin    Origin
	Transport Transport
	Target    string // what is started, or where it is
	State     State
	// Error is why it is not ready, or why it last was not; "" when there was
	// nothing.
	Error string
	// Stderr is the end of what its process wrote there.
	Stderr string
	// Server is how it introduced itself, such as "name 1.2.3".
	Server string
	// Tools are the tools that are offered, in the server's order.
	Tools []ToolStatus
	// Refused are the tools that are not offered, with the reasons.
	Refused  []RefusedTool
	Restarts int
}

// ToolStatus is one tool that is offered.
type ToolStatus struct {
	Name     string // as the model calls it
	Original string // as the server calls it
}

// RefusedTool is a tool that cannot be offered.
type RefusedTool struct{ Tool, Reason string }

// Line says all of it on one line.
func (s Status) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, from the %s): %s", s.Name, s.Transport, s.Origin, s.State)
	if s.State == Ready {
		fmt.Fprintf(&b, ", %s", count(len(s.Tools), "tool"))
	}
	if n := len(s.Refused); n > 0 {
		fmt.Fprintf(&b, ", %s left out", count(n, "tool"))
	}
	if s.State != Ready && s.Error != "" {
		b.WriteString(": " + s.Error)
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
