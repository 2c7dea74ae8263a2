package protocol

import (
	"errors"
	"math"
	"time"
)

// SessionUpdate is what a session/update tells: a [MessageChunk], [ToolCall], the
// Update of a [ToolCallUpdate], [Plan], [AvailableCommands], [CurrentMode],
// [ConfigOptions], [SessionInfoUpdate], [Usage], [Notice], [Compaction] or
// [CompactionSummaryChunk].
type SessionUpdate interface {
	// Validate says what keeps the update from being sent.
	Validate() error
	sessionUpdate()
}

// SessionNotification are the parameters of session/update.
type SessionNotification struct {
	SessionID string        `json:"sessionId"`
	Update    SessionUpdate `json:"update"`
	Meta      Meta          `json:"_meta,omitempty"`
}

// NewSessionNotification addresses an update to a session.
func NewSessionNotification(sessionID string, u SessionUpdate) SessionNotification {
	return SessionNotification{SessionID: sessionID, Update: u}
}

// Validate says what keeps the notification from being sent.
func (n SessionNotification) Validate() error {
	if n.Update == nil {
		return errors.Join(needText("sessionId", n.SessionID), invalid("update", "is missing"))
	}
	return errors.Join(needText("sessionId", n.SessionID), n.Update.Validate())
}

// ChunkKind says whose words a message chunk carries.
type ChunkKind string

// The kinds of message chunks.
const (
	ChunkUser    ChunkKind = "user_message_chunk"
	ChunkAgent   ChunkKind = "agent_message_chunk"
	ChunkThought ChunkKind = "agent_thought_chunk"
)

// MessageChunk is a piece of a message. Chunks with one MessageID are one
// message.
type MessageChunk struct {
	SessionUpdate ChunkKind    `json:"sessionUpdate"`
	Content       ContentBlock `json:"content"`
	MessageID     string       `json:"messageId,omitempty"`
	Meta          Meta         `json:"_meta,omitempty"`
}

// UserChunk makes a piece of a message of the user.
func UserChunk(messageID string, b ContentBlock) MessageChunk {
	return MessageChunk{SessionUpdate: ChunkUser, Content: b, MessageID: messageID}
}

// AgentChunk makes a piece of an answer.
func AgentChunk(messageID string, b ContentBlock) MessageChunk {
	return MessageChunk{SessionUpdate: ChunkAgent, Content: b, MessageID: messageID}
}

// ThoughtChunk makes a piece of the model's reasoning.
func ThoughtChunk(messageID string, b ContentBlock) MessageChunk {
	return MessageChunk{SessionUpdate: ChunkThought, Content: b, MessageID: messageID}
}

// Validate says what keeps the chunk from being sent.
func (u MessageChunk) Validate() error {
	return errors.Join(oneOf("sessionUpdate", u.SessionUpdate, ChunkUser, ChunkAgent, ChunkThought), u.Content.Validate())
}

// PlanPriority is how much an entry of a plan matters.
type PlanPriority string

// PlanStatus is how far an entry of a plan is.
type PlanStatus string

// The values of plan entries.
const (
	PriorityHigh   PlanPriority = "high"
	PriorityMedium PlanPriority = "medium"
	PriorityLow    PlanPriority = "low"

	PlanPending    PlanStatus = "pending"
	PlanInProgress PlanStatus = "in_progress"
	PlanCompleted  PlanStatus = "completed"
)

// PlanEntry is one task of a plan.
type PlanEntry struct {
	Content  string       `json:"content"`
	Priority PlanPriority `json:"priority"`
	Status   PlanStatus   `json:"status"`
	Meta     Meta         `json:"_meta,omitempty"`
}

// Validate says what keeps the entry from being sent.
func (e PlanEntry) Validate() error {
	return errors.Join(oneOf("priority", e.Priority, PriorityHigh, PriorityMedium, PriorityLow),
		oneOf("status", e.Status, PlanPending, PlanInProgress, PlanCompleted))
}

// Plan is the update plan: the full list, every time.
type Plan struct {
	SessionUpdate planTag         `json:"sessionUpdate"`
	Entries       List[PlanEntry] `json:"entries"`
	Meta          Meta            `json:"_meta,omitempty"`
}

// Validate says what keeps the plan from being sent.
func (u Plan) Validate() error { return each("entries", u.Entries) }

// CommandInput says what may follow a command's name.
type CommandInput struct {
	Hint string `json:"hint"`
	Meta Meta   `json:"_meta,omitempty"`
}

// Command is a slash command; its name stands without the slash.
type Command struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *CommandInput `json:"input,omitempty"`
	Meta        Meta          `json:"_meta,omitempty"`
}

// Validate says what keeps the command from being sent.
func (c Command) Validate() error {
	if c.Name != "" && c.Name[0] == '/' {
		return invalid("name", "must not begin with a slash")
	}
	return needText("name", c.Name)
}

// AvailableCommands is the update available_commands_update: the full list.
type AvailableCommands struct {
	SessionUpdate     commandsTag   `json:"sessionUpdate"`
	AvailableCommands List[Command] `json:"availableCommands"`
	Meta              Meta          `json:"_meta,omitempty"`
}

// Validate says what keeps the commands from being sent.
func (u AvailableCommands) Validate() error { return each("availableCommands", u.AvailableCommands) }

// CurrentMode is the update current_mode_update.
type CurrentMode struct {
	SessionUpdate currentModeTag `json:"sessionUpdate"`
	CurrentModeID string         `json:"currentModeId"`
	Meta          Meta           `json:"_meta,omitempty"`
}

// Validate says what keeps the update from being sent.
func (u CurrentMode) Validate() error { return needText("currentModeId", u.CurrentModeID) }

// ConfigOptions is the update config_option_update: the full list.
type ConfigOptions struct {
	SessionUpdate configOptionTag    `json:"sessionUpdate"`
	ConfigOptions List[ConfigOption] `json:"configOptions"`
	Meta          Meta               `json:"_meta,omitempty"`
}

// Validate says what keeps the options from being sent.
func (u ConfigOptions) Validate() error { return each("configOptions", u.ConfigOptions) }

// Text is a text that can be left as it was (the zero value), set, or cleared.
type Text struct {
	set  bool
	text *string
}

// SetText sets a text.
func SetText(s string) Text { return Text{set: true, text: &s} }

// ClearText takes a text away.
func ClearText() Text { return Text{set: true} }

// IsZero reports whether the text stays as it was.
func (t Text) IsZero() bool { return !t.set }

// MarshalJSON writes the text, or null to clear it.
func (t Text) MarshalJSON() ([]byte, error) { return encode(t.text) }

// SessionInfoUpdate is the update session_info_update.
type SessionInfoUpdate struct {
	SessionUpdate sessionInfoTag `json:"sessionUpdate"`
	Title         Text           `json:"title,omitzero"`
	UpdatedAt     Text           `json:"updatedAt,omitzero"`
	Meta          Meta           `json:"_meta,omitempty"`
}

// Validate finds nothing wrong.
func (u SessionInfoUpdate) Validate() error { return nil }

// Timestamp writes a time the way the protocol wants it: ISO 8601, UTC,
// milliseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Cost is what a session has cost so far.
type Cost struct {
	Amount float64 `json:"amount"`
	// Currency is a code of ISO 4217.
	Currency string `json:"currency"`
}

// Usage is the update usage_update: tokens in the context, and its size.
type Usage struct {
	SessionUpdate usageTag `json:"sessionUpdate"`
	Used          uint64   `json:"used"`
	Size          uint64   `json:"size"`
	Cost          *Cost    `json:"cost,omitempty"`
	Meta          Meta     `json:"_meta,omitempty"`
}

// Validate says what keeps the usage from being sent.
func (u Usage) Validate() error {
	if u.Cost == nil {
		return nil
	}
	if math.IsNaN(u.Cost.Amount) || math.IsInf(u.Cost.Amount, 0) {
		return invalid("cost.amount", "is not a number")
	}
	return needText("cost.currency", u.Cost.Currency)
}

// Severity is how bad a notice is.
type Severity string

// The severities.
const (
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

// Notice is the update notice. It may be sent only to a client that can show
// notices, and is no part of the history.
type Notice struct {
	SessionUpdate noticeTag `json:"sessionUpdate"`
	Severity      Severity  `json:"severity"`
	Title         string    `json:"title"`
	Description   string    `json:"description,omitempty"`
	Meta          Meta      `json:"_meta,omitempty"`
}

// Validate says what keeps the notice from being sent.
func (u Notice) Validate() error {
	return errors.Join(oneOf("severity", u.Severity, SeverityInfo, SeverityWarning, SeverityError), needText("title", u.Title))
}

// CompactionStatus is how far a compaction is.
type CompactionStatus string

// The statuses of a compaction; all but the first are final.
const (
	CompactionInProgress CompactionStatus = "in_progress"
	CompactionCompleted  CompactionStatus = "completed"
	CompactionFailed     CompactionStatus = "failed"
	CompactionCancelled  CompactionStatus = "cancelled"
)

// Compaction is the update compaction_update. It may be sent only to a client
// that knows compaction.
type Compaction struct {
	SessionUpdate compactionTag    `json:"sessionUpdate"`
	CompactionID  string           `json:"compactionId"`
	Status        CompactionStatus `json:"status"`
	Summary       []ContentBlock   `json:"summary,omitzero"`
	Error         string           `json:"error,omitempty"`
	Meta          Meta             `json:"_meta,omitempty"`
}

// Validate says what keeps the update from being sent.
func (u Compaction) Validate() error {
	return errors.Join(needText("compactionId", u.CompactionID), each("summary", u.Summary),
		oneOf("status", u.Status, CompactionInProgress, CompactionCompleted, CompactionFailed, CompactionCancelled))
}

// CompactionSummaryChunk is the update compaction_summary_chunk.
type CompactionSummaryChunk struct {
	SessionUpdate compactionChunkTag `json:"sessionUpdate"`
	CompactionID  string             `json:"compactionId"`
	Content       ContentBlock       `json:"content"`
	Meta          Meta               `json:"_meta,omitempty"`
}

// Validate says what keeps the chunk from being sent.
func (u CompactionSummaryChunk) Validate() error {
	return errors.Join(needText("compactionId", u.CompactionID), u.Content.Validate())
}

func (MessageChunk) sessionUpdate()           {}
func (ToolCall) sessionUpdate()               {}
func (toolCallUpdate) sessionUpdate()         {}
func (Plan) sessionUpdate()                   {}
func (AvailableCommands) sessionUpdate()      {}
func (CurrentMode) sessionUpdate()            {}
func (ConfigOptions) sessionUpdate()          {}
func (SessionInfoUpdate) sessionUpdate()      {}
func (Usage) sessionUpdate()                  {}
func (Notice) sessionUpdate()                 {}
func (Compaction) sessionUpdate()             {}
func (CompactionSummaryChunk) sessionUpdate() {}
