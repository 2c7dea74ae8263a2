package runner

import (
	"sync"
	"sync/atomic"
	"time"
)

// flag is a bool for several goroutines.
type flag struct{ atomic.Bool }

// wall is a clock that runs out once, unless it is paused.
type wall struct {
	mu     sync.Mutex
	left   time.Duration
	since  time.Time // when it went on; zero while paused
	pauses int
	timer  *time.Timer
	over   bool
}

func newWall(d time.Duration, out func()) *wall {
	return &wall{left: d, since: time.Now(), timer: time.AfterFunc(d, out)}
}

// pause stops the clock until the returned function is called; pauses add up.
func (w *wall) pause() (resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses++; w.pauses == 1 && !w.over {
		w.timer.Stop()
		w.left -= time.Since(w.since)
	}
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.pauses--; w.pauses == 0 && !w.over {
			w.since = time.Now()
			w.timer.Reset(max(w.left, 0))
		}
	})
}

// stop ends the clock for good.
func (w *wall) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}
