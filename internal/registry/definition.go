package registry

import (
	"context"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// Definition describes one tool: what the model is told, how a call runs and
// how its calls look. Register takes an immutable snapshot of it (rule R2.7).
type Definition struct {
	// Name is how the model calls the tool. Any non-empty text except the
	// reserved run_code (rules R2.5, R2.6).
	Name string
	// Description is what the model reads.
	Description string

	// Parameters declares typed parameters: they are converted to JSON Schema
	// for the model, and arguments are validated against them before Execute
	// runs (rule R9.4). Leave RawParameters undefined then.
	Parameters schema.Params
	// RawParameters is a finished JSON Schema, as MCP servers give it. It is
	// passed to the model as it is and not validated here (rule R2.8).
	RawParameters jsonvalue.Value

	// Output declares the canonical value and how it reads. Mandatory (rule R2.2).
	Output Output

	// Execute does the work and returns the canonical value. An error becomes a
	// failed result and never ends the turn (rule R5.24). It must return soon
	// after ctx ends.
	Execute func(ctx context.Context, args jsonvalue.Value, run Run) (jsonvalue.Value, error)

	// PresentCall and PresentResult choose the cards. Both are optional and
	// pure: they run live and on replay. nil means the generic fallback.
	PresentCall   func(args jsonvalue.Value) *cards.Call
	PresentResult func(args jsonvalue.Value, r cards.ResultInput) *cards.Result

	// ConcurrencySafe says whether a call may overlap others. Absent, a panic
	// or invalid arguments mean exclusive (rule R13.2).
	ConcurrencySafe func(args jsonvalue.Value) bool

	// FinalizeContent may replace the content of the final result; nil keeps it.
	// It runs exactly once for every outcome of a visible tool (rule R5.34).
	FinalizeContent func(exec *Execution, r *Result) ([]content.Block, error)

	// Timeout is the tool's own budget, enforced by the pipeline's timeout
	// wrapper. Zero means none; negative is refused (rule R2.3).
	Timeout time.Duration
}

// Output declares a tool's canonical value (rule R2.2).
type Output struct {
	// Schema is a JSON Schema of the supported subset; every returned value is
	// validated against it (rules R5.25, R10.1).
	Schema jsonvalue.Value
	// Render turns a value into the content the model reads.
	Render func(args, value jsonvalue.Value) ([]content.Block, error)
	// PresentationMeta is what the result presenter gets besides the content,
	// and what the log keeps for replay. Optional; never for nested calls (rule R5.26).
	PresentationMeta func(args, value jsonvalue.Value) (jsonvalue.Value, error)
}

// Agent is whoever makes a call: it says through which scope it sees tools.
// Tools assert the further small interfaces they need (a working directory, a
// session id) on the concrete agent (rule R1.2).
type Agent interface {
	AgentID() string
	Scope() *Scope
}

// Run is the tool body's handle on its own call (rule R5.26).
type Run interface {
	// Execution is the immutable identity of the call.
	Execution() *Execution
	// DeferContext adds model-facing context that follows the results of the
	// step (rule R5.26).
	DeferContext(Context)
	// ConcludeTurn ends the turn after the batch when the call succeeds (rule R13.9).
	ConcludeTurn()
	// Emit appends a session event, such as a todo list, while the body runs.
	// It fails when the call has no session.
	Emit(eventType string, data jsonvalue.Value) error
	// Output previews live output bytes. It never blocks; the final result
	// replaces whatever was previewed.
	Output(chunk []byte)
}

// Context is model-facing context that a tool or a listener adds to a result (decision 8).
type Context struct {
	Content []content.Block
	Source  jsonvalue.Value // who added it, e.g. {"kind":"plugin","plugin":"name"}
	Meta    jsonvalue.Value // Undefined when none
}
