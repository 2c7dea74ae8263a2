package cards

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The names of tools of MCP servers.
const (
	remotePrefix    = "mcp__"
	remoteSeparator = "__"
)

// remoteTitle is how a call of a tool of an MCP server is called when the tool
// has no view of its own: "server: tool". It is taken from the name and from the
// log alone, so that it is the same when the server is no longer there.
func (p *Projector) remoteTitle(name string) string {
	if title, ok := p.originals[name]; ok {
		return title
	}
	rest, ok := strings.CutPrefix(name, remotePrefix)
	server, tool, both := strings.Cut(rest, remoteSeparator)
	if !ok || !both || server == "" || tool == "" {
		return name
	}
	return server + ": " + tool
}

// remoteTools projects mcp/tools: the originals of names that had to be changed.
func (p *Projector) remoteTools(d jsonvalue.Value) []Update {
	for _, t := range d.Get("tools").Elements() {
		if p.originals == nil {
			p.originals = map[string]string{}
		}
		p.originals[t.GetString("name")] = d.GetString("server") + ": " + t.GetString("tool")
	}
	return nil
}

// remoteProgress projects mcp/progress: the card of a running call says how far
// it is, until the result takes that place.
func (p *Projector) remoteProgress(d jsonvalue.Value) []Update {
	c, open := p.calls[d.GetString("callId")]
	if !open || c.hidden {
		return nil
	}
	text := ""
	if done, ok := d.Get("progress").Literal(); ok {
		text = done
		if total, ok := d.Get("total").Literal(); ok {
			text += " of " + total
		}
	}
	if message := d.GetString("message"); message != "" {
		if text != "" {
			text += ": "
		}
		text += message
	}
	if text == "" {
		return nil
	}
	b := content.Text(text)
	return []Update{ToolUpdate{ID: c.announce.ID, ParentID: c.announce.ParentID, Content: []ToolContent{{Block: &b}}}}
}
