package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Result is the frozen outcome of a call (rule R5.35).
type Result = registry.Result

// DefaultMaxParallel is how many bodies of a batch overlap unless configured (rule R13.3).
const DefaultMaxParallel = 10

// Options configure a pipeline (rules R13.3, R8.1).
type Options struct {
	// Approver answers asks; nil denies them (specification 5.3).
	Approver Approver
	// MaxParallel caps the overlapping bodies of a batch; 0 means
	// [DefaultMaxParallel], negative is refused (rule R13.3).
	MaxParallel int
	// Logger gets what was contained, and a debug record of each call. nil discards.
	Logger *slog.Logger
	// NoTimeouts leaves the tools' own time budgets to a wrapper of yours, such
	// as [TimeoutWrapper] in another place of the order (rule R8.1).
	NoTimeouts bool
}

// Pipeline runs calls against the tools of a registry. It is safe for
// concurrent use (rule R6.1).
type Pipeline struct {
	reg         *registry.Registry
	nowhere     *registry.Scope // has ended, so nothing is visible in it
	approver    Approver
	maxParallel int
	log         *slog.Logger
	timeouts    bool

	pre     registry.Listeners[PreFunc]
	around  registry.Listeners[ExecFunc]
	post    registry.Listeners[PostFunc]
	observe registry.Listeners[ObserverFunc]

	foresee registry.Listeners[ForeseeFunc]
	ahead   sync.Map // registry.Token → *question that was put ahead of its call's turn
}

// New returns a pipeline for the tools of reg. It fails on a negative cap (rule R13.3).
func New(reg *registry.Registry, o Options) (*Pipeline, error) {
	if reg == nil {
		return nil, errors.New("pipeline: a registry is needed")
	}
	if o.MaxParallel < 0 {
		return nil, fmt.Errorf("pipeline: maxParallelToolCalls must be a positive integer, got %d", o.MaxParallel)
	}
	if o.MaxParallel == 0 {
		o.MaxParallel = DefaultMaxParallel
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	nowhere := reg.Global().Child("nowhere")
	nowhere.Close()
	return &Pipeline{reg: reg, nowhere: nowhere, approver: o.Approver, maxParallel: o.MaxParallel, log: o.Logger, timeouts: !o.NoTimeouts}, nil
}

// Registry is where the pipeline resolves tools (rule R5.23).
func (p *Pipeline) Registry() *registry.Registry { return p.reg }

// MaxParallel is the cap on overlapping bodies (rule R13.3).
func (p *Pipeline) MaxParallel() int { return p.maxParallel }

// PreNext asks the listeners after this one; without any it allows (rule R5.8).
type PreNext func(ctx context.Context) (Decision, error)

// PreFunc is a pre-execute listener: it decides, or delegates to next. An error
// fails the call without running it (rules R5.8, R5.9).
type PreFunc func(ctx context.Context, exec *registry.Execution, next PreNext) (Decision, error)

// ExecNext runs the wrappers inside this one, and at the core the body. Its
// error is only ever a malformed answer of an inner wrapper (rule R5.19).
type ExecNext func(ctx context.Context) (*Result, error)

// ExecFunc wraps the dispatch of a call: a deadline, a retry, a metric. It may
// hand next another context, which can only tighten the caller's, for that is
// joined again before the body. It may answer without next: a success is then
// validated and rendered from its value (rules R5.19 to R5.22).
type ExecFunc func(ctx context.Context, exec *registry.Execution, next ExecNext) (*Result, error)

// PostNext asks the listeners after this one; without any it accepts (rule R5.28).
type PostNext func(ctx context.Context) (PostDecision, error)

// PostFunc is a post-execute listener: it accepts the result, replaces a part,
// or blocks it. An error replaces the outcome (rules R5.28 to R5.32).
type PostFunc func(ctx context.Context, exec *registry.Execution, r *Result, next PostNext) (PostDecision, error)

// ObserverFunc sees the final result of a call. It is called synchronously and
// cannot change anything; a panic is logged and contained (rule R5.36, decision 13).
type ObserverFunc func(exec *registry.Execution, r *Result)

// OnPreExecute adds a pre-execute listener for the calls that s sees (rules R1.4, R5.8).
func (p *Pipeline) OnPreExecute(s *registry.Scope, f PreFunc, opts ...registry.ListenerOption) (dispose func(), err error) {
	return p.pre.Add(s, f, opts...)
}

// OnExecute adds a wrapper for the calls that s sees; the first registered is
// the outermost (rules R1.4, R5.19).
func (p *Pipeline) OnExecute(s *registry.Scope, f ExecFunc, opts ...registry.ListenerOption) (dispose func(), err error) {
	return p.around.Add(s, f, opts...)
}

// OnPostExecute adds a post-execute listener for the calls that s sees (rules R1.4, R5.28).
func (p *Pipeline) OnPostExecute(s *registry.Scope, f PostFunc, opts ...registry.ListenerOption) (dispose func(), err error) {
	return p.post.Add(s, f, opts...)
}

// OnResult adds an observer of the results that s sees (rules R1.4, R5.36).
func (p *Pipeline) OnResult(s *registry.Scope, f ObserverFunc, opts ...registry.ListenerOption) (dispose func(), err error) {
	return p.observe.Add(s, f, opts...)
}

// Execute takes one call through all stages and returns its result, never nil.
// It does not panic, whatever listeners and tools do, and it waits for a body
// that has started (rule R5.27).
func (p *Pipeline) Execute(ctx context.Context, call Call) *Result {
	pd := p.Prepare(ctx, call)
	pd.Dispatch()
	return pd.Commit()
}
