// Package cards holds the render intents ("cards") that tools return for their
// calls, and the pure projection from session events to what an editor is
// shown. It knows nothing of a connection: the bridge turns the projected
// updates into protocol messages.
package cards

import (
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Card tags a render intent. A call may be Generic, Terminal or Diff; a result
// may also be Search, Read or Web (rule R12.1).
type Card string

// The card families.
const (
	Generic  Card = "generic"
	Terminal Card = "terminal"
	Diff     Card = "diff"
	Search   Card = "search"
	Read     Card = "read"
	Web      Card = "web"
)

// Kind picks the icon and treatment of a call. The set is ACP's tool kinds.
type Kind string

// The tool kinds of ACP v1. The zero value is shown as KindOther.
const (
	KindRead       Kind = "read"
	KindEdit       Kind = "edit"
	KindDelete     Kind = "delete"
	KindMove       Kind = "move"
	KindSearch     Kind = "search"
	KindExecute    Kind = "execute"
	KindThink      Kind = "think"
	KindFetch      Kind = "fetch"
	KindSwitchMode Kind = "switch_mode"
	KindOther      Kind = "other"
)

// Location is a file that a call reads or changes. Path may be relative to the
// session's working directory; the projection makes it absolute. Line is
// 1-based, 0 when unknown.
type Location struct {
	Path string
	Line int
}

// FileDiff is one change to show. OldText is nil for a new file.
type FileDiff struct {
	Path    string
	OldText *string
	NewText string
}

// Call is how a tool wants its pending call shown: the card that
// Definition.PresentCall returns. Which fields count depends on Card:
// Generic uses Title, Kind, RawInput, Content and Locations; Terminal uses
// Title (the command), Description and Cwd; Diff uses Title, Diffs and
// Locations.
type Call struct {
	Card        Card
	Title       string
	Kind        Kind
	RawInput    jsonvalue.Value // Undefined when the card has none
	Content     []content.Block
	Locations   []Location
	Description string
	Cwd         string
	Diffs       []FileDiff
}

// Result is how a tool wants its finished call shown: the card that
// Definition.PresentResult returns. Generic uses Title and Content (nil Content
// keeps the raw result content); Terminal uses Title, Output, Notes, ExitCode
// and Signal; Diff uses Title and Diffs; Search, Read and Web use their own part.
type Result struct {
	Card    Card
	Title   string
	Content []content.Block
	Output  string
	// Notes is what Output says besides what the command itself wrote, such as
	// its exit status: all that is left to show where the rest was shown live.
	Notes    string
	ExitCode *int
	Signal   string
	// Files hold in full what the result shows only a part of. Any card may
	// have them.
	Files  []File
	Diffs  []FileDiff
	Search *SearchResult
	Read   *ReadResult
	Web    *WebResult
}

// File is a file that an editor can open. Path is absolute.
type File struct{ Path, Name string }

// ResultInput is what a result presenter may look at besides the arguments.
// Presenters are pure: they run live and on replay.
type ResultInput struct {
	Content []content.Block
	IsError bool
	Meta    jsonvalue.Value // the presentation meta of the result, Undefined when none
}

// SearchResult is the structured part of a search card. Files is set for shape
// "matches", Paths for shape "paths". Total counts before capping, so a capped
// result never looks complete.
type SearchResult struct {
	Files     []SearchFile
	Paths     []string
	Counts    []int // matching lines of each of Paths; nil when they are not counted
	Truncated bool
	Total     int
	Note      string // what was not searched; "" when everything was
}

// SearchFile is one file of a search card with its matching lines.
type SearchFile struct {
	Path    string
	Matches []SearchMatch
}

// SearchMatch is one matching line. LineNumber is 1-based.
type SearchMatch struct {
	LineNumber int
	Line       string
}

// ReadResult is the structured part of a read card: a window of lines starting
// at Offset (1-based) of a file with TotalLines lines.
type ReadResult struct {
	Path       string
	Offset     int
	Lines      []ReadLine
	TotalLines int
	Lang       string
	Content    string // the text without its envelope
}

// ReadLine is one line of a read card. Number is 1-based.
type ReadLine struct {
	Number int
	Text   string
}

// WebResult is the structured part of a web card. Kind is "search" or "fetch".
type WebResult struct {
	Kind       string
	Sources    []WebSource
	Answer     string
	URL        string
	StatusCode int
	Truncated  bool
}

// WebSource is one source of a web search card.
type WebSource struct {
	URL, Title, Snippet, PublishedAt string
}
