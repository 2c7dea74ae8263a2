package cards

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// compacting is the compaction that is under way.
type compacting struct {
	id     string // "" when none is
	tokens int64  // of the conversation before it; 0 when nobody knows
}

// compactStart announces a compaction.
func (p *Projector) compactStart(d jsonvalue.Value) []Update {
	n, _ := d.Get("tokens").Int64()
	p.compacting = compacting{id: d.GetString("id"), tokens: n}
	if p.compacting.id == "" {
		return nil
	}
	manual := d.GetString("trigger") == "manual"
	var out []Update
	if manual && p.opt.UserMessages {
		typed := strings.TrimSpace("/compact " + d.GetString("instructions"))
		out = append(out, Message{Role: RoleUser, Block: content.Text(typed)})
	}
	switch {
	case p.opt.Compactions:
		return append(out, Compaction{ID: p.compacting.id, Status: CompactionInProgress})
	case manual:
		return append(out, p.compactNote("Summarising the conversation …")...)
	}
	return p.compactNote("The conversation nears what the model can hold: summarising the older part of it …")
}

// compactSummary shows the summary to editors that know what it is.
func (p *Projector) compactSummary(d jsonvalue.Value) []Update {
	if !p.opt.Compactions || p.compacting.id == "" || d.GetString("id") != p.compacting.id {
		return nil
	}
	var out []Update
	for _, v := range d.Get("content").Elements() {
		if b, err := content.FromValue(v); err == nil {
			out = append(out, CompactionSummary{ID: p.compacting.id, Block: b})
		}
	}
	return out
}

// compactEnd shows how a compaction ended. It has one end.
func (p *Projector) compactEnd(d jsonvalue.Value) []Update {
	c := p.compacting
	if c.id == "" || d.GetString("id") != c.id {
		return nil
	}
	u := Compaction{ID: c.id, Status: CompactionStatus(d.GetString("status")), Error: d.Get("error").GetString("message")}
	if u.Status != CompactionCompleted && u.Status != CompactionCancelled {
		u.Status = CompactionFailed
	}
	var out []Update
	switch {
	case p.opt.Compactions:
		out = []Update{u}
	case u.Status == CompactionCancelled:
		out = p.compactNote("Cancelled; the conversation is as it was.")
	case u.Status == CompactionFailed:
		out = p.compactNote(fmt.Sprintf("The conversation could not be summarised, and is as it was: %s", u.Error))
	default:
		left, _ := d.Get("tokens").Int64()
		out = p.compactNote("The model goes on from a summary of the older part" + saved(c.tokens, left) + ". Nothing is lost from the session's log.")
	}
	p.compacting = compacting{}
	return out
}

// saved says what a compaction was good for, where that is known.
func saved(before, after int64) string {
	if before <= 0 || after <= 0 || after >= before {
		return ""
	}
	return fmt.Sprintf(" (about %s tokens instead of %s)", thousands(after), thousands(before))
}

func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}

// compactNote tells of a compaction in a message of its own.
func (p *Projector) compactNote(text string) []Update {
	return []Update{Message{Role: RoleAgent, Block: content.Text("\n\n[" + text + "]\n\n"), ID: p.compacting.id}}
}
