package agent_test

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

func ptr[T any](v T) *T { return &v }

func saysFor(text string, u model.Usage) answer {
	a := says(text)
	last := len(a.chunks) - 1
	a.chunks = append(a.chunks[:last:last], model.Chunk{Type: model.ChunkUsage, Usage: &u}, a.chunks[last])
	return a
}

// What is told is the last request's context, never a sum; the cost is a sum.
func TestUsageIsTheLastRequests(t *testing.T) {
	price := func(_, id string) (agent.Price, bool) {
		return agent.Price{Input: 1, Cached: 0.1, Output: 2, Currency: "EUR"}, id == "m"
	}
	w := newWorld(t, agent.Config{Price: price},
		saysFor("a", model.Usage{InputTokens: 200, CacheReadTokens: ptr(int64(1000)), OutputTokens: 30}),
		saysFor("b", model.Usage{InputTokens: 1_000_000, OutputTokens: 500_000}),
		says("no usage"))
	w.prompt(t, "1")
	if got := w.last(agent.TypeUsage).Data.String(); got != `{"turn":1,"step":1,"used":1230,"cost":{"amount":0.00036,"currency":"EUR"}}` {
		t.Error(got)
	}
	w.prompt(t, "2")
	const second = `{"turn":2,"step":1,"used":1500000,"cost":{"amount":2.00036,"currency":"EUR"}}`
	if got := w.last(agent.TypeUsage).Data.String(); got != second {
		t.Error(got)
	}
	w.prompt(t, "3")
	if got := w.last(agent.TypeUsage).Data.String(); got != second {
		t.Error(got)
	}

	// Opened again, it goes on from there; without a price no sum is told that
	// would not be the whole one.
	w.model.answers = []answer{saysFor("c", model.Usage{InputTokens: 1_000_000})}
	again := func(cfg agent.Config) string {
		t.Helper()
		cfg.Log, cfg.Provider, cfg.Model, cfg.Pipeline, cfg.Scope = w.log, w.model, "m", w.pipe, w.reg.Global().Child("again")
		s, err := agent.NewSession(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prompt(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		cfg.Scope.Close()
		return w.last(agent.TypeUsage).Data.Get("cost").String()
	}
	if got := again(agent.Config{Price: price}); got != `{"amount":3.00036,"currency":"EUR"}` {
		t.Error(got)
	}
	dollars := func(provider, id string) (agent.Price, bool) {
		p, ok := price(provider, id)
		p.Currency = "USD"
		return p, ok
	}
	for i, cfg := range []agent.Config{{Price: dollars}, {Price: price}} {
		if got := again(cfg); got != w.last("nothing").Data.String() {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// What works for a session is paid for by it.
func TestTheEmployerPays(t *testing.T) {
	price := func(_, id string) (agent.Price, bool) { return agent.Price{Output: 1, Currency: "EUR"}, id == "m" }
	w := newWorld(t, agent.Config{Price: price}, saysFor("a", model.Usage{OutputTokens: 1_000_000}))
	w.prompt(t, "1")
	log := session.NewMemory(session.Header{Cwd: "/work"}, session.Options{})
	child, err := agent.NewSession(w.s.Delegated(log, w.reg.Global().Child("child"), agent.Delegation{CallID: "c"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.Prompt(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	own := ""
	for _, ev := range log.Kept() {
		if ev.Type == agent.TypeUsage {
			own = ev.Data.Get("cost").String()
		}
	}
	w.prompt(t, "2")
	if got := w.last(agent.TypeUsage).Data.Get("cost").String(); own != `{"amount":1,"currency":"EUR"}` || got != `{"amount":3,"currency":"EUR"}` {
		t.Errorf("the child says %s, its employer %s", own, got)
	}
}
