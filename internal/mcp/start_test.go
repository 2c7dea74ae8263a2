package mcp

import (
	"context"
	"testing"
	"time"
)

// Servers may be started in several goes: those that came before keep their
// names, a prompt waits for the new ones, and after the end none is started.
func TestServersAreStartedInSeveralGoes(t *testing.T) {
	w := newWorld(t)
	w.mcp.opt.Wait = 2 * time.Minute
	names := func() (out string) {
		for _, st := range w.mcp.Status() {
			out += st.Name + ":" + string(st.State) + " "
		}
		return out
	}
	a, other := role("ok"), role("many")
	a.Name, other.Name = "a", "a"
	w.mcp.Start(a)
	if missing := w.mcp.AwaitReady(context.Background()); missing != nil {
		t.Fatal(missing)
	}
	w.mcp.Start(a, other) // the first is there already
	if missing := w.mcp.AwaitReady(context.Background()); missing != nil {
		t.Fatal(missing)
	}
	if got := names(); got != "a:ready a-2:ready " {
		t.Error(got)
	}
	w.mcp.Close()
	third := role("ok")
	third.Name = "c"
	w.mcp.Start(third)
	w.mcp.Close()
	if got := names(); got != "a:closed a-2:closed " {
		t.Error(got)
	}
}
