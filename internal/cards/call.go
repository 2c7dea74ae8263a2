package cards

import (
	"strconv"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// call projects tool/call: the announcement, in state pending.
func (p *Projector) call(d jsonvalue.Value) []Update {
	c := p.open(d.GetString("callId"), d.GetString("name"), parseArguments(d.GetString("arguments")))
	return []Update{c.announce}
}

// open remembers a call and makes its announcement from the tool's own view, or
// the generic one.
func (p *Projector) open(id, name string, args jsonvalue.Value) *openCall {
	view := contained(p, name, "call", func() *Call { return p.presenters.PresentCall(name, args) })
	if view == nil {
		view = &Call{Card: Generic, Title: p.remoteTitle(name), Kind: KindOther, RawInput: args}
	}
	c := &openCall{name: name, args: args, card: view.Card, announce: p.announcement(p.shownID(id), name, view)}
	p.calls[id] = c
	return c
}

// shownID is the id an editor gets for a call: the model's own, made unique in
// the session when a recording uses one twice.
func (p *Projector) shownID(id string) string {
	p.seen[id]++
	if n := p.seen[id]; n > 1 {
		return id + "~" + strconv.Itoa(n)
	}
	return id
}

func (p *Projector) announcement(id, name string, v *Call) ToolCall {
	u := ToolCall{ID: id, Name: name, Title: v.Title, Kind: v.Kind, Status: Pending}
	if u.Title == "" {
		u.Title = name
	}
	if u.Kind == "" {
		u.Kind = KindOther
	}
	u.Locations = p.absoluteLocations(v.Locations)
	switch v.Card {
	case Terminal:
		u.Kind = KindExecute
		u.RawInput = jsonvalue.String(v.Title)
		if v.Description != "" {
			b := content.Text(v.Description)
			u.Content = append(u.Content, ToolContent{Block: &b})
		}
		if p.opt.TerminalOutput {
			u.Content = append(u.Content, ToolContent{TerminalID: id})
			u.Terminal = &TerminalInfo{ID: id, Cwd: p.terminalCwd(v.Cwd)}
		}
	case Diff:
		u.Kind = KindEdit
		u.Title = relativeTitle(u.Title, titlePath(v.Locations, v.Diffs), p.opt.Cwd)
		u.Content = p.diffContent(v.Diffs)
	default:
		u.RawInput = v.RawInput
		u.Title = relativeTitle(u.Title, titlePath(v.Locations, nil), p.opt.Cwd)
		u.Content = blockContent(v.Content)
	}
	return u
}

// terminalCwd is the card's own directory, resolved against the session's.
func (p *Projector) terminalCwd(cwd string) string {
	if cwd == "" {
		return p.opt.Cwd
	}
	return absolute(cwd, p.opt.Cwd)
}

func (p *Projector) absoluteLocations(in []Location) []Location {
	var out []Location
	for _, l := range in {
		out = append(out, Location{Path: absolute(l.Path, p.opt.Cwd), Line: l.Line})
	}
	return out
}

func (p *Projector) diffContent(diffs []FileDiff) []ToolContent {
	var out []ToolContent
	for _, d := range diffs {
		out = append(out, ToolContent{Diff: &FileDiff{Path: absolute(d.Path, p.opt.Cwd), OldText: d.OldText, NewText: d.NewText}})
	}
	return out
}

func blockContent(blocks []content.Block) []ToolContent {
	var out []ToolContent
	for i := range blocks {
		out = append(out, ToolContent{Block: &blocks[i]})
	}
	return out
}

// titlePath is the path that a title is made relative by: the first location's,
// else the first diff's.
func titlePath(locs []Location, diffs []FileDiff) string {
	if len(locs) > 0 {
		return locs[0].Path
	}
	if len(diffs) > 0 {
		return diffs[0].Path
	}
	return ""
}
