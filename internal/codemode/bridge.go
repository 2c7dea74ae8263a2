package codemode

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/codemode/sdk"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// bridge takes the calls of one run through the pipeline. It is the runner.Host
// of the run.
type bridge struct {
	t     *Transport
	run   registry.Run
	outer *registry.Execution
	scope *registry.Scope
	set   Settings
	// rootID and parentID name the outer call in events.
	rootID, parentID jsonvalue.Value
	sdk              *sdk.SDK
	// program is the context of the program; calls is the one of its calls, which
	// ends when the run is settled too.
	program     context.Context
	failProgram context.CancelCauseFunc
	calls       context.Context
	abortCalls  context.CancelCauseFunc

	mu      sync.Mutex
	changed sync.Cond // of everything below
	idle    bool      // the lane waits for something to do
	begins  *subCall  // came into an idle lane and has not begun
	last    int       // the number of the last call that has an id
	queue   []*subCall
	flying  []*subCall // started and not committed, in order
	running int        // bodies beside the lane
	over    string     // why no call is taken any more
	logErr  error      // the session log cannot be written

	// lost are the calls that were to change something and did not come to an end
	// before the program's. The lane's own until drained is closed.
	lost    []runner.Unawaited
	drained chan struct{}
}

// subCall is one call of the program.
type subCall struct {
	runner.Call
	id     string
	settle func(runner.Reply) // called exactly once

	pending *pipeline.Pending
	ended   bool // the body has; guarded by the bridge's mutex
}

func (c *subCall) reject(message string) { c.settle(runner.Reply{Failed: true, Message: message}) }

// The rejections of calls whose data a program cannot hand over or take (C4.2).
const (
	lossyArguments = "tool arguments must be lossless JSON"
	lossyValue     = "binding resolution must be lossless JSON"
)

// errSettled is why calls end that are under way when their program ends (C5.1).
var errSettled = errors.New("run_code settled")

func newBridge(ctx context.Context, t *Transport, run registry.Run) *bridge {
	b := &bridge{t: t, run: run, outer: run.Execution(), drained: make(chan struct{})}
	b.scope, b.set = t.scopeOf(b.outer.Agent()), t.settings(b.outer.Agent())
	b.rootID, b.parentID = jsonvalue.String(b.outer.RootCallID()), jsonvalue.String(b.outer.CallID())
	b.changed.L, b.idle = &b.mu, true
	b.program, b.failProgram = context.WithCancelCause(ctx)
	b.calls, b.abortCalls = context.WithCancelCause(b.program)
	return b
}

// Log previews a console entry; the result repeats it.
func (b *bridge) Log(entry string) { b.run.Output([]byte(entry + "\n")) }

// Submit takes a call of the program and does not wait for it. Arguments that
// are not lossless JSON reject it, and then it takes no number and leaves no
// trace in the log (C4.2). Ids count submissions (C4.3).
func (b *bridge) Submit(_ context.Context, call runner.Call, settle func(runner.Reply)) {
	c := &subCall{Call: call, settle: settle}
	c.Args = nil // parsed already
	if err := jsonvalue.CheckLossless(c.Arguments); err != nil {
		c.reject(lossyArguments + ": " + err.Error())
		return
	}
	if reply, ours := b.lookup(c.Name, c.Arguments); ours {
		settle(reply)
		return
	}
	b.mu.Lock()
	over := b.ended()
	if !over {
		b.last++
		c.id = b.outer.CallID() + ":code:" + strconv.Itoa(b.last)
		if b.idle && len(b.queue) == 0 && len(b.flying) == 0 {
			b.begins = c
		}
		b.queue = append(b.queue, c)
		b.changed.Broadcast()
	}
	b.mu.Unlock()
	if over {
		c.reject(b.isOver(c.Name + " not dispatched"))
	}
}

// isOver is the message for what comes too late (C5.2).
func (b *bridge) isOver(what string) string { return "run_code run is over (" + b.over + "); " + what }

// ended reports whether no call is taken any more. The end of the program's
// context counts from the moment it comes, so that a call that it aborts is not
// reported to the program as a failure of its own. The caller holds b.mu.
func (b *bridge) ended() bool {
	if b.over == "" && b.program.Err() != nil {
		b.over = context.Cause(b.program).Error()
	}
	return b.over != ""
}

// close ends the taking of calls: what runs is aborted, what waits is abandoned.
// Only the first reason counts.
func (b *bridge) close(reason error) {
	b.mu.Lock()
	if b.over == "" {
		b.over = reason.Error()
	}
	b.changed.Broadcast()
	b.mu.Unlock()
	b.abortCalls(reason)
}

// drain closes the bridge and waits until the lane has committed everything that
// was started (C5.1). The error is the session log's.
func (b *bridge) drain() error {
	b.awaitBegin()
	b.close(errSettled)
	<-b.drained
	b.failProgram(nil)
	return b.logErr
}

// beginLimit is how long the end of a program waits for a call that is about to
// begin. Beginning takes microseconds, but policy may have to ask somebody.
const beginLimit = 20 * time.Millisecond

// awaitBegin lets a call begin that nothing was before, so that it does not
// depend on the scheduler whether the last call of a program that does not wait
// for it is run and aborted, or never seen.
func (b *bridge) awaitBegin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begins == nil {
		return
	}
	c := b.begins
	late := time.AfterFunc(beginLimit, func() { b.begun(c) })
	defer late.Stop()
	for !b.ended() && b.begins == c {
		b.changed.Wait()
	}
}

func (b *bridge) begun(c *subCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begins == c {
		b.begins = nil
		b.changed.Broadcast()
	}
}

// emit appends an event of the run. Without an agent there is no log, which is
// no error (rule C4.6). A log that cannot be written ends the run: nothing may
// happen that is not in it.
func (b *bridge) emit(eventType string, data jsonvalue.Value) bool {
	err := b.run.Emit(eventType, data)
	if err == nil || b.outer.Agent() == nil {
		return true
	}
	err = fmt.Errorf("the session log cannot be written: %w", err)
	b.mu.Lock()
	if b.logErr == nil {
		b.logErr = err
	}
	b.mu.Unlock()
	b.failProgram(err)
	b.close(err)
	return false
}
