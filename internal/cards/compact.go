package cards

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// compacting is the compaction that is under way.
type compacting struct {
	id string // "" when none is
}

// compactStart announces a compaction.
func (p *Projector) compactStart(d jsonvalue.Value) []Update {
	p.compacting = compacting{id: d.GetString("id")}
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
		out = p.compactNote("The model goes on from a summary of the older part. Nothing is lost from the session's log.")
	}
	p.compacting = compacting{}
	return out
}

// compactNote tells of a compaction in a message of its own.
func (p *Projector) compactNote(text string) []Update {
	return []Update{Message{Role: RoleAgent, Block: content.Text("\n\n[" + text + "]\n\n"), ID: p.compacting.id}}
}
