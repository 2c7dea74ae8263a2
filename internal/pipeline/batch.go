package pipeline

import (
	"context"
	"fmt"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// BatchSink is the log of a batch. Its methods are called one at a time, from
// the goroutine of RunBatch; i is the place of the call in the message, for ids
// may repeat. An error, or a panic, ends the batch (rule R13.8).
type BatchSink interface {
	// AppendCall logs that a call is announced, before anything of it runs.
	AppendCall(ctx context.Context, i int, call Call) error
	// AppendResult logs the result of a call that was announced. Results come
	// in the order of the message. exec is nil for a call that was skipped
	// because the batch was cancelled.
	AppendResult(ctx context.Context, i int, call Call, exec *registry.Execution, r *Result) error
	// AppendContexts logs the context that results carried, after all of them.
	// It is not called for none, nor in a cancelled batch (rule R13.6).
	AppendContexts(ctx context.Context, contexts []registry.Context) error
}

// BatchOutcome is how a batch ended (rules R13.6 to R13.9).
type BatchOutcome struct {
	// ConcludesTurn is set when a result says so (rule R13.9).
	ConcludesTurn bool
	// Cancelled is set when ctx ended before the batch did (rule R13.7).
	Cancelled bool
	// Parked is the context of a cancelled batch, for the next turn (rule R13.6).
	Parked []registry.Context
}

// Classify reports whether a call may overlap others: the tool is visible, may
// be called directly, and says so for these valid arguments (rule R13.2).
func (p *Pipeline) Classify(call Call) bool {
	args, err := call.arguments()
	return err == nil && p.classify(call, args)
}

func (p *Pipeline) classify(call Call, args jsonvalue.Value) bool {
	nested := !call.Parent.IsZero()
	tool, mode := p.scopeOf(call.Agent).Resolve(call.Name, nested)
	if tool == nil || mode == registry.ModeCode && !nested && !tool.IsTransport() {
		return false
	}
	return tool.ConcurrencySafe(args)
}

// RunBatch runs the calls of one assistant message (specification 13).
// Calls that may overlap run in a rolling pool, others alone; each is announced
// and prepared in the message's order, and only bodies overlap. Results are made
// final and logged in the message's order, whatever ends first. Where several
// calls are foreseen to need approval, their questions are put together before
// anything runs, and the calls up to the last of them are announced for that.
//
// When ctx ends, nothing more starts, what runs is waited for, and every call
// that did not start is logged with a result that says so. The error is the
// sink's: then nothing more is logged, and what runs is cancelled and waited for.
func (p *Pipeline) RunBatch(ctx context.Context, calls []Call, sink BatchSink) (BatchOutcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &batch{
		p: p, ctx: ctx, logCtx: context.WithoutCancel(ctx), sink: sink,
		slots:   make([]slot, len(calls)),
		settled: make(chan int, len(calls)),
	}
	for i, c := range calls {
		b.slots[i].call = c
		b.slots[i].args, b.slots[i].argsErr = c.arguments() // once (rule R13.1)
	}
	err := b.run()
	if err != nil {
		cancel()
		b.drain()
	}
	b.endAsking()
	return b.outcome, err
}

type slot struct {
	call    Call
	args    jsonvalue.Value
	argsErr error
	pending *Pending
	settled bool

	announced bool
	exec      *registry.Execution // the call's identity, where it was asked about ahead
	ahead     *question           // until the call is prepared
}

type batch struct {
	p         *Pipeline
	ctx       context.Context
	logCtx    context.Context // without the cancellation: what happened is logged
	sink      BatchSink
	slots     []slot
	settled   chan int       // places of the bodies that ended; never blocks a sender
	asking    sync.WaitGroup // questions that were put ahead
	started   int            // slots[:started] are announced, perhaps more
	committed int            // slots[:committed] have their result logged
	running   int            // bodies under way
	alone     bool           // what runs is exclusive
	contexts  []registry.Context
	outcome   BatchOutcome
}

func (b *batch) run() error {
	if err := b.askAhead(); err != nil {
		return err
	}
	// Results wait until nothing more can start, so that the order of calls and
	// results does not depend on how fast a body is.
	for b.started < len(b.slots) && b.ctx.Err() == nil {
		// Classified just before it would start: tools may have changed (rule R13.3).
		s := &b.slots[b.started]
		overlaps := s.argsErr == nil && b.p.classify(s.call, s.args)
		if full := b.running >= b.p.maxParallel; b.running > 0 && (full || b.alone || !overlaps) {
			if err := b.awaitOne(); err != nil {
				return err
			}
			continue
		}
		if err := b.start(overlaps); err != nil {
			return err
		}
	}
	for b.running > 0 {
		if err := b.awaitOne(); err != nil {
			return err
		}
	}
	return b.finish()
}

// start announces, prepares and launches the next call (rule R13.4). One that
// is settled by its preparation keeps its place (rule R13.5).
func (b *batch) start(overlaps bool) error {
	i := b.started
	s := &b.slots[i]
	b.started++
	if err := b.announce(i); err != nil {
		return err
	}
	s.pending = b.p.prepare(b.ctx, s)
	b.over(s)
	if s.pending.Settled() {
		s.settled = true
		s.pending.Dispatch() // ends its token; nothing runs
		return b.commitReady()
	}
	b.running++
	b.alone = !overlaps
	go func() {
		defer func() { b.settled <- i }() // also when the body ends its goroutine
		s.pending.Dispatch()
	}()
	return nil
}

// announce logs a call, once.
func (b *batch) announce(i int) error {
	s := &b.slots[i]
	if s.announced {
		return nil
	}
	s.announced = true
	return b.log("the call", func() error { return b.sink.AppendCall(b.logCtx, i, s.call) })
}

// awaitOne waits for a body to end and commits what is then in order.
func (b *batch) awaitOne() error {
	return b.took(<-b.settled)
}

func (b *batch) took(i int) error {
	b.running--
	b.slots[i].settled = true
	return b.commitReady()
}

func (b *batch) commitReady() error {
	for b.committed < b.started && b.slots[b.committed].settled {
		i := b.committed
		s := &b.slots[i]
		r := s.pending.Commit()
		if err := b.log("the result", func() error {
			return b.sink.AppendResult(b.logCtx, i, s.call, s.pending.Execution(), r)
		}); err != nil {
			return err
		}
		b.committed++
		b.contexts = append(b.contexts, r.Contexts()...)
		b.outcome.ConcludesTurn = b.outcome.ConcludesTurn || r.ConcludesTurn()
	}
	return nil
}

// finish gives every call that did not start its pair of events without running
// any stage (rule R13.7), then the contexts (rule R13.6).
func (b *batch) finish() error {
	b.outcome.Cancelled = b.ctx.Err() != nil
	b.endAsking() // before the results that end the calls
	for ; b.started < len(b.slots); b.started++ {
		i := b.started
		call := b.slots[i].call
		if err := b.announce(i); err != nil {
			return err
		}
		if err := b.log("the result", func() error {
			return b.sink.AppendResult(b.logCtx, i, call, nil, abortedBefore)
		}); err != nil {
			return err
		}
		b.committed++
	}
	switch {
	case len(b.contexts) == 0:
	case b.outcome.Cancelled:
		b.outcome.Parked = b.contexts
	default:
		return b.log("the contexts", func() error { return b.sink.AppendContexts(b.logCtx, b.contexts) })
	}
	return nil
}

// drain waits for what runs, without committing anything (rule R13.8).
func (b *batch) drain() {
	for ; b.running > 0; b.running-- {
		<-b.settled
	}
}

func (b *batch) log(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("appending %s to the log panicked: %s", what, printed(v))
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("append %s to the log: %w", what, err)
	}
	return nil
}
