package codemode

import (
	"context"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// lane starts calls in the order of their submission and commits them in the
// same order, one thing at a time (rule C4.7). It ends when the run is over and
// nothing that was started is left.
func (b *bridge) lane() {
	defer close(b.drained)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = false
	for {
		switch {
		case len(b.flying) > 0 && b.flying[0].ended:
			c := b.flying[0]
			b.flying = b.flying[1:]
			b.unlocked(func() { b.commit(c) })
		case b.ended() && len(b.queue) > 0:
			c := b.take()
			b.unlocked(func() {
				b.lose(c)
				c.reject(b.isOver(c.Name + " tool call abandoned"))
			})
		case b.ended() && len(b.flying) == 0:
			return
		case !b.ended() && len(b.queue) > 0 && b.room():
			c := b.take()
			alone := len(b.flying) == 0
			b.unlocked(func() { b.start(c, alone) })
		default:
			b.idle = true
			b.changed.Wait()
			b.idle = false
		}
	}
}

func (b *bridge) unlocked(f func()) {
	b.mu.Unlock()
	defer b.mu.Lock()
	f()
}

func (b *bridge) take() *subCall {
	c := b.queue[0]
	b.queue[0] = nil
	if b.queue = b.queue[1:]; len(b.queue) == 0 {
		b.queue = nil
	}
	return c
}

// room reports whether the next call may start: always into an empty lane; beside
// others only if it may overlap, which is asked anew at each attempt, and while
// there are fewer bodies than may run at once.
func (b *bridge) room() bool {
	if len(b.flying) == 0 {
		return true
	}
	return b.running < b.set.MaxParallelCalls && b.t.pipeline.Classify(b.call(b.queue[0]))
}

func (b *bridge) call(c *subCall) pipeline.Call {
	return pipeline.Call{
		ID: c.id, Name: c.Name, Arguments: c.Arguments, Agent: b.outer.Agent(), Parent: b.outer.Token(),
		OnRunning: func(*registry.Execution) {
			b.begun(c)
			b.emit(typeToolStart, jsonvalue.Object(member("callId", jsonvalue.String(c.id))))
		},
		Emit:   b.run.Emit,
		Output: b.outputOf(c),
	}
}

// start announces a call and takes it through policy; then its body runs, here or,
// when it may overlap, beside the lane.
func (b *bridge) start(c *subCall, alone bool) {
	if !b.emit(typeDispatchStart, jsonvalue.Object(b.members(c)...)) {
		b.begun(c)
		c.reject(b.isOver(c.Name + " not dispatched"))
		return
	}
	call := b.call(c)
	beside := b.set.MaxParallelCalls > 1 && (!alone || b.t.pipeline.Classify(call))
	c.pending = b.t.pipeline.Prepare(context.WithValue(b.calls, callKey{}, c), call)
	switch {
	case c.pending.Settled() && !alone: // keeps its place
		c.pending.Dispatch() // ends its token; nothing runs
		b.mu.Lock()
		c.ended = true
		b.flying = append(b.flying, c)
		b.mu.Unlock()
	case c.pending.Settled() || !beside:
		c.pending.Dispatch()
		b.begun(c)
		b.commit(c)
	default:
		b.mu.Lock()
		b.flying = append(b.flying, c)
		b.running++
		b.mu.Unlock()
		go func() {
			defer func() { // also when the body ends its goroutine
				b.mu.Lock()
				c.ended = true
				b.running--
				if b.begins == c {
					b.begins = nil
				}
				b.changed.Broadcast()
				b.mu.Unlock()
			}()
			c.pending.Dispatch()
		}()
	}
}

// commit makes a result final, hands on what came with it, tells the program and
// logs it. The program is told first: it computes while the event is written.
func (b *bridge) commit(c *subCall) {
	r := c.pending.Commit()
	blocks := r.Content()
	if !r.IsError() && hasImage(blocks) {
		b.run.DeferContext(registry.Context{Content: blocks, Source: imageSource})
	}
	for _, x := range r.Contexts() {
		b.run.DeferContext(x)
	}
	if r.ConcludesTurn() {
		b.run.ConcludeTurn()
	}
	reply := b.reply(c, r)
	if aborted(r) {
		b.lose(c)
	}
	c.settle(reply)
	members := append(b.members(c),
		member("isError", jsonvalue.Bool(r.IsError())), member("content", content.ToValue(b.logged(c.pending.Execution(), blocks))))
	if meta := b.presentationMeta(c, r); !meta.IsUndefined() {
		members = append(members, member("meta", meta))
	}
	b.emit(typeDispatch, jsonvalue.Object(members...))
}

func aborted(r *registry.Result) bool {
	return r.IsError() && (r.ErrorInfo().Code == pipeline.CodeAborted || r.ErrorInfo().Code == pipeline.CodeAbortedBeforeDispatch)
}

// lose remembers a call that the end of its program has cut short, if it was to
// change something: the model may take it for done.
func (b *bridge) lose(c *subCall) {
	b.mu.Lock()
	over := b.ended()
	b.mu.Unlock()
	if over && !b.t.pipeline.Classify(b.call(c)) {
		b.lost = append(b.lost, runner.Unawaited{Name: c.Name, Line: c.Line, SourceLine: c.SourceLine})
	}
}

// reply is what the program gets: the canonical value, not the content (C4.5),
// or the message of the failure (C4.4).
func (b *bridge) reply(c *subCall, r *registry.Result) runner.Reply {
	b.mu.Lock()
	over := b.ended()
	b.mu.Unlock()
	switch {
	case over:
		return runner.Reply{Failed: true, Message: b.isOver(c.Name + " result discarded")}
	case r.IsError():
		return runner.Reply{Failed: true, Message: r.ErrorInfo().Message}
	}
	// The value kept its literals on the way; a program would round them.
	if err := jsonvalue.CheckJavaScript(r.Value()); err != nil {
		return runner.Reply{Failed: true, Message: lossyValue + ": " + err.Error()}
	}
	return runner.Reply{Value: r.Value().JSON()}
}

// presentationMeta is what the result's card needs, for the log: the pipeline
// makes it for the model's own calls only (rule R5.26), and a program's calls
// look the same.
func (b *bridge) presentationMeta(c *subCall, r *registry.Result) jsonvalue.Value {
	if r.IsError() || r.Value().IsUndefined() {
		return jsonvalue.Value{}
	}
	tool, ok := b.scope.Get(c.Name)
	if !ok {
		return jsonvalue.Value{}
	}
	meta, err := tool.PresentationMeta(c.Arguments, r.Value())
	if err != nil || meta.IsUndefined() || jsonvalue.CheckLossless(meta) != nil {
		return jsonvalue.Value{}
	}
	return meta
}

// The events of a call that a program made (rule C4.8). The first is appended
// before policy sees the call, so that a question about it has something to
// refer to; every start is followed by exactly one end. They are never part of
// what the model reads.
const (
	typeDispatchStart = "tool/code-dispatch-start"
	typeDispatch      = "tool/code-dispatch"
	typeToolStart     = "tool/start"
)

// members are what both events say about a call.
func (b *bridge) members(c *subCall) []jsonvalue.Member {
	out := make([]jsonvalue.Member, 0, 10)
	out = append(out,
		member("rootCallId", b.rootID), member("parentCallId", b.parentID), member("subCallId", jsonvalue.String(c.id)),
		member("name", jsonvalue.String(c.Name)), member("arguments", c.Arguments))
	if c.Line > 0 {
		out = append(out,
			member("line", jsonvalue.Int(int64(c.Line))), member("column", jsonvalue.Int(int64(c.Column))))
	}
	return out
}

func member(key string, v jsonvalue.Value) jsonvalue.Member {
	return jsonvalue.Member{Key: key, Value: v}
}

// imageSource marks the message by which the images of a program's calls reach
// the model.
var imageSource = jsonvalue.Object(
	member("kind", jsonvalue.String("plugin")), member("plugin", jsonvalue.String("tools-code-mode")))

func hasImage(blocks []content.Block) bool {
	return slices.ContainsFunc(blocks, func(b content.Block) bool { return b.Type() == "image" })
}
