package worker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
)

// sourcefile is the name the source map gives the model's text.
const sourcefile = "code.ts"

// position is where a frame is in the model's text, if it is in there at all.
func position(f *goja.StackFrame) (wire.Position, bool) {
	p := f.Position()
	if p.Filename != sourcefile || p.Line < 1 || p.Column < 0 {
		return wire.Position{}, false
	}
	return wire.Position{Line: uint32(p.Line), Column: uint32(p.Column)}, true
}

// programStack is the current stack, up to depth frames deep.
func (e *Engine) programStack(depth int) []goja.StackFrame {
	return e.vm.CaptureCallStack(depth, make([]goja.StackFrame, 0, depth+1))
}

// frames are the frames of a stack that are the program's own.
func frames(stack []goja.StackFrame) []wire.Frame {
	var out []wire.Frame
	for i := range stack {
		if len(out) == maxStackShown {
			break
		}
		if at, ok := position(&stack[i]); ok {
			out = append(out, wire.Frame{Function: functionName(stack[i].FuncName()), At: at})
		}
	}
	return out
}

func functionName(name string) string {
	if strings.HasPrefix(name, "<") || strings.HasPrefix(name, "$") {
		return ""
	}
	return clip(name, 80)
}

// printStack is a stack as the text of an error's stack property.
func printStack(stack []goja.StackFrame) string {
	var b strings.Builder
	for _, f := range frames(stack) {
		if f.Function == "" {
			fmt.Fprintf(&b, "\tat %s:%d:%d\n", sourcefile, f.At.Line, f.At.Column)
		} else {
			fmt.Fprintf(&b, "\tat %s (%s:%d:%d)\n", f.Function, sourcefile, f.At.Line, f.At.Column)
		}
	}
	return b.String()
}

// stackLine is one line of a stack property, goja's or ours.
var stackLine = lazyregexp.New(`at (?:(\S[^()\n]*) \()?code\.ts:(\d+):(\d+)(?:\(\d+\))?`)

// noCallback is what a function of the engine says of an argument that is to be
// a function, and nativeTop the stack of an error made in one.
var (
	noCallback = lazyregexp.New(`^TypeError: Value is not (?:an object|callable): (.{1,80})$`)
	nativeTop  = lazyregexp.New(`^.*\n\s+at [^\n]*\(native\)\n`)
)

// framesOfText reads the program's frames off a stack property.
func framesOfText(stack string) []wire.Frame {
	var out []wire.Frame
	for _, m := range stackLine.FindAllStringSubmatch(clip(stack, 64<<10), maxStackShown) {
		line, err1 := strconv.ParseUint(m[2], 10, 31)
		column, err2 := strconv.ParseUint(m[3], 10, 31)
		if err1 == nil && err2 == nil && line > 0 {
			out = append(out, wire.Frame{
				Function: functionName(m[1]),
				At:       wire.Position{Line: uint32(line), Column: uint32(column)},
			})
		}
	}
	return out
}

// failed makes the outcome of a program from an error of the VM.
func (e *Engine) failed(err error) *wire.Done {
	switch err := err.(type) {
	case *goja.InterruptedError:
		if s := e.interrupted.Load(); s != nil {
			return e.stopped(s, err.Stack())
		}
		return &wire.Done{Status: wire.StatusAbort, Message: "interrupted"}
	case *goja.StackOverflowError:
		return &wire.Done{
			Status:  wire.StatusException,
			Message: "RangeError: Maximum call stack size exceeded",
			Detail:  fmt.Sprintf("more than %d calls are open at once: a recursion does not end; a program cannot catch this", maxCallDepth),
			Stack:   frames(err.Stack()),
		}
	case *goja.Exception:
		return e.thrown(err.Value(), err)
	}
	return &wire.Done{Status: wire.StatusException, Message: err.Error()}
}

// stopped makes the outcome of a program that was interrupted.
func (e *Engine) stopped(s *stop, stack []goja.StackFrame) *wire.Done {
	return &wire.Done{Status: s.status, Message: s.message, Stack: frames(stack)}
}

// recovered makes the outcome of a program that made the engine panic.
func (e *Engine) recovered(p any) *wire.Done {
	if s := e.interrupted.Load(); s != nil {
		return e.stopped(s, nil)
	}
	if err, ok := p.(error); ok {
		switch err.(type) {
		case *goja.InterruptedError, *goja.StackOverflowError, *goja.Exception:
			return e.failed(err)
		}
	}
	if v, ok := p.(goja.Value); ok {
		return e.thrown(v, nil)
	}
	return &wire.Done{
		Status: wire.StatusException, Message: clip(fmt.Sprintf("Error: the engine cannot do this: %v", p), 500),
	}
}

// thrown makes the outcome of a program that threw a value: for an Error its
// name and message, else its string form (C6.3).
func (e *Engine) thrown(v goja.Value, ex *goja.Exception) *wire.Done {
	done := &wire.Done{Status: wire.StatusException, Message: "program threw an unrenderable value"}
	if ex != nil {
		done.Stack = frames(ex.Stack())
	}
	err := e.vm.Try(func() {
		o, ok := v.(*goja.Object)
		if !ok {
			if v == nil {
				v = goja.Undefined()
			}
			done.Message = v.String()
			return
		}
		if o.ClassName() != "Error" {
			done.Message = o.String()
			if strings.HasPrefix(done.Message, "[object ") {
				done.Detail = "thrown value: " + clip(e.console.inspect(v), 2000)
			}
			return
		}
		done.Message = o.Get("message").String()
		stack, ok := o.Get("stack").(goja.String)
		if !ok {
			return
		}
		name := "Error"
		if n := o.Get("name"); n != nil && !goja.IsUndefined(n) {
			name = n.String()
		}
		switch {
		case name == "":
		case done.Message == "":
			done.Message = name
		default:
			done.Message = name + ": " + done.Message
		}
		text := stack.String()
		if at := framesOfText(text); len(at) > 0 {
			done.Stack = at
		}
		if m := noCallback.FindStringSubmatch(done.Message); m != nil && nativeTop.MatchString(text) {
			// Not what was called, but what it was to call.
			done.Message = "TypeError: " + m[1] + " is not a function"
		}
		done.Detail = e.rejections.detail(o)
		if errs, ok := o.Get("errors").(*goja.Object); ok && errs.ClassName() == "Array" {
			done.Detail = join(done.Detail, "[errors]: "+clip(e.console.inspect(errs), 2000))
		}
		if cause := o.Get("cause"); cause != nil && !goja.IsUndefined(cause) {
			done.Detail = join(done.Detail, "[cause]: "+clip(e.console.inspect(cause), 2000))
		}
	})
	if s := e.interrupted.Load(); s != nil {
		return e.stopped(s, nil)
	}
	if err != nil {
		done.Message = "program threw an unrenderable value"
	}
	done.Message = clip(done.Message, 1<<20)
	return done
}

// deadlock makes the outcome of a program that waits for nothing that could
// come: no call, no timer, no job is left.
func (e *Engine) deadlock() *wire.Done {
	done := &wire.Done{
		Status:  wire.StatusDeadlock,
		Message: "the program waits on a promise that nothing can resolve",
		Detail:  "no tool call and no timer is pending, so it would wait forever",
	}
	done.Stack = e.awaits.waiting()
	return done
}

func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n")
}
