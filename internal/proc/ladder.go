package proc

import "time"

// A group is asked whether it is gone, first often and then less so. Only the
// leader reports its end to us.
const (
	pollInterval    = 10 * time.Millisecond
	maxPollInterval = 100 * time.Millisecond
)

// terminate walks the kill ladder: SIGTERM to the group and to what left it,
// the grace, SIGKILL. It returns when the leader was reaped and the group is
// gone, or shortly after SIGKILL when the system does not let go of it.
func (g *group) terminate() {
	g.signal(term)
	if g.gone(g.grace, g.hurry) {
		// Processes that moved to a session of their own are no part of the
		// group: they got SIGTERM above and get no second grace.
		signalMarked(g.mark, kill)
		return
	}
	g.signal(kill)
	g.gone(time.Second, nil)
	signalMarked(g.mark, kill) // started between the two looks
	select {
	case <-g.exited:
	case <-time.After(time.Second): // stuck in the kernel; nothing helps
	}
}

// kill ends the group at once, without a grace.
func (g *group) kill() { g.signal(kill) }

// signal sends sig to the group and to marked processes outside of it.
func (g *group) signal(sig signal) {
	signalGroup(g.id, g.process, sig)
	signalMarked(g.mark, sig)
}

// gone waits until the leader was reaped and no process of the group lives. It
// gives up after limit, or at once when hurry closes.
func (g *group) gone(limit time.Duration, hurry <-chan struct{}) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case <-g.exited:
	case <-deadline.C:
		return false
	case <-hurry:
		return false
	}
	for pause := pollInterval; groupAlive(g.id); pause = min(2*pause, maxPollInterval) {
		select {
		case <-time.After(pause):
		case <-deadline.C:
			return false
		case <-hurry:
			return false
		}
	}
	return true
}

// ended is how the leader ended. When even SIGKILL did not end it, because it
// is stuck in the kernel, nobody waits for it any longer.
func (g *group) ended() Exit {
	select {
	case <-g.exited:
		return g.exit
	default:
		return Exit{Code: -1, Signal: "SIGKILL"}
	}
}
