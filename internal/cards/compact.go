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
	// streamed is what was shown of the summary, of that attempt.
	streamed strings.Builder
	attempt  int64
	told     int // how much of it, in tokens, an editor that is not shown it was told of
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

// firstTold is of how many tokens of a summary an editor that is not shown them
// is told first; then when they have doubled, so that it is a few lines at most.
const firstTold = 500

// compactChunk shows a piece of the summary while it is written, or how far it
// has got.
func (p *Projector) compactChunk(d jsonvalue.Value) (out []Update) {
	c := &p.compacting
	text := d.Get("chunk").GetString("text")
	if c.id == "" || d.GetString("id") != c.id || text == "" {
		return nil
	}
	if n, _ := d.Get("attempt").Int64(); n != c.attempt {
		if c.streamed.Len() > 0 && p.opt.Compactions {
			out = append(out, Compaction{ID: c.id, Status: CompactionInProgress, Summary: []content.Block{}})
		}
		c.attempt, c.told = n, 0
		c.streamed.Reset()
	}
	c.streamed.WriteString(text)
	if p.opt.Compactions {
		return append(out, CompactionSummary{ID: c.id, Block: content.Text(text)})
	}
	if tokens := c.streamed.Len() / 4; tokens >= max(2*c.told, firstTold) {
		c.told = max(2*c.told, firstTold)
		return p.compactNote(fmt.Sprintf("About %d tokens of the summary are written …", c.told))
	}
	return nil
}

// compactSummary shows the summary to editors that know what it is, or what has
// not been shown of it.
func (p *Projector) compactSummary(d jsonvalue.Value) []Update {
	if !p.opt.Compactions || p.compacting.id == "" || d.GetString("id") != p.compacting.id {
		return nil
	}
	if streamed := p.compacting.streamed.String(); streamed != "" {
		blocks, err := content.ListFromValue(d.Get("content"))
		rest, follows := "", false
		if err == nil && len(blocks) == 1 {
			rest, follows = strings.CutPrefix(content.JoinText(blocks), streamed)
		}
		switch {
		case err != nil, follows && rest == "":
			return nil
		case follows:
			return []Update{CompactionSummary{ID: p.compacting.id, Block: content.Text(rest)}}
		}
		return []Update{Compaction{ID: p.compacting.id, Status: CompactionInProgress, Summary: blocks}}
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
	c := &p.compacting
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
