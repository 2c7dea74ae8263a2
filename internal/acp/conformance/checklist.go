package conformance

import "slices"

// The sections of the checklist, named after the protocol's pages.
const (
	secTransport  = "transport"
	secInitialize = "initialization"
	secAuth       = "authentication"
	secSession    = "session-setup"
	secTurn       = "prompt-turn"
	secCancel     = "cancellation"
	secTools      = "tool-calls"
	secClient     = "client-capabilities"
)

// Checks is the checklist, in order.
func Checks() []Check {
	all := slices.Concat(transportChecks, initializeChecks, authChecks, sessionChecks, historyChecks, turnChecks, modelChecks, cancelChecks, toolChecks, clientChecks, stateChecks, messageChecks)
	for i := range all {
		all[i].run = unlessNotApplicable(all[i])
	}
	slices.SortFunc(all, func(a, b Check) int { return a.ID - b.ID })
	return all
}

func unlessNotApplicable(c Check) func(*T) {
	return func(t *T) {
		if why := t.profile.NotApplicable[c.ID]; why != "" {
			t.skipf("does not apply: %s", why)
		}
		c.run(t)
	}
}
