package pipeline

import (
	"context"
	"errors"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Call is what a caller says about a call (rules R5.1, R5.4).
type Call struct {
	// ID is the id that the model gave the call.
	ID string
	// Name is the tool.
	Name string
	// RawArguments is the text that the model wrote. It counts when Arguments
	// is Undefined: "" is {}, and what is not JSON is the text itself (rule R5.1).
	RawArguments string
	// Arguments are the arguments where no text is involved.
	Arguments jsonvalue.Value
	// Agent makes the call; nil when nobody does (rule R1.4).
	Agent registry.Agent
	// Parent is the token of the enclosing call of a nested one, which must
	// still be running (rule R6.1).
	Parent registry.Token

	// OnRunning is called when the body is about to start: after policy and
	// validation, possibly from another goroutine.
	OnRunning func(exec *registry.Execution)
	// Emit backs Run.Emit: it appends a session event.
	Emit func(eventType string, data jsonvalue.Value) error
	// Output backs Run.Output: a preview of live output. It must not block.
	Output func(chunk []byte)
}

var (
	errLossyArguments = errors.New("tool execution arguments must be losslessly JSON-serializable")
	emptyObject       = jsonvalue.Object()
)

// ParseArguments reads the argument text of a model: empty is {}, text that is
// not JSON stands for itself as a string, and duplicate keys, negative zero and
// numbers out of range are refused (rules R5.1, R5.2, decision 18).
func ParseArguments(text string) (jsonvalue.Value, error) {
	if text == "" {
		return emptyObject, nil
	}
	v, err := jsonvalue.ParseString(text)
	switch {
	case errors.Is(err, jsonvalue.ErrDuplicateKey):
		return jsonvalue.Value{}, lossy(err)
	case err != nil:
		return jsonvalue.String(text), nil
	}
	return v, checkArguments(v)
}

func checkArguments(v jsonvalue.Value) error {
	if jsonvalue.CheckLossless(v) != nil {
		return errLossyArguments
	}
	return nil
}

type lossyError struct{ cause error }

func (e *lossyError) Error() string { return errLossyArguments.Error() + ": " + e.cause.Error() }
func (e *lossyError) Unwrap() error { return e.cause }

func lossy(cause error) error { return &lossyError{cause} }

func (c *Call) arguments() (jsonvalue.Value, error) {
	if c.Arguments.IsUndefined() {
		return ParseArguments(c.RawArguments)
	}
	return c.Arguments, checkArguments(c.Arguments)
}

func (c *Call) spec(args jsonvalue.Value) registry.ExecutionSpec {
	return registry.ExecutionSpec{CallID: c.ID, Name: c.Name, Arguments: args, Agent: c.Agent, Parent: c.Parent}
}

// Pending is a call between its stages: [Pipeline.Prepare] has decided whether
// it may run, Dispatch runs it, Commit makes its result final. A scheduler
// overlaps only the Dispatch of several calls (rule R13.4).
type Pending struct {
	p     *Pipeline
	ctx   context.Context // the caller's
	call  Call
	exec  *registry.Execution
	scope *registry.Scope
	tool  *registry.Tool // as seen at the start; nil when unknown

	finalizer *registry.Tool // captured at the start (rule R5.34)
	outcome   *Result        // nil while nothing has decided the call
	skipPost  bool
	done      bool // Dispatch has run
	final     *Result

	mu      sync.Mutex
	closed  bool           // the wrappers have returned
	bodies  sync.WaitGroup // bodies under way
	invoked bool           // a body was started
	minted  *Result        // the latest result made by this dispatch
	earlier []*Result      // those before it, where a wrapper retried
}

// Execution is the identity of the call (rule R5.4).
func (pd *Pending) Execution() *registry.Execution { return pd.exec }

// Settled reports whether the call is decided without a body: refused, or
// broken, or cancelled (rule R13.5).
func (pd *Pending) Settled() bool { return pd.outcome != nil }
