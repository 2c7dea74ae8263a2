package cards

import "github.com/dsh-acp/dsh-acp/internal/jsonvalue"

// Usage says how full the model's context is, in tokens, and what the session has
// cost so far. Used is never more than Size.
type Usage struct {
	Used, Size int64
	Cost       float64
	Currency   string // "" when the cost is not known
}

func (Usage) isUpdate() {}

// UsageType is the event that [UsageOf] reads.
const UsageType = "llm/usage"

// UsageOf reads the data of a usage event; ok is false when the size of the
// context is not known: then there is nothing to show.
func UsageOf(d jsonvalue.Value) (u Usage, ok bool) {
	u.Size, _ = d.Get("size").Int64()
	u.Used, _ = d.Get("used").Int64()
	u.Used = max(0, min(u.Used, u.Size))
	cost := d.Get("cost")
	if amount, ok := cost.Get("amount").Float(); ok {
		u.Cost, u.Currency = amount, cost.GetString("currency")
	}
	return u, u.Size > 0
}

// usage shows a usage event live. What was so in the past is of no interest on
// load: whoever replays a log shows the last one (see [UsageOf]).
func (p *Projector) usage(d jsonvalue.Value) []Update {
	if u, ok := UsageOf(d); ok && !p.opt.UserMessages {
		return []Update{u}
	}
	return nil
}
