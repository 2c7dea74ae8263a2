package worker

import (
	"fmt"

	"github.com/dop251/goja"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// toolset is the program's view of its tools: an object without prototype whose
// members cannot be replaced, and the calls under way (C4.1).
type toolset struct {
	e          *Engine
	names      []string
	object     *goja.Object
	errorClass *goja.Object
	// calls are the submitted calls without an outcome, by id. Those beyond
	// what the parent takes at once wait in line.
	calls map[uint32]*toolCall
	line  []*toolCall
	sent  int
	last  uint32
}

type toolCall struct {
	id              uint32
	tool            int
	stack           []goja.StackFrame
	args            []byte
	resolve, reject func(any) error
}

func newToolset(e *Engine, names []string) *toolset {
	t := &toolset{
		e: e, names: names, calls: map[uint32]*toolCall{},
		object: e.vm.CreateObject(nil), errorClass: e.intrinsics.toolCallError,
	}
	for i, name := range names {
		fn := e.vm.ToValue(func(call goja.FunctionCall) goja.Value { return t.call(i, call) }).(*goja.Object)
		_ = fn.DefineDataProperty("name", e.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		_ = t.object.DefineDataProperty(name, fn, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE)
	}
	return t
}

// call submits a call and returns its promise. Only the first argument counts;
// one that is not lossless JSON rejects here and takes no id (C4.2).
func (t *toolset) call(tool int, call goja.FunctionCall) goja.Value {
	promise, resolve, reject := t.e.vm.NewPromise()
	c := &toolCall{tool: tool, resolve: resolve, reject: reject, stack: t.e.programStack(8)}
	w := writer{e: t.e, limit: t.e.run.MaxFrame}
	w.whole(call.Argument(0))
	if w.lossy != "" || w.tooLong {
		message, detail := "binding arguments must be lossless JSON", w.describe("the argument")
		if w.tooLong {
			message, detail = fmt.Sprintf("binding arguments exceed %d bytes", w.limit), ""
		}
		_ = reject(t.failure(c, message, detail))
		return t.e.vm.ToValue(promise)
	}
	t.last++
	c.id, c.args = t.last, w.out
	t.calls[c.id] = c
	t.line = append(t.line, c)
	// The first goes at once, so that the tool works while the program goes on
	// computing; those that come while it does go together. A parent that is gone
	// is noticed when the program waits.
	t.e.guard.pause()
	_ = t.flush()
	if t.sent == 1 {
		_ = t.e.conn.Flush()
	}
	t.e.guard.resume()
	return t.e.vm.ToValue(promise)
}

// open is how many calls have no outcome yet.
func (t *toolset) open() int { return len(t.calls) }

// flush hands waiting calls to the connection, as many as the parent takes.
func (t *toolset) flush() error {
	n := 0
	for n < len(t.line) && t.sent < int(t.e.run.Pending) {
		c := t.line[n]
		m := wire.Call{ID: c.id, Tool: uint32(c.tool), At: c.position(), Args: c.args}
		if err := t.e.conn.Hold(wire.KindCall, m.Append(nil)); err != nil {
			return err
		}
		c.args = nil
		t.sent++
		n++
	}
	t.line = t.line[n:]
	if len(t.line) == 0 {
		t.line = nil
	}
	return nil
}

// settle resolves or rejects a call's promise; what waits for it runs before it
// returns. Errors are those that end the program.
func (t *toolset) settle(m *wire.Settle) error {
	c := t.calls[m.ID]
	if c == nil {
		return nil
	}
	delete(t.calls, m.ID)
	t.sent--
	if !m.OK {
		return c.reject(t.failure(c, string(m.Payload), ""))
	}
	value, err := t.e.build(m.Payload)
	if err != nil {
		if s := t.e.interrupted.Load(); s != nil {
			return nil // the loop sees it
		}
		return c.reject(t.failure(c, "binding resolution must be lossless JSON", err.Error()))
	}
	return c.resolve(value)
}

// failure makes the ToolCallError of a call, with the stack of who called.
func (t *toolset) failure(c *toolCall, message, detail string) goja.Value {
	vm := t.e.vm
	object, err := vm.New(t.errorClass, vm.ToValue(t.names[c.tool]), vm.ToValue(message))
	if err != nil {
		return vm.NewGoError(err)
	}
	_ = object.DefineDataProperty("stack", vm.ToValue("ToolCallError: "+message+"\n"+printStack(c.stack)),
		goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	t.e.rejections.remember(object, detail)
	return object
}

// pending lists the calls without an outcome at the program's end.
func (t *toolset) pending() []wire.Pending {
	var out []wire.Pending
	for id := uint32(1); id <= t.last && len(out) < len(t.calls); id++ {
		if c := t.calls[id]; c != nil {
			out = append(out, wire.Pending{Tool: uint32(c.tool), At: c.position()})
		}
	}
	return out
}

func (c *toolCall) position() wire.Position {
	for i := range c.stack {
		if at, ok := position(&c.stack[i]); ok {
			return at
		}
	}
	return wire.Position{}
}
