package cards

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// What a workspace brings by itself, in the what of consent/asked.
const (
	ConsentServers = "mcp"   // MCP servers
	ConsentHooks   = "hooks" // a hook file
)

// consentAsked projects consent/asked: a card that shows, word for word, what
// would run if the person says yes. The question itself is a permission request
// that repeats the card.
func (p *Projector) consentAsked(d jsonvalue.Value) []Update {
	id, path := d.GetString("id"), d.GetString("path")
	if _, open := p.calls[id]; open || id == "" {
		return nil
	}
	title, explained := "Start the MCP servers of this workspace?", "This folder brings MCP servers. If you say yes they are started, with your rights and outside of the sandbox:"
	if d.GetString("what") == ConsentHooks {
		title, explained = "Run the hooks of this workspace?", "This folder brings hooks. If you say yes they run, with your rights and outside of the sandbox:"
	}
	var lines []string
	for _, l := range d.Get("lines").Elements() {
		text, _ := l.Str()
		lines = append(lines, text)
	}
	u := p.announcement(p.shownID(id), "", &Call{
		Card: Generic, Title: title, Kind: KindOther, Locations: []Location{{Path: path}},
		RawInput: jsonvalue.Object(jsonvalue.Member{Key: "path", Value: jsonvalue.String(path)}, jsonvalue.Member{Key: "lines", Value: d.Get("lines")}),
		Content: []content.Block{
			content.Text(explained + "\n\n" + Fence("", Folded(lines)) + "\n\nThey are named in " + path + ". Nothing runs before you allow it. A yes holds for this content in this place: a file that changes is asked about again."),
		},
	})
	p.calls[id] = &openCall{name: u.Name, card: Generic, announce: u}
	return []Update{u}
}

// consentAnswered projects consent/answered: the end of the card.
func (p *Projector) consentAnswered(d jsonvalue.Value) []Update {
	id := d.GetString("id")
	open, known := p.calls[id]
	if !known {
		return nil
	}
	delete(p.calls, id)
	u := ToolUpdate{ID: open.announce.ID, Status: Failed}
	said := "Not now: nothing of it runs in this session, and the next one asks again. `/permissions workspace` comes back to it."
	switch d.GetString("answer") {
	case "allowed":
		u.Status, said = Completed, "Allowed, as it is now."
	case "never":
		said = "Never: nothing of it runs, and nobody is asked about this content again. `/permissions workspace` comes back to it."
	case "failed":
		said = "The answer could not be kept, so nothing of it runs: " + d.GetString("reason")
	}
	b := content.Text(said)
	u.Content = append(append([]ToolContent{}, open.announce.Content...), ToolContent{Block: &b})
	return []Update{u}
}

// foldAt is how many characters of a line are seen in a narrow editor, about.
const foldAt = 100

// continued begins what continues the line above it.
const continued = "  ↳ "

// Folded is lines as a person reads them before a yes: those that are long are
// folded. Editors do not wrap code, and what follows many spaces would be found by
// nobody.
func Folded(lines []string) string {
	var out strings.Builder
	for i, l := range lines {
		if i > 0 {
			out.WriteByte('\n')
		}
		n := 0
		for _, r := range l {
			if n == foldAt {
				out.WriteString("\n" + continued)
				n = 0
			}
			out.WriteRune(r)
			n++
		}
	}
	return out.String()
}
