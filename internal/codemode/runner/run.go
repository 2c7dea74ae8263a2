package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/codemode/render"
	"github.com/dsh-acp/dsh-acp/internal/codemode/transpile"
	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Run runs a program to its end. It does not panic and always returns an
// Outcome; ctx ends the program, within 100 ms, with its cause as the reason.
// When Run returns, the worker has been killed and no call will be submitted any
// more; calls under way are the host's to end (their ctx has ended).
func (r *Runner) Run(ctx context.Context, p Program, host Host) Outcome {
	if !r.enter() {
		return failed(&Failure{Kind: KindAbort, Message: ErrClosed.Error()})
	}
	defer r.wg.Done()
	p.Limits = p.Limits.withDefaults()
	ledger, err := render.NewLedger(int(p.Limits.MaxOutputBytes))
	if err != nil {
		return failed(&Failure{Kind: KindOutputLimit, Message: err.Error()})
	}
	script, failure := r.compile(ctx, p)
	if failure != nil {
		return failed(failure)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	defer context.AfterFunc(r.ctx, func() { cancel(ErrClosed) })()
	run := &run{
		r: r, p: p, host: host, ledger: ledger, ctx: ctx,
		start: &wire.Run{
			Source: script.Code, SourceMap: script.Map, Tools: p.Tools,
			Compute: p.Limits.Compute, Wall: p.Limits.Wall, Memory: uint64(p.Limits.MemoryBytes),
			MaxOutput: uint64(p.Limits.MaxOutputBytes), MaxFrame: maxFrame, Pending: maxPending,
		},
	}
	out := run.do()
	run.over.Store(true)
	r.rewarm()
	return out
}

// errOver is why the context of a call ends when its run does.
var errOver = errors.New("run_code settled")

func failed(f *Failure) Outcome { return Outcome{Failure: f} }

// do sends the program to a worker, again to a fresh one when the kept one
// turns out to be dead, and listens until it is done.
func (r *run) do() Outcome {
	for {
		if r.ctx.Err() != nil {
			return failed(&Failure{Kind: KindAbort, Message: reason(r.ctx)})
		}
		p, warm, err := r.r.take(r.ctx)
		if err != nil {
			if r.ctx.Err() != nil {
				return failed(&Failure{Kind: KindAbort, Message: reason(r.ctx)})
			}
			return failed(&Failure{Kind: KindWorkerExit, Message: "worker error: " + err.Error()})
		}
		r.peer = p
		sent := p.send(wire.KindRun, r.start.Append(nil), nil)
		done, cause := r.listen()
		p.kill("")
		var end ending
		if cause == causeGone {
			end = p.reap()
		} else {
			// How it ends says nothing any more; nobody waits for that but Close.
			r.r.wg.Go(func() { p.reap() })
		}
		if (sent != nil || cause == causeGone && !r.spoke) && warm {
			continue
		}
		return r.outcome(done, cause, end)
	}
}

// cause is why a worker was ended before it said Done.
type cause int

const (
	causeDone cause = iota
	causeGone
	causeAbort
	causeWall
	causeOutput
	causeProtocol
)

// run is one run under way.
type run struct {
	r      *Runner
	p      Program
	host   Host
	ledger *render.Ledger
	ctx    context.Context
	start  *wire.Run
	peer   peer
	over   flag

	spoke   bool // the worker has said anything since Run
	submits uint32
	mu      sync.Mutex // guards what follows
	open    map[uint32]struct{}
	cause   cause
	problem string // what was wrong with causeProtocol
}

// end kills the worker for a cause; the first one counts.
func (r *run) end(c cause, problem string) {
	r.mu.Lock()
	first := r.cause == causeDone
	if first {
		r.cause, r.problem = c, problem
	}
	r.mu.Unlock()
	if first {
		r.peer.kill(reason(r.ctx))
	}
}

// listen handles the worker's frames until its Done, or its end.
func (r *run) listen() (*wire.Done, cause) {
	r.open = map[uint32]struct{}{}
	wall := newWall(r.p.Limits.Wall, func() { r.end(causeWall, "") })
	defer wall.stop()
	stop := context.AfterFunc(r.ctx, func() { r.end(causeAbort, "") })
	defer stop()
	for {
		kind, payload, err := r.peer.next()
		if err != nil {
			if errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrMalformed) {
				r.end(causeProtocol, err.Error())
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.cause == causeDone {
				return nil, causeGone
			}
			return nil, r.cause
		}
		r.spoke = true
		switch kind {
		case wire.KindLog:
			r.log(payload)
		case wire.KindCall:
			if problem := r.call(payload, wall); problem != "" {
				r.end(causeProtocol, problem)
			}
		case wire.KindDone:
			done, err := wire.DecodeDone(payload)
			if err != nil {
				r.end(causeProtocol, err.Error())
				continue
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.cause == causeDone {
				return done, causeDone
			}
			// It was killed while saying so; why counts, and where it was.
			return done, r.cause
		default:
			r.end(causeProtocol, fmt.Sprintf("a %s frame from the worker", kind))
		}
	}
}

// log takes in one console entry.
func (r *run) log(payload []byte) {
	r.mu.Lock()
	stopped := r.cause != causeDone
	r.mu.Unlock()
	if stopped {
		return
	}
	text := strings.ToValidUTF8(string(payload), "\uFFFD")
	if !r.ledger.Log(text) {
		r.end(causeOutput, "")
		return
	}
	r.host.Log(text)
}

// call checks a call frame and submits it. It returns what is wrong with it.
func (r *run) call(payload []byte, wall *wall) string {
	m, err := wire.DecodeCall(payload)
	if err != nil {
		return err.Error()
	}
	r.mu.Lock()
	stopped, waiting := r.cause != causeDone, len(r.open)
	switch {
	case m.ID != r.submits+1:
		err = fmt.Errorf("call %d after call %d", m.ID, r.submits)
	case int(m.Tool) >= len(r.p.Tools):
		err = fmt.Errorf("call of tool %d of %d", m.Tool, len(r.p.Tools))
	case waiting >= maxPending:
		err = fmt.Errorf("more than %d calls at once", maxPending)
	default:
		r.submits++
		r.open[m.ID] = struct{}{}
	}
	r.mu.Unlock()
	if err != nil {
		return err.Error()
	}
	if stopped {
		return ""
	}
	args, err := jsonvalue.ParseLossless(m.Args)
	if err != nil {
		return "arguments are not lossless JSON: " + err.Error()
	}
	id := m.ID
	r.host.Submit(r.ctx, Call{
		N: int(id), Name: r.p.Tools[m.Tool], Args: m.Args, Arguments: args,
		Line: int(m.At.Line), Column: int(m.At.Column),
		SourceLine: transpile.SourceLine(r.p.Source, int(m.At.Line)),
		PauseWall:  wall.pause,
	}, func(reply Reply) { r.settle(id, reply) })
	return ""
}

// settle sends a call's outcome, if the run still wants it.
func (r *run) settle(id uint32, reply Reply) {
	r.mu.Lock()
	_, open := r.open[id]
	delete(r.open, id)
	more := len(r.open) > 0
	r.mu.Unlock()
	if !open || r.over.Load() {
		return
	}
	if !reply.Failed && len(reply.Value) > maxFrame {
		reply = Reply{Failed: true, Message: fmt.Sprintf("the value is %d bytes of JSON; a program can receive at most %d", len(reply.Value), maxFrame)}
	}
	m := reply.settled(id)
	// An error means the worker is gone; the listener notices.
	if more {
		_ = r.peer.sendSoon(wire.KindSettle, m.AppendHead(nil), m.Payload)
	} else {
		_ = r.peer.send(wire.KindSettle, m.AppendHead(nil), m.Payload)
	}
}

// outcome makes the Outcome of a run whose worker has ended.
func (r *run) outcome(done *wire.Done, c cause, end ending) Outcome {
	out := Outcome{Logs: r.ledger.Logs()}
	if done != nil {
		out.Busy = done.Busy
		for _, p := range done.Pending {
			if int(p.Tool) < len(r.p.Tools) {
				out.Unawaited = append(out.Unawaited, Unawaited{
					Name: r.p.Tools[p.Tool], Line: int(p.At.Line),
					SourceLine: transpile.SourceLine(r.p.Source, int(p.At.Line)),
				})
			}
		}
	}
	if c == causeDone && done.Status == wire.StatusOK {
		return r.completed(out, done)
	}
	out.Failure = r.failure(done, c, end)
	if err := r.ledger.Fail(out.Failure.Message); err != nil {
		r.overflowed(&out, err)
	}
	return out
}

func (r *run) completed(out Outcome, done *wire.Done) Outcome {
	var err error
	if len(done.Value) > 0 {
		if out.Value, err = jsonvalue.ParseLossless(done.Value); err != nil {
			out.Failure = &Failure{Kind: KindInvalidOutput, Message: "program completion must be lossless JSON\n" + err.Error()}
			return out
		}
	}
	if err := r.ledger.Complete(out.Value); err != nil {
		out.Value = jsonvalue.Value{}
		r.overflowed(&out, err)
		return out
	}
	out.OK = true
	return out
}

// overflowed turns an outcome into the output-limit failure.
func (r *run) overflowed(out *Outcome, err error) {
	out.Failure = &Failure{Kind: KindOutputLimit, Message: err.Error()}
	var over *render.OverflowError
	if errors.As(err, &over) {
		out.Logs = over.Logs
	}
}

func reason(ctx context.Context) string {
	err := context.Cause(ctx)
	if err == nil {
		return "run_code settled"
	}
	if errors.Is(err, context.Canceled) && err == context.Canceled {
		return "cancelled"
	}
	text := err.Error()
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return text
}
