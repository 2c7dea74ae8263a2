package cards

import (
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// result projects tool/result: the final state of the call. A call ends exactly
// once: a second result of the same call shows nothing, and a result whose call
// was never announced is announced first, since editors cannot place it else.
func (p *Projector) result(d jsonvalue.Value) []Update {
	id := d.GetString("callId")
	in := resultInput(d)
	open, known := p.calls[id]
	if !known {
		if p.seen[id] > 0 {
			return nil
		}
		p.seen[id]++
		name := d.GetString("name")
		if name == "" {
			name = "Tool call"
		}
		u := finalUpdate(id, in)
		u.Content = rawContent(in)
		return []Update{ToolCall{ID: id, Name: d.GetString("name"), Title: name, Kind: KindOther, Status: Pending}, u}
	}
	return append(p.closeNested(id), p.end(id, open, in))
}

// finalUpdate is the part of a call's last update that no card has a say in.
func finalUpdate(id string, in ResultInput) ToolUpdate {
	u := ToolUpdate{ID: id, Status: Completed, RawOutput: jsonvalue.String(shownText(content.JoinText(in.Content)))}
	if in.IsError {
		u.Status = Failed
	}
	return u
}

// end forgets an open call and makes its last update from the tool's own view.
func (p *Projector) end(id string, open *openCall, in ResultInput) ToolUpdate {
	delete(p.calls, id)
	u := finalUpdate(open.announce.ID, in)
	u.ParentID = open.announce.ParentID
	view := contained(p, open.name, "result", func() *Result { return p.presenters.PresentResult(open.name, open.args, in) })
	if view == nil {
		view = &Result{Card: Generic}
	}
	if view.Card == Terminal && in.IsError && open.printed != "" {
		shown := *view
		shown.Output = open.printed + ownLine(open.printed, view.Output)
		view = &shown
	}
	p.applyResult(&u, open, view, in)
	u.link(open, append(view.Files, open.files...))
	return u
}

// resultInput reads the content of a tool/result, in the flat form or in the
// form of a message with one tool-result block (rule R14.1).
func resultInput(d jsonvalue.Value) ResultInput {
	src := d
	if block := d.Get("message").Get("content").At(0); !block.IsUndefined() {
		src = block
	}
	isError, _ := src.Get("isError").Bool()
	blocks, err := content.ListFromValue(src.Get("content"))
	if err != nil {
		blocks = nil
	}
	return ResultInput{Content: blocks, IsError: isError, Meta: d.Get("meta")}
}

func (p *Projector) applyResult(u *ToolUpdate, open *openCall, v *Result, in ResultInput) {
	switch v.Card {
	case Terminal:
		// Its terminal exists in the editor only when the call opened one.
		if open.card != Terminal {
			u.Content = rawContent(in)
			return
		}
		u.Title = v.Title
		p.terminalResult(u, v)
	case Diff:
		if v.Title != "" {
			u.Title = relativeTitle(v.Title, titlePath(nil, v.Diffs), p.opt.Cwd)
		}
		if u.Content = p.diffContent(v.Diffs); u.Content == nil {
			u.Content = rawContent(in)
		}
	case Search, Read, Web:
		p.structuredResult(u, v, in)
	default:
		u.Title = v.Title
		if u.Content = blockContent(v.Content); u.Content == nil {
			u.Content = rawContent(in)
		}
	}
}

// terminalResult feeds the editor's terminal, or shows the output in a fence.
// A capable editor gets no content at all: it would replace the terminal.
func (p *Projector) terminalResult(u *ToolUpdate, v *Result) {
	if !p.opt.TerminalOutput {
		b := content.Text(Fence("console", v.Output))
		u.Content = []ToolContent{{Block: &b}}
		return
	}
	u.Output = &TerminalOutput{ID: u.ID, Data: v.Output, Notes: v.Notes}
	switch {
	case v.Signal != "":
		u.Exit = &TerminalExit{ID: u.ID, Signal: v.Signal}
	case v.ExitCode != nil:
		u.Exit = &TerminalExit{ID: u.ID, ExitCode: v.ExitCode}
	case u.Status == Failed:
		// The editor's terminal must not look as if it were still running.
		u.Exit = &TerminalExit{ID: u.ID}
	}
}

// rawContent is the model-facing content as it is; never nil, because an empty
// result must clear what the pending card showed.
func rawContent(in ResultInput) []ToolContent {
	c := blockContent(in.Content)
	if c == nil {
		return []ToolContent{}
	}
	for i := range c {
		if text, ok := c[i].Block.Text(); ok && len(text) > shownLimit {
			b := content.Text(shownText(text))
			c[i].Block = &b
		}
	}
	return c
}
