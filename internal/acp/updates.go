package acp

import (
	"encoding/json"
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/fileuri"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// Keys under _meta. The terminal keys are a convention of editors that draw
// terminals from an agent's output; the card key is our own.
const (
	metaTerminalInfo   = "terminal_info"
	metaTerminalOutput = "terminal_output"
	metaTerminalExit   = "terminal_exit"
	metaCard           = "dsh/card"
	metaBlocked        = "dsh/promptBlocked"
	metaParent         = "parentToolCallId"
	metaClaudeCode     = "claudeCode"
)

// updateFor is the protocol form of a projected update; nil when it shows
// nothing that ACP has a form for.
func updateFor(u cards.Update) protocol.SessionUpdate {
	switch u := u.(type) {
	case cards.Message:
		return messageChunk(u)
	case cards.ToolCall:
		return toolCall(u)
	case cards.ToolUpdate:
		return toolUpdate(u).Update()
	case cards.Plan:
		p := protocol.Plan{}
		for _, e := range u.Entries {
			p.Entries = append(p.Entries, protocol.PlanEntry{
				Content: e.Content, Priority: protocol.PlanPriority(e.Priority), Status: protocol.PlanStatus(e.Status),
			})
		}
		return p
	case cards.Compaction:
		w := protocol.Compaction{CompactionID: u.ID, Status: protocol.CompactionStatus(u.Status), Error: u.Error}
		if u.Summary != nil {
			w.Summary = []protocol.ContentBlock{}
		}
		for _, b := range u.Summary {
			if b, ok := blockFor(b); ok {
				w.Summary = append(w.Summary, b)
			}
		}
		return w
	case cards.CompactionSummary:
		if b, ok := blockFor(u.Block); ok {
			return protocol.CompactionSummaryChunk{CompactionID: u.ID, Content: b}
		}
	case cards.Usage:
		w := protocol.Usage{Used: uint64(u.Used), Size: uint64(u.Size)}
		if u.Currency != "" {
			w.Cost = &protocol.Cost{Amount: u.Cost, Currency: u.Currency}
		}
		return w
	case cards.SessionInfo:
		return protocol.SessionInfoUpdate{
			Title: protocol.SetText(u.Title), UpdatedAt: protocol.SetText(protocol.Timestamp(u.UpdatedAt)),
		}
	}
	return nil
}

// EncodeUpdate is the update object of the session/update by which an editor
// is shown u; ok is false when the protocol has no form for it.
func EncodeUpdate(u cards.Update) (encoded json.RawMessage, ok bool) {
	wireUpdate := updateFor(u)
	if wireUpdate == nil {
		return nil, false
	}
	encoded, err := json.Marshal(wireUpdate)
	return encoded, err == nil
}

func messageChunk(u cards.Message) protocol.SessionUpdate {
	b, ok := blockFor(u.Block)
	if !ok {
		return nil
	}
	switch u.Role {
	case cards.RoleUser:
		return protocol.UserChunk(u.ID, b)
	case cards.RoleThought:
		return protocol.ThoughtChunk(u.ID, b)
	default:
		return protocol.AgentChunk(u.ID, b)
	}
}

// blockFor is the protocol form of a content block, if ACP has one.
func blockFor(b content.Block) (protocol.ContentBlock, bool) {
	if text, ok := b.Text(); ok && b.Value().Len() == 2 {
		return protocol.TextBlock(text), true
	}
	out, err := protocol.DecodeBlock(b.Value().JSON())
	return out, err == nil
}

func toolCall(u cards.ToolCall) protocol.ToolCall {
	c := protocol.NewToolCall(u.ID, u.Title)
	c.Name = u.Name
	c.Kind = protocol.ToolKind(u.Kind)
	c.Status = protocol.ToolStatus(u.Status)
	if len(u.Content) > 0 {
		c.Content = toolContent(u.Content)
	}
	c.Locations = locations(u.Locations)
	c.RawInput = rawJSON(u.RawInput)
	if t := u.Terminal; t != nil {
		c.Meta = protocol.NewMeta(metaTerminalInfo, terminalInfo{ID: t.ID, Cwd: t.Cwd})
	}
	c.Meta = withParent(c.Meta, u.ParentID)
	return c
}

// withParent links the card of a call that a program made to the program's, in
// our own key and in the one that other agents' clients already read.
func withParent(m protocol.Meta, parent string) protocol.Meta {
	if parent == "" {
		return m
	}
	return m.With(metaParent, parent).With(metaClaudeCode, struct {
		Parent string `json:"parentToolUseId"`
	}{parent})
}

type terminalInfo struct {
	ID  string `json:"terminal_id"`
	Cwd string `json:"cwd,omitempty"`
}

type terminalOutput struct {
	ID   string `json:"terminal_id"`
	Data string `json:"data"`
}

type terminalExit struct {
	ID       string `json:"terminal_id"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`
}

func toolUpdate(u cards.ToolUpdate) protocol.ToolCallUpdate {
	c := protocol.ToolCallUpdate{
		ToolCallID: u.ID, Title: u.Title, Status: protocol.ToolStatus(u.Status),
		Locations: locations(u.Locations), RawOutput: rawJSON(u.RawOutput),
	}
	if u.Content != nil {
		c.Content = toolContent(u.Content)
	}
	if o := u.Output; o != nil {
		c.Meta = c.Meta.With(metaTerminalOutput, terminalOutput{ID: o.ID, Data: o.Data})
	}
	if e := u.Exit; e != nil {
		c.Meta = c.Meta.With(metaTerminalExit, terminalExit{ID: e.ID, ExitCode: e.ExitCode, Signal: e.Signal})
	}
	if !u.Card.IsUndefined() {
		c.Meta = c.Meta.With(metaCard, rawJSON(u.Card))
	}
	c.Meta = withParent(c.Meta, u.ParentID)
	return c
}

// toolContent is never nil: an empty list clears what was shown.
func toolContent(in []cards.ToolContent) []protocol.ToolContent {
	out := []protocol.ToolContent{}
	for _, c := range in {
		switch {
		case c.Block != nil:
			if b, ok := blockFor(*c.Block); ok {
				out = append(out, protocol.ShowBlock(b))
			}
		case c.Diff != nil && filepath.IsAbs(c.Diff.Path):
			// A model that gives no usable path gets an error, not a card.
			out = append(out, protocol.ShowDiff(c.Diff.Path, c.Diff.OldText, c.Diff.NewText))
		case c.File != nil && filepath.IsAbs(c.File.Path):
			out = append(out, protocol.ShowBlock(protocol.LinkBlock(fileuri.Format(c.File.Path), c.File.Name)))
		case c.TerminalID != "":
			out = append(out, protocol.ShowTerminal(c.TerminalID))
		}
	}
	return out
}

// locations keeps what an editor can open: absolute paths. nil stays nil.
func locations(in []cards.Location) []protocol.Location {
	var out []protocol.Location
	for _, l := range in {
		if filepath.IsAbs(l.Path) {
			out = append(out, protocol.At(l.Path, l.Line))
		}
	}
	return out
}

// maxRawDepth is how deep a value for an editor may be nested; readers of JSON
// give up at 128 levels and more.
const maxRawDepth = 64

// rawJSON is a value for an editor: as it is, or as the text of its JSON where
// an editor could not read it. nil for Undefined.
func rawJSON(v jsonvalue.Value) json.RawMessage {
	if v.IsUndefined() {
		return nil
	}
	v = v.WellFormed() // editors refuse half a surrogate pair
	if v.Depth() > maxRawDepth || jsonvalue.CheckLossless(v) != nil {
		// Many readers of JSON refuse the whole frame for it, and the editor would
		// never hear of the call.
		v = jsonvalue.String(v.String())
	}
	return v.JSON()
}

// commandsUpdate advertises slash commands.
func commandsUpdate(list []model.Command) protocol.SessionUpdate {
	var u protocol.AvailableCommands
	for _, c := range list {
		pc := protocol.Command{Name: c.Name, Description: c.Description}
		if c.Hint != "" {
			pc.Input = &protocol.CommandInput{Hint: c.Hint}
		}
		u.AvailableCommands = append(u.AvailableCommands, pc)
	}
	return u
}

// permissionCall is what a permission request repeats of the call. It always
// carries the raw input: what the card shows of it, or the arguments. Clients take
// a diff from the first piece of content, so the reason for the question follows
// it.
func permissionCall(call cards.ToolCall, args jsonvalue.Value, reason string) protocol.ToolCallUpdate {
	c := toolCall(call).Change()
	c.Meta = withParent(nil, call.ParentID) // the terminal was opened by the announcement
	if c.RawInput == nil {
		c.RawInput = rawJSON(args)
	}
	// It says what the person decides about: a rule's or a hook's reason, what a
	// call would run under instead and why, which line of a program asks.
	if reason != "" {
		c.Content = append(c.Content, protocol.ShowText(reason))
	}
	return c
}
