package mcp

import (
	"sync"
	"time"
)

// How much a server may write to our log: so many lines in so much time. A server
// that logs without end must not fill a disk.
const (
	maxLogLines = 100
	logWindow   = 10 * time.Second
)

// logGate counts what a server wants logged.
type logGate struct {
	mu    sync.Mutex
	since time.Time
	lines int
}

// pass says whether a line at this time may be written, and whether it is the
// first of a window that may not.
func (g *logGate) pass(now time.Time) (ok, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.since) >= logWindow {
		g.since, g.lines = now, 0
	}
	g.lines++
	return g.lines <= maxLogLines, g.lines == maxLogLines+1
}
