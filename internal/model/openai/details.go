package openai

import "github.com/dsh-acp/dsh-acp/internal/jsonvalue"

// details gathers OpenRouter's structured reasoning, which comes in pieces and
// has to go back whole.
type details struct {
	items  []jsonvalue.Value
	amount int // grows with what has come
}

func (d *details) add(v jsonvalue.Value) {
	if !v.IsObject() || len(d.items) > 4096 {
		return
	}
	d.amount++
	if n := len(d.items); n > 0 {
		last := d.items[n-1]
		if last.GetString("type") == v.GetString("type") && last.Get("index").Equal(v.Get("index")) {
			for k, x := range v.Members() {
				old := last.Get(k)
				switch s, isText := x.Str(); {
				case x.IsNull():
				case isText && (k == "text" || k == "summary" || k == "data"):
					before, _ := old.Str()
					last = last.With(k, jsonvalue.StringWTF8(before+s))
				default:
					last = last.With(k, x)
				}
			}
			d.items[n-1] = last
			return
		}
	}
	d.items = append(d.items, v)
}

func (d *details) list() []jsonvalue.Value { return d.items }
