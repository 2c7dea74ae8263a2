package worker

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// maxCallDepth is how many JavaScript frames may be open, near what V8 allows.
// Unwinding through native calls is quadratic in it, so more would let a
// program burn seconds after its own end.
const maxCallDepth = 10_000

// maxStackShown is how many frames of a stack are reported.
const maxStackShown = 10

// Engine is one VM, prepared before its program is known. It runs one program.
type Engine struct {
	conn Conn
	vm   *goja.Runtime
	// ended is called by the watchdog when a program does not stop; a process
	// leaves here, an engine inside another process can only be abandoned.
	ended func(code int)
	guard guard

	intrinsics intrinsics
	run        *wire.Run
	tools      *toolset
	timers     timers
	rejections rejections
	awaits     awaitTracker
	console    console

	interrupted atomic.Pointer[stop]
	finished    sync.Once
	doneErr     error
	start       time.Time
}

// stop is why a program is interrupted.
type stop struct {
	status  wire.Status
	message string
}

// NewEngine prepares a VM: globals and shims are in place, no program yet.
// ended, if not nil, is called with an exit code when a program had to be ended
// from beside it and Done has been sent.
func NewEngine(conn Conn, ended func(code int)) (*Engine, error) {
	e := &Engine{conn: conn, vm: goja.New(), ended: ended, start: time.Now()}
	e.vm.SetMaxCallStackSize(maxCallDepth)
	e.vm.SetParserOptions(parser.WithDisableSourceMaps) // for eval and Function: no file may be read
	e.console.emit = e.log
	if err := e.prepare(); err != nil {
		return nil, fmt.Errorf("prepare the Code Mode engine: %w", err)
	}
	return e, nil
}

// Serve says Ready, runs the one program it is sent, and says how it ended. It
// returns an error when the parent is gone or does not follow the protocol.
func (e *Engine) Serve() error {
	if err := e.conn.Send(wire.KindReady, []byte(wire.Version)); err != nil {
		return err
	}
	kind, payload, err := e.conn.Recv(time.Time{})
	if err != nil {
		return err
	}
	if kind == wire.KindCancel {
		return e.finish(&wire.Done{Status: wire.StatusAbort, Message: string(payload)})
	}
	if kind != wire.KindRun {
		return fmt.Errorf("%w: %s before run", wire.ErrMalformed, kind)
	}
	run, err := wire.DecodeRun(payload)
	if err != nil {
		return err
	}
	return e.finish(e.execute(run))
}

// Interrupt stops the program at its next instruction. It may be called from
// any goroutine; only the first call counts.
func (e *Engine) Interrupt(reason string) {
	e.stop(stop{status: wire.StatusAbort, message: reason})
}

func (e *Engine) stop(s stop) {
	if e.interrupted.CompareAndSwap(nil, &s) {
		e.vm.Interrupt(&s)
	}
}

// finish sends Done once, whoever comes first: the program's end, or the
// watchdog that gave up on it.
func (e *Engine) finish(d *wire.Done) error {
	e.finished.Do(func() {
		d.Busy = e.guard.busy()
		e.doneErr = e.conn.Send(wire.KindDone, d.Append(nil))
	})
	return e.doneErr
}

// execute runs the program to its end. It does not panic: what goja throws
// past its own API is reported as an exception of the program.
func (e *Engine) execute(run *wire.Run) (done *wire.Done) {
	e.run = run
	if e.ended != nil {
		// The kernel's own limit on CPU time is the last resort: all cores may
		// have collected garbage for as long as the program ran.
		limitRun(run.Memory, uint64(run.Compute/time.Second+1)*uint64(runtime.NumCPU())+5)
	}
	e.guard.begin(e)
	defer e.guard.end()
	defer func() {
		if p := recover(); p != nil {
			done = e.recovered(p)
		}
	}()
	e.guard.resume()
	program, err := e.compile(run)
	if err != nil {
		return &wire.Done{Status: wire.StatusException, Message: "SyntaxError: " + err.Error()}
	}
	e.tools = newToolset(e, run.Tools)
	promise, failure := e.call(program)
	if failure != nil {
		return failure
	}
	for promise.State() == goja.PromiseStatePending || e.interrupted.Load() != nil {
		if failure := e.step(); failure != nil {
			return failure
		}
	}
	return e.settle(promise)
}

// call evaluates the script and calls the function it makes.
func (e *Engine) call(program *goja.Program) (*goja.Promise, *wire.Done) {
	value, err := e.vm.RunProgram(program)
	if err != nil {
		return nil, e.failed(err)
	}
	main, ok := goja.AssertFunction(value)
	if !ok {
		return nil, &wire.Done{Status: wire.StatusException, Message: "SyntaxError: the program is not a function body"}
	}
	result, err := main(goja.Undefined(), e.tools.object, e.tools.errorClass, e.console.object)
	if err != nil {
		return nil, e.failed(err)
	}
	promise, ok := result.Export().(*goja.Promise)
	if !ok {
		return nil, &wire.Done{Status: wire.StatusException, Message: "SyntaxError: the program is not an async function body"}
	}
	return promise, nil
}

// step lets the program go on with the next thing that happens: a call's
// outcome, a timer, a cancellation. Without any to come it is stuck.
func (e *Engine) step() *wire.Done {
	if s := e.interrupted.Load(); s != nil {
		return e.stopped(s, nil)
	}
	if err := e.tools.flush(); err != nil {
		return e.parentGone(err)
	}
	deadline, timer := e.timers.next()
	if !timer && e.tools.open() == 0 {
		return e.deadlock()
	}
	e.guard.pause()
	kind, payload, err := e.conn.Recv(deadline)
	e.guard.resume()
	switch {
	case errors.Is(err, ErrDeadline):
		err := e.timers.fire(e.vm)
		if err != nil {
			return e.failed(err)
		}
		return nil
	case err != nil:
		return e.parentGone(err)
	case kind == wire.KindCancel:
		return &wire.Done{Status: wire.StatusAbort, Message: string(payload)}
	case kind == wire.KindSettle:
		settle, err := wire.DecodeSettle(payload)
		if err != nil {
			return e.parentGone(err)
		}
		if err := e.tools.settle(settle); err != nil {
			return e.failed(err)
		}
		return nil
	}
	return e.parentGone(fmt.Errorf("%w: %s while running", wire.ErrMalformed, kind))
}

// settle makes the outcome of a program that has ended by itself.
func (e *Engine) settle(promise *goja.Promise) *wire.Done {
	if promise.State() == goja.PromiseStateRejected {
		e.rejections.forget(promise)
		return e.thrown(promise.Result(), nil)
	}
	done := &wire.Done{Status: wire.StatusOK, Pending: e.tools.pending()}
	if reason, ok := e.rejections.first(); ok {
		done := e.thrown(reason, nil)
		done.Detail = join("the promise that failed was never awaited, and nothing handled its rejection", done.Detail)
		return done
	}
	result := promise.Result()
	if goja.IsUndefined(result) {
		return done
	}
	// Getters and proxies of the result run program code once more.
	w := writer{e: e, limit: e.run.MaxOutput}
	err := e.vm.Try(func() { w.whole(result) })
	switch {
	case e.interrupted.Load() != nil:
		return e.stopped(e.interrupted.Load(), nil)
	case err != nil:
		return e.thrown(err.Value(), err)
	case w.tooLong:
		return &wire.Done{Status: wire.StatusOutput, Pending: done.Pending}
	case w.lossy != "":
		return &wire.Done{
			Status: wire.StatusInvalidOutput, Message: "program completion must be lossless JSON",
			Detail: w.describe("the returned value"), Pending: done.Pending,
		}
	}
	done.Value = w.out
	return done
}

// compile parses the script with its source map and corrects it (see rewrite).
func (e *Engine) compile(run *wire.Run) (*goja.Program, error) {
	source := string(run.Source)
	load := parser.WithDisableSourceMaps
	if len(run.SourceMap) > 0 {
		source += "\n//# sourceMappingURL=code.map"
		load = parser.WithSourceMapLoader(func(string) ([]byte, error) { return run.SourceMap, nil })
	}
	tree, err := goja.Parse("program.js", source, load)
	if err != nil {
		return nil, err
	}
	if !oneFunction(tree) {
		return nil, errEscape
	}
	rewrite(tree, run.Tools)
	growTexts(tree, func(name string) bool { return e.vm.GlobalObject().Get(name) != nil })
	return goja.CompileAST(tree, true)
}

var errEscape = errors.New("the program closes a brace that it did not open")

// oneFunction says whether a script is what the parent wraps a program in: the
// compiler's helpers, all variables, and one function. A program that closed
// the wrapper's brace and opened another would be more.
func oneFunction(tree *ast.Program) bool {
	last := len(tree.Body) - 1
	for i, s := range tree.Body {
		switch s := s.(type) {
		case *ast.VariableStatement:
			if i == last {
				return false
			}
		case *ast.ExpressionStatement:
			f, ok := s.Expression.(*ast.FunctionLiteral)
			if !ok || !f.Async || i != last {
				return false
			}
		default:
			return false
		}
	}
	return last >= 0
}

// log sends one console entry. An entry beyond what the parent keeps is cut: it
// is over the limit either way.
func (e *Engine) log(text string) {
	if limit := e.run.MaxOutput; uint64(len(text)) > limit {
		text = text[:limit]
	}
	e.guard.pause()
	_ = e.conn.Send(wire.KindLog, []byte(text))
	e.guard.resume()
}

// now is the time since the engine was made, in milliseconds.
func (e *Engine) now() float64 {
	return math.Round(float64(time.Since(e.start).Nanoseconds())/1e3) / 1e3
}

func (e *Engine) parentGone(err error) *wire.Done {
	return &wire.Done{Status: wire.StatusAbort, Message: "the parent does not answer: " + err.Error()}
}
