// Package runner runs Code Mode programs from the parent's side: it compiles
// them, keeps a worker process warm ahead of need, holds the clocks and limits,
// and kills. It knows nothing of tools: calls go to a Host.
//
// Everything a worker says is untrusted. A frame that does not decode, a call
// out of order, of an unknown tool, or beyond the agreed number ends the run.
package runner

import (
	"context"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Program is what to run and within which limits.
type Program struct {
	Source string
	Tools  []string // the names the program sees, in their order
	Limits Limits
}

// Limits bound one run (decisions 24). A field that is not positive takes its
// default.
type Limits struct {
	Compute        time.Duration // time the program itself computes; waiting is free
	Wall           time.Duration // time from start to end, but what PauseWall pauses
	MemoryBytes    int64         // memory of the program
	MaxOutputBytes int64         // JSON bytes of what it prints and returns
}

// Defaults of the limits.
const (
	DefaultCompute        = 60 * time.Second
	DefaultWall           = 600 * time.Second
	DefaultMemoryBytes    = 512 << 20
	DefaultMaxOutputBytes = 64 << 20
)

// Limits that are not configurable: what one call's arguments or value may
// have, and how many calls may wait for an outcome at the parent. Further calls
// wait in the worker.
const (
	maxFrame   = 64 << 20
	maxPending = 256
)

func (l Limits) withDefaults() Limits {
	if l.Compute <= 0 {
		l.Compute = DefaultCompute
	}
	if l.Wall <= 0 {
		l.Wall = DefaultWall
	}
	if l.MemoryBytes <= 0 {
		l.MemoryBytes = DefaultMemoryBytes
	}
	if l.MaxOutputBytes <= 0 {
		l.MaxOutputBytes = DefaultMaxOutputBytes
	}
	return l
}

// Host is whoever a program's calls go to.
type Host interface {
	// Submit takes a call, in the order the program made them, and must not
	// block for long: it runs on the goroutine that listens to the worker.
	// settle must be called once, from any goroutine, also after the run is
	// over, when it does nothing; ctx ends with the run.
	Submit(ctx context.Context, call Call, settle func(Reply))
	// Log takes one console entry, as it is printed. It must not block either.
	Log(entry string)
}

// Call is one tool call of a program.
type Call struct {
	N            int    // 1 for the first call of the run
	Name         string // one of Program.Tools
	Args         []byte // lossless JSON, parsed once already: see Arguments
	Arguments    jsonvalue.Value
	Line, Column int    // where the program made it, 1-based; 0: unknown
	SourceLine   string // the text of that line
	// PauseWall stops the run's wall clock, while a person is being asked, until
	// resume is called. It may be called more than once and from any goroutine.
	PauseWall func() (resume func())
}

// Reply is a call's outcome: the tool's canonical value as JSON, or why there is
// none.
type Reply struct {
	Value   []byte // JSON; ignored when Failed
	Failed  bool
	Message string // the message of the ToolCallError
}

// Kind is how a run failed (decisions 23).
type Kind string

// The kinds of failure.
const (
	KindException     Kind = "exception"
	KindTimeout       Kind = "timeout"
	KindAbort         Kind = "abort"
	KindWorkerExit    Kind = "worker-exit"
	KindInvalidOutput Kind = "invalid-output"
	KindOutputLimit   Kind = "output-limit"
)

// Failure is why a run has no value.
type Failure struct {
	Kind Kind
	// Message is what the model reads after "code run failed (<kind>): ". Its
	// first line is the fixed text or "<Name>: <message>" (C6.3); lines after it
	// say where and what to do.
	Message      string
	Line, Column int    // in the program's text, 1-based; 0: unknown
	SourceLine   string // the text of that line
}

// Unawaited is a tool call that was still open when the program ended.
type Unawaited struct {
	Name       string
	Line       int
	SourceLine string
}

// Outcome is how a run ended.
type Outcome struct {
	OK        bool
	Value     jsonvalue.Value // Undefined when the program returned nothing
	Logs      []string        // what it printed, perhaps cut: then Failure says so
	Failure   *Failure        // nil if OK
	Unawaited []Unawaited
	Busy      time.Duration // time the program computed
}

// settled is the part of a Reply that goes over the wire.
func (r Reply) settled(id uint32) *wire.Settle {
	if r.Failed {
		return &wire.Settle{ID: id, Payload: []byte(r.Message)}
	}
	return &wire.Settle{ID: id, OK: true, Payload: r.Value}
}
