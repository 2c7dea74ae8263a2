package acp

import (
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// lastUsage is the last that a log says of how full the context is.
func lastUsage(events []session.Event) []cards.Update {
	for _, ev := range slices.Backward(events) {
		if ev.Type == cards.UsageType {
			if u, ok := cards.UsageOf(ev.Data); ok {
				return []cards.Update{u}
			}
			return nil
		}
	}
	return nil
}
