package worker

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

const (
	// tick is how often a computing program's budgets are looked at, and
	// idleTick how often a waiting one's.
	tick     = 5 * time.Millisecond
	idleTick = 50 * time.Millisecond
	// patience is how long a program may go on after it was interrupted: a
	// native loop of the engine does not notice.
	patience = 150 * time.Millisecond
)

// guard watches one program: the time it computes, the memory it holds. Time
// counts only between resume and pause; waiting is free.
type guard struct {
	since atomic.Int64 // when the program went on, in ns since base; 0 while it waits
	spent atomic.Int64 // ns computed in finished spans
	base  time.Time
	quit  chan struct{}
	wg    sync.WaitGroup
	floor uint64 // bytes in use before the program
	read  [3]metrics.Sample
	// orphaned, if set, says whether the parent is gone.
	orphaned func() bool
	// nudge, if set, sends what the connection holds back, without waiting.
	nudge func()
}

func (g *guard) begin(e *Engine) {
	g.base = time.Now().Add(-1) // so that since is never 0 while computing
	g.quit = make(chan struct{})
	for i, name := range []string{
		"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes",
	} {
		g.read[i].Name = name
	}
	if e.ended == nil {
		// Shared with the rest of the process: only growth is the program's.
		g.floor = g.inUse()
	}
	g.wg.Go(func() { g.watch(e) })
}

func (g *guard) end() {
	g.pause()
	close(g.quit)
	g.wg.Wait()
}

func (g *guard) resume() { g.since.Store(int64(time.Since(g.base))) }

func (g *guard) pause() {
	if since := g.since.Swap(0); since != 0 {
		g.spent.Add(int64(time.Since(g.base)) - since)
	}
}

// busy is how long the program has computed.
func (g *guard) busy() time.Duration {
	spent := g.spent.Load()
	if since := g.since.Load(); since != 0 {
		spent += int64(time.Since(g.base)) - since
	}
	return time.Duration(spent)
}

func (g *guard) inUse() uint64 {
	metrics.Read(g.read[:])
	return g.read[0].Value.Uint64() - g.read[1].Value.Uint64() - g.read[2].Value.Uint64()
}

// watch interrupts a program over its budgets, and ends one that does not
// react.
func (g *guard) watch(e *Engine) {
	timer := time.NewTimer(tick)
	defer timer.Stop()
	var asked time.Time
	for {
		select {
		case <-g.quit:
			return
		case <-timer.C:
		}
		next := tick
		if g.since.Load() == 0 {
			next = idleTick
		}
		if d := e.run.Compute; d > 0 && g.busy() >= d {
			e.stop(stop{status: wire.StatusCompute, message: computeMessage(d)})
		}
		if used := g.inUse(); e.run.Memory > 0 && used > g.floor+e.run.Memory {
			e.stop(stop{status: wire.StatusMemory, message: memoryMessage(e.run.Memory)})
			next = tick
		}
		if g.nudge != nil {
			g.nudge() // calls of a program that computes on
		}
		if g.orphaned != nil && g.orphaned() {
			e.ended(exitProtocol)
		}
		s := e.interrupted.Load()
		if s != nil {
			next = tick
			if asked.IsZero() {
				asked = time.Now()
			}
			// A program out of memory cannot be given time.
			if over := time.Since(asked) > patience; over || s.status == wire.StatusMemory && e.ended != nil {
				_ = e.finish(&wire.Done{Status: s.status, Message: s.message})
				if e.ended != nil {
					e.ended(exitEnded)
				}
				return
			}
		}
		timer.Reset(next)
	}
}

func computeMessage(d time.Duration) string {
	return fmt.Sprintf("compute budget exhausted (%dms busy)", d.Milliseconds())
}

func memoryMessage(limit uint64) string {
	return fmt.Sprintf("the program holds more memory than its limit of %s", size(limit))
}

// size prints a number of bytes in the largest unit that keeps it whole.
func size(n uint64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
