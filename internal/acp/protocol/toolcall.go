package protocol

import (
	"encoding/json"
	"errors"
	"math"
)

// ToolKind is what a tool call is about; editors choose an icon by it.
type ToolKind string

// The tool kinds; there are no others.
const (
	KindRead       ToolKind = "read"
	KindEdit       ToolKind = "edit"
	KindDelete     ToolKind = "delete"
	KindMove       ToolKind = "move"
	KindSearch     ToolKind = "search"
	KindExecute    ToolKind = "execute"
	KindThink      ToolKind = "think"
	KindFetch      ToolKind = "fetch"
	KindSwitchMode ToolKind = "switch_mode"
	KindOther      ToolKind = "other"
)

// ToolStatus is how far a tool call is.
type ToolStatus string

// The statuses of a tool call. A cancelled call ends as failed.
const (
	// StatusPending waits for input or approval.
	StatusPending ToolStatus = "pending"
	// StatusInProgress runs.
	StatusInProgress ToolStatus = "in_progress"
	// StatusCompleted ended well.
	StatusCompleted ToolStatus = "completed"
	// StatusFailed ended badly.
	StatusFailed ToolStatus = "failed"
)

// ToolContent is one thing shown under a tool call: a [BlockContent], a
// [DiffContent] or a [TerminalContent].
type ToolContent interface {
	// Validate says what keeps the content from being sent.
	Validate() error
	toolContent()
}

// BlockContent shows a content block.
type BlockContent struct {
	Type    contentTag   `json:"type"`
	Content ContentBlock `json:"content"`
	Meta    Meta         `json:"_meta,omitempty"`
}

// DiffContent shows a change of a file.
type DiffContent struct {
	Type diffTag `json:"type"`
	// Path is absolute.
	Path string `json:"path"`
	// OldText is nil for a new file.
	OldText *string `json:"oldText"`
	// NewText is empty for a deleted file.
	NewText string `json:"newText"`
	Meta    Meta   `json:"_meta,omitempty"`
}

// TerminalContent shows a terminal, live.
type TerminalContent struct {
	Type       terminalTag `json:"type"`
	TerminalID string      `json:"terminalId"`
	Meta       Meta        `json:"_meta,omitempty"`
}

// ShowBlock wraps a content block.
func ShowBlock(b ContentBlock) BlockContent { return BlockContent{Content: b} }

// ShowText wraps a text.
func ShowText(text string) BlockContent { return ShowBlock(TextBlock(text)) }

// ShowDiff makes a diff; oldText is nil for a new file. The path has to be
// absolute.
func ShowDiff(path string, oldText *string, newText string) DiffContent {
	return DiffContent{Path: path, OldText: oldText, NewText: newText}
}

// ShowTerminal makes a view of a terminal the client knows.
func ShowTerminal(id string) TerminalContent { return TerminalContent{TerminalID: id} }

func (BlockContent) toolContent()    {}
func (DiffContent) toolContent()     {}
func (TerminalContent) toolContent() {}

// Validate says what keeps the content from being sent.
func (c BlockContent) Validate() error { return c.Content.Validate() }

// Validate says what keeps the diff from being sent.
func (c DiffContent) Validate() error { return needAbs("path", c.Path) }

// Validate says what keeps the terminal from being sent.
func (c TerminalContent) Validate() error { return needText("terminalId", c.TerminalID) }

// Location is a place in a file that a tool call works on.
type Location struct {
	// Path is absolute.
	Path string `json:"path"`
	// Line counts from 1; 0 is left out.
	Line uint32 `json:"line,omitempty"`
	Meta Meta   `json:"_meta,omitempty"`
}

// At makes a location. A line that is no line number, such as 0 for "unknown",
// is left out.
func At(path string, line int) Location {
	l := Location{Path: path}
	if line > 0 && int64(line) <= math.MaxUint32 {
		l.Line = uint32(line)
	}
	return l
}

// Validate says what keeps the location from being sent.
func (l Location) Validate() error { return needAbs("path", l.Path) }

// ToolCall is the update tool_call: the first report of a call.
type ToolCall struct {
	SessionUpdate toolCallTag `json:"sessionUpdate"`
	// ToolCallID is unique in the session.
	ToolCallID string `json:"toolCallId"`
	// Title is what the editor shows; never empty.
	Title string `json:"title"`
	// Name is the tool's own name.
	Name string `json:"name,omitempty"`
	// Kind is other when left out, Status pending.
	Kind      ToolKind        `json:"kind,omitempty"`
	Status    ToolStatus      `json:"status,omitempty"`
	Content   []ToolContent   `json:"content,omitzero"`
	Locations []Location      `json:"locations,omitzero"`
	RawInput  json.RawMessage `json:"rawInput,omitempty"`
	RawOutput json.RawMessage `json:"rawOutput,omitempty"`
	Meta      Meta            `json:"_meta,omitempty"`
}

// NewToolCall starts the first report of a call. An empty title is replaced by
// the id, because editors refuse a call without one.
func NewToolCall(id, title string) ToolCall {
	if title == "" {
		title = id
	}
	return ToolCall{ToolCallID: id, Title: title, Kind: KindOther, Status: StatusPending}
}

// ToolCallUpdate is a change of a tool call, and the tool call a permission is
// asked for. What is left zero stays as it was. Content and Locations replace
// the whole list: nil leaves it, an empty list that is not nil clears it.
type ToolCallUpdate struct {
	ToolCallID string          `json:"toolCallId"`
	Title      string          `json:"title,omitempty"`
	Name       string          `json:"name,omitempty"`
	Kind       ToolKind        `json:"kind,omitempty"`
	Status     ToolStatus      `json:"status,omitempty"`
	Content    []ToolContent   `json:"content,omitzero"`
	Locations  []Location      `json:"locations,omitzero"`
	RawInput   json.RawMessage `json:"rawInput,omitempty"`
	RawOutput  json.RawMessage `json:"rawOutput,omitempty"`
	Meta       Meta            `json:"_meta,omitempty"`
}

// Change turns a call into the update that would change it into itself: what a
// permission request repeats of the call.
func (c ToolCall) Change() ToolCallUpdate {
	return ToolCallUpdate{
		ToolCallID: c.ToolCallID, Title: c.Title, Name: c.Name, Kind: c.Kind, Status: c.Status,
		Content: c.Content, Locations: c.Locations, RawInput: c.RawInput, RawOutput: c.RawOutput, Meta: c.Meta,
	}
}

// toolCallUpdate is the update tool_call_update: a change with its tag.
type toolCallUpdate struct {
	SessionUpdate toolCallUpdateTag `json:"sessionUpdate"`
	ToolCallUpdate
}

// Update makes the session update of a change.
func (u ToolCallUpdate) Update() SessionUpdate { return toolCallUpdate{ToolCallUpdate: u} }

// Validate says what keeps the call from being sent.
func (c ToolCall) Validate() error {
	return errors.Join(needText("title", c.Title), c.Change().Validate())
}

// Validate says what keeps the change from being sent.
func (u ToolCallUpdate) Validate() error {
	err := errors.Join(needText("toolCallId", u.ToolCallID), each("content", u.Content), each("locations", u.Locations))
	if u.Kind != "" {
		err = errors.Join(err, oneOf("kind", u.Kind, KindRead, KindEdit, KindDelete, KindMove, KindSearch,
			KindExecute, KindThink, KindFetch, KindSwitchMode, KindOther))
	}
	if u.Status != "" {
		err = errors.Join(err, oneOf("status", u.Status, StatusPending, StatusInProgress, StatusCompleted, StatusFailed))
	}
	return errors.Join(err, needJSON("rawInput", u.RawInput), needJSON("rawOutput", u.RawOutput))
}

func needJSON(field string, raw json.RawMessage) error {
	if raw != nil && !json.Valid(raw) {
		return invalid(field, "is not JSON text")
	}
	return nil
}
