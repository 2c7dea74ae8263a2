package pipeline

import (
	"context"
	"errors"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Several calls of one step that need a person's approval are asked about
// together, ahead of their turn, so that the person decides once and not one by
// one. Asking ahead runs nothing and decides nothing: when its turn comes, a
// call goes through all its stages, and only where they want the very question
// that was put ahead, its answer is used. What the answer was given to may have
// changed by then:
//
//   - the listeners allow the call by now: the question is withdrawn. A
//     rejection stays one.
//   - they deny it: the question is withdrawn, whatever was answered.
//   - they ask something else: the question is withdrawn, and the other one is
//     put. A rejection stays one.
//
// So a denial stays a denial, and an approval counts for the question it was
// the answer to.

// ForeseeFunc says, ahead of a call's turn, whether it will be asked about. It
// must be pure: the call may never be made. Anything but an ask means that
// nothing is put ahead (an addition to rule R13.4).
type ForeseeFunc func(exec *registry.Execution) Decision

// OnForesee adds a function that foresees questions about the calls that s sees;
// the first to answer with an ask counts. Batches in which at least two calls
// are foreseen to ask put their questions together (an addition to rule R13.4).
func (p *Pipeline) OnForesee(s *registry.Scope, f ForeseeFunc, opts ...registry.ListenerOption) (dispose func(), err error) {
	return p.foresee.Add(s, f, opts...)
}

// maxAhead is how many questions of one batch are open at a time.
const maxAhead = 10

// errNotNeeded is the cause with which a question is withdrawn whose answer is
// not needed any more.
var errNotNeeded = errors.New("the question is not needed any more")

// question is one that was put ahead of its call's turn.
type question struct {
	reason string
	about  string
	cancel context.CancelCauseFunc
	done   chan struct{}

	// Valid once done is closed.
	outcome ApprovalOutcome
	err     error
}

// withdraw ends the question if it is still open, and says how it ended.
func (q *question) withdraw() ApprovalOutcome {
	q.cancel(errNotNeeded)
	<-q.done
	return q.outcome
}

// RequestApproval asks a person, or gives the answer to the same question if it
// was put ahead. Listeners that ask by themselves ask here, so that a person is
// asked once (specification 5.3). Without an approver it is [Unavailable]. About a call
// that cannot run nobody is asked: the error says what is wrong with it.
func (p *Pipeline) RequestApproval(ctx context.Context, req ApprovalRequest) (outcome ApprovalOutcome, err error) {
	tool, _ := p.scopeOf(req.Execution.Agent()).Resolve(req.Execution.Name(), req.Execution.Nested())
	if err := runnable(tool, req.Execution); err != nil {
		return "", err
	}
	if v, ok := p.ahead.Load(req.Execution.Token()); ok {
		q := v.(*question)
		if q.reason == req.Reason && q.about == req.About {
			select {
			case <-q.done:
				return q.outcome, q.err
			case <-ctx.Done():
				return Cancelled, nil
			}
		}
		if q.withdraw() == Rejected {
			return Rejected, nil
		}
	}
	return p.askNow(ctx, req)
}

func (p *Pipeline) askNow(ctx context.Context, req ApprovalRequest) (outcome ApprovalOutcome, err error) {
	if p.approver == nil {
		return Unavailable, nil
	}
	defer func() {
		if v := recover(); v != nil {
			outcome, err = "", p.panicked("the approval service", req.Execution.Name(), v)
		}
	}()
	return p.approver.RequestApproval(ctx, req)
}

// foreseen says what will be asked about a call; ok is false when nothing is
// foreseen, or the call will not come as far.
func (p *Pipeline) foreseen(s *slot) (exec *registry.Execution, tool *registry.Tool, d Decision, ok bool) {
	if s.argsErr != nil || s.call.Agent == nil {
		return nil, nil, Decision{}, false
	}
	scope := p.scopeOf(s.call.Agent)
	fs := p.foresee.For(scope)
	if len(fs) == 0 {
		return nil, nil, Decision{}, false
	}
	nested := !s.call.Parent.IsZero()
	tool, mode := scope.Resolve(s.call.Name, nested)
	if tool == nil || mode == registry.ModeCode && !nested && !tool.IsTransport() {
		return nil, nil, Decision{}, false
	}
	exec, err := p.reg.Begin(s.call.spec(s.args))
	if err != nil {
		p.reg.End(exec)
		return nil, nil, Decision{}, false
	}
	if runnable(tool, exec) != nil {
		p.reg.End(exec)
		return nil, nil, Decision{}, false
	}
	for _, f := range fs {
		if d := p.judgeAgain(s.call.Name, func() Decision { return f(exec) }); d.IsAsk() && d.hasReason {
			return exec, tool, d, true
		}
	}
	p.reg.End(exec)
	return nil, nil, Decision{}, false
}

// askAhead puts the questions of the batch, if there are several. The calls up
// to the last of them are announced first, because a question is about a call
// that the person can see.
func (b *batch) askAhead() error {
	if len(b.slots) < 2 || b.p.approver == nil || b.ctx.Err() != nil {
		return nil
	}
	var places []int
	var reqs []ApprovalRequest
	for i := range b.slots {
		s := &b.slots[i]
		exec, tool, d, ok := b.p.foreseen(s)
		if !ok {
			continue
		}
		s.exec = exec
		req := ApprovalRequest{Execution: exec, Tool: tool, Reason: d.reason, About: d.about}
		if d.again != nil {
			again := *d.again
			req.Again = func() Decision { return b.p.judgeAgain(exec.Name(), again) }
		}
		places, reqs = append(places, i), append(reqs, req)
	}
	if len(places) < 2 {
		return nil // its own turn is soon enough
	}
	for i := range places[len(places)-1] + 1 {
		if err := b.announce(i); err != nil {
			return err
		}
	}
	type job struct {
		ctx context.Context
		q   *question
		req ApprovalRequest
	}
	jobs := make([]job, len(places))
	for n, i := range places {
		ctx, cancel := context.WithCancelCause(b.ctx)
		q := &question{reason: reqs[n].Reason, about: reqs[n].About, cancel: cancel, done: make(chan struct{})}
		b.slots[i].ahead = q
		b.p.ahead.Store(reqs[n].Execution.Token(), q)
		jobs[n] = job{ctx, q, reqs[n]}
	}
	// Everything above is in place before the first question can be answered.
	b.asking.Go(func() {
		room := make(chan struct{}, maxAhead)
		for _, j := range jobs {
			room <- struct{}{} // a question that is open holds a place until it ends, and it ends with the batch
			sent := make(chan struct{})
			j.req.Sent = sync.OnceFunc(func() { close(sent) })
			b.asking.Go(func() {
				defer func() { <-room }()
				defer j.req.Sent()
				defer close(j.q.done)
				if j.ctx.Err() != nil {
					j.q.outcome = Cancelled
					return
				}
				j.q.outcome, j.q.err = b.p.askNow(j.ctx, j.req)
			})
			<-sent // in the order of the message
		}
	})
	return nil
}

// over ends what is left of a question when its call has been prepared, or never
// will be.
func (b *batch) over(s *slot) {
	if s.ahead == nil {
		return
	}
	s.ahead.cancel(errNotNeeded)
	b.p.ahead.Delete(s.exec.Token())
	s.ahead = nil
}

// endAsking withdraws every question that is still open and waits for that.
func (b *batch) endAsking() {
	for i := range b.slots {
		s := &b.slots[i]
		b.over(s)
		if s.exec != nil && s.pending == nil {
			b.p.reg.End(s.exec) // its turn never came
		}
	}
	b.asking.Wait()
}
