package agent

import (
	"math"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// TypeUsage records after a model request how full the context is: {turn, step,
// used, size?, cost?}. used is the tokens of that request with its answer, size
// those that the model can hold, when that is known; cost {amount, currency} is
// what the session has cost up to here, when every model that it asked has a
// price. It is this program's own addition to the recorded vocabulary.
const TypeUsage = "llm/usage"

// Price is what a model costs, in Currency for a million tokens.
type Price struct {
	Input, Cached, Output float64
	Currency              string
}

// spending is what a session has cost.
type spending struct {
	amount   float64
	currency string
	unknown  bool // something was asked that has no price
}

// restore continues with what a usage event says.
func (c *spending) restore(data jsonvalue.Value) {
	cost := data.Get("cost")
	c.unknown = !cost.IsObject()
	if amount, ok := cost.Get("amount").Float(); ok {
		c.amount, c.currency = amount, cost.GetString("currency")
	}
}

// add adds one request. Money of two currencies does not add up.
func (c *spending) add(u model.Usage, p Price, known bool) {
	if !known || c.currency != "" && c.currency != p.Currency {
		c.unknown = true
		return
	}
	cached := int64(0)
	if u.CacheReadTokens != nil {
		cached = *u.CacheReadTokens
	}
	c.currency = p.Currency
	c.amount += (float64(u.InputTokens)*p.Input + float64(cached)*p.Cached + float64(u.OutputTokens)*p.Output) / 1e6
}

// spend adds what a request to a model has cost, here and where it is charged
// too. It may be called by sessions that work for this one.
func (s *Session) spend(provider, id string, u *model.Usage) {
	if u == nil {
		return
	}
	if s.cfg.Price != nil {
		price, known := s.cfg.Price(provider, id)
		s.mu.Lock()
		s.spent.add(*u, price, known)
		s.mu.Unlock()
	}
	if s.cfg.Charge != nil {
		s.cfg.Charge(provider, id, u)
	}
}

// logUsage records how full the context is.
func (s *Session) logUsage(step int64, to target, used int64) error {
	data := session.Data("turn", s.turn, "step", step, "used", used)
	if size := s.infoOf(to).ContextWindow; size > 0 {
		data = data.With("size", jsonvalue.Int(size))
	}
	s.mu.Lock()
	spent := s.spent
	s.mu.Unlock()
	if s.cfg.Price != nil && !spent.unknown && spent.currency != "" {
		data = data.With("cost", session.Data("amount", math.Round(spent.amount*1e9)/1e9, "currency", spent.currency))
	}
	if _, err := s.append(TypeUsage, data); err != nil {
		return logFailure(err)
	}
	return nil
}
