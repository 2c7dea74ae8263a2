package cards

import (
	"time"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Update is one thing an editor is shown: a Message, ToolCall, ToolUpdate,
// Plan, SessionInfo, Compaction or CompactionSummary. It is what a session/update carries, before
// any protocol encoding.
type Update interface{ isUpdate() }

// Role says whose words a Message carries.
type Role int

// The roles of a message chunk.
const (
	RoleAgent Role = iota
	RoleThought
	RoleUser
)

// Message is a chunk of a message. Chunks with the same ID belong together.
type Message struct {
	Role  Role
	Block content.Block
	ID    string
}

// Status is where a call stands. A call moves from pending over in_progress to
// exactly one of completed or failed.
type Status string

// The call states of ACP v1.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
)

// ToolCall announces a call. It is the first update of its ID.
type ToolCall struct {
	ID        string
	ParentID  string // the call that made this one; empty for the model's own
	Name      string // the tool's name as the model used it
	Title     string
	Kind      Kind
	Status    Status
	Content   []ToolContent
	Locations []Location // absolute paths
	RawInput  jsonvalue.Value
	Terminal  *TerminalInfo // set when the editor draws the terminal itself
}

// ToolUpdate changes an announced call. Only what is set changes: a nil
// Content keeps the content, a non-nil one replaces the whole list.
type ToolUpdate struct {
	ID        string
	ParentID  string // as announced
	Status    Status // empty: unchanged
	Title     string // empty: unchanged
	Content   []ToolContent
	Locations []Location
	RawOutput jsonvalue.Value
	Output    *TerminalOutput
	Exit      *TerminalExit
	Card      jsonvalue.Value // structured search, read and web cards
}

// ToolContent is one piece of a call's content; exactly one field is set.
type ToolContent struct {
	Block      *content.Block
	Diff       *FileDiff // absolute path
	TerminalID string
	File       *File // a link to it
}

// TerminalInfo opens a display terminal in a capable editor.
type TerminalInfo struct {
	ID  string
	Cwd string // empty when unknown
}

// TerminalOutput appends text to a display terminal.
type TerminalOutput struct {
	ID    string
	Data  string
	Notes string // the part of Data that no live output can have shown
}

// TerminalExit ends a display terminal. At most one of ExitCode and Signal is
// set; neither means that the command ended in a way nobody could observe.
type TerminalExit struct {
	ID       string
	ExitCode *int
	Signal   string
}

// Plan is the complete to-do list.
type Plan struct{ Entries []PlanEntry }

// PlanEntry is one item of a plan.
type PlanEntry struct{ Content, Priority, Status string }

// SessionInfo carries a new title.
type SessionInfo struct {
	Title     string
	UpdatedAt time.Time
}

// Compaction is how far the replacement of a part of the conversation by a
// summary is. The first one of an ID announces it.
type Compaction struct {
	ID     string
	Status CompactionStatus
	Error  string // of a failed one
	// Summary takes the place of what was shown of the summary; nil leaves it, an
	// empty list clears it.
	Summary []content.Block
}

// CompactionStatus is one of ACP's states of a compaction.
type CompactionStatus string

// The states of a compaction; all but the first are final.
const (
	CompactionInProgress CompactionStatus = "in_progress"
	CompactionCompleted  CompactionStatus = "completed"
	CompactionFailed     CompactionStatus = "failed"
	CompactionCancelled  CompactionStatus = "cancelled"
)

// CompactionSummary is a piece of the summary of a compaction.
type CompactionSummary struct {
	ID    string
	Block content.Block
}

func (Message) isUpdate()           {}
func (ToolCall) isUpdate()          {}
func (ToolUpdate) isUpdate()        {}
func (Plan) isUpdate()              {}
func (SessionInfo) isUpdate()       {}
func (Compaction) isUpdate()        {}
func (CompactionSummary) isUpdate() {}
