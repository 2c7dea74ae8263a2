package main

import "github.com/dsh-acp/dsh-acp/internal/agent"

// prices are what models cost; nil when none is configured.
func (a *app) prices() func(provider, id string) (agent.Price, bool) {
	m := a.cfg.Model
	if len(m.Prices) == 0 {
		return nil
	}
	return func(_, id string) (agent.Price, bool) {
		p, known := m.Prices[id]
		return agent.Price{Input: p.Input, Cached: p.Cached, Output: p.Output, Currency: m.Currency}, known
	}
}
