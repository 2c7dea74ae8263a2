package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Dispatch runs the wrappers and the body (stages 6 and 7) unless the call is
// settled already. It returns when every body that was started has ended. It
// may run beside the Dispatch of other calls, once for each call (rules R5.19 to R5.27).
func (pd *Pending) Dispatch() {
	if pd.done {
		return
	}
	defer func() {
		// A body that ends its goroutine leaves no outcome; Commit says so.
		pd.close()
		pd.done = true
		// From here on nothing may be nested in this call (decision 6).
		pd.p.reg.End(pd.exec)
	}()
	if pd.outcome != nil {
		return
	}
	fs := pd.p.around.For(pd.scope)
	var r *Result
	var err error
	if t := pd.tool; pd.p.timeouts && t != nil && t.Timeout() > 0 {
		r, err = withTimeout(pd.ctx, t.Timeout(), func(ctx context.Context) (*Result, error) { return pd.runAround(ctx, fs) })
	} else {
		r, err = pd.runAround(pd.ctx, fs)
	}
	pd.close()
	if err == nil {
		r, err = pd.normalise(r)
	}
	if err != nil {
		pd.settle(failed(err), true) // rule R5.22
		return
	}
	pd.settle(r, false)
}

// close ends the dispatch: a wrapper that kept its next can do nothing with it
// any more, and bodies under way are waited for (rules R5.27, R8.1).
func (pd *Pending) close() {
	pd.mu.Lock()
	pd.closed = true
	pd.mu.Unlock()
	pd.bodies.Wait()
}

// runAround nests the wrappers like onions around the body (rule R5.19).
func (pd *Pending) runAround(ctx context.Context, fs []ExecFunc) (r *Result, err error) {
	if len(fs) == 0 {
		return pd.body(ctx), nil
	}
	defer func() {
		if v := recover(); v != nil {
			r, err = nil, pd.p.panicked("a tools/execute wrapper", pd.exec.Name(), v)
		}
	}()
	return fs[0](ctx, pd.exec, func(ctx context.Context) (*Result, error) {
		r, err := pd.runAround(ctx, fs[1:])
		if err == nil {
			// The wrapper outside sees what will count, not what was claimed.
			r, err = pd.normalise(r)
		}
		return r, err
	})
}

var errMalformedResult = errors.New("tools/execute must return a ToolExecutionResult with content[] and boolean isError")

// normalise makes a wrapper's answer trustworthy: what this dispatch made
// passes, a failure is copied, and a success is validated and rendered from its
// value (rule R5.21).
func (pd *Pending) normalise(r *Result) (*Result, error) {
	switch {
	case r == nil:
		return nil, errMalformedResult
	case pd.isMinted(r):
		return r, nil
	}
	spec := r.Spec()
	if spec.IsError {
		return pd.mint(registry.NewResult(registry.ResultSpec{
			IsError: true, Error: spec.Error, Content: spec.Content, Contexts: spec.Contexts,
		})), nil
	}
	tool, _ := pd.scope.Resolve(pd.exec.Name(), pd.exec.Nested())
	if tool == nil {
		return pd.mint(failed(unknownTool(pd.exec.Name()))), nil
	}
	// A native call may be answered with content alone. A program needs the
	// value, so a nested call may not.
	if spec.Value.IsUndefined() && spec.Content != nil && !pd.exec.Nested() {
		return pd.mint(registry.NewResult(registry.ResultSpec{
			Content: spec.Content, Contexts: spec.Contexts, ConcludesTurn: spec.ConcludesTurn,
		})), nil
	}
	return pd.mint(pd.complete(tool, spec.Value, spec.Contexts, spec.ConcludesTurn)), nil
}

func (pd *Pending) mint(r *Result) *Result {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.minted != nil {
		pd.earlier = append(pd.earlier, pd.minted)
	}
	pd.minted = r
	return r
}

func (pd *Pending) isMinted(r *Result) bool {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	return r == pd.minted || slices.Contains(pd.earlier, r)
}

// body is the core of the onion: it joins the caller's context again, resolves
// the tool, validates the arguments, and runs it (rules R5.19 to R5.27).
func (pd *Pending) body(wrapped context.Context) *Result {
	if !pd.enter() {
		return abortedBefore
	}
	defer pd.bodies.Done()
	ctx, release := fuse(pd.ctx, wrapped)
	defer release()
	if ctx.Err() != nil || pd.ctx.Err() != nil {
		return pd.mint(abortedBefore) // rule R5.20
	}
	tool, _ := pd.scope.Resolve(pd.exec.Name(), pd.exec.Nested())
	if err := runnable(tool, pd.exec); err != nil {
		return pd.mint(failed(err))
	}
	args := pd.exec.Arguments()
	pd.mu.Lock()
	pd.invoked = true
	pd.mu.Unlock()
	pd.announceRunning()
	run := &run{pd: pd}
	value, err := pd.execute(ctx, tool, args, run)
	contexts, concludes := run.end()
	over := ctx.Err() != nil || pd.ctx.Err() != nil
	if err != nil {
		if over && isCancellation(ctx, err) {
			return pd.mint(aborted(contexts))
		}
		return pd.mint(failed(err).WithContexts(contexts...)) // a failure of the tool's own stands
	}
	r := pd.complete(tool, value, contexts, concludes)
	if !r.IsError() && (over || ctx.Err() != nil || pd.ctx.Err() != nil) {
		r = aborted(contexts) // rule R5.27
	}
	return pd.mint(r)
}

// runnable says why a call cannot run: there is no such tool (rule R5.23), or its
// arguments do not fit.
func runnable(tool *registry.Tool, exec *registry.Execution) error {
	if tool == nil {
		return unknownTool(exec.Name())
	}
	if wrong := tool.ValidateArgs(exec.Arguments()); len(wrong) > 0 {
		return NewError("ToolArgsError", CodeInvalidArgs, "invalid arguments: "+strings.Join(wrong, "; "))
	}
	return nil
}

func (pd *Pending) enter() bool {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.closed {
		return false
	}
	pd.bodies.Add(1)
	return true
}

func (pd *Pending) announceRunning() {
	if pd.call.OnRunning == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			_ = pd.p.panicked("the running announcement", pd.exec.Name(), v) // logged; the call goes on
		}
	}()
	pd.call.OnRunning(pd.exec)
}

func (pd *Pending) execute(ctx context.Context, tool *registry.Tool, args jsonvalue.Value, run *run) (value jsonvalue.Value, err error) {
	defer func() {
		if v := recover(); v != nil {
			value, err = jsonvalue.Value{}, pd.p.panicked("the body", pd.exec.Name(), v)
		}
	}()
	return tool.Execute(ctx, args, run)
}

// complete makes a success from a value: lossless, valid, rendered, and for a
// call of the model with presentation meta (rules R5.25, R5.26).
func (pd *Pending) complete(tool *registry.Tool, value jsonvalue.Value, contexts []registry.Context, concludes bool) *Result {
	args := pd.exec.Arguments()
	invalid := func(what string) *Result {
		return failed(invalidOutput(pd.exec.Name(), what)).WithContexts(contexts...)
	}
	if jsonvalue.CheckLossless(value) != nil {
		return invalid("value is not lossless JSON")
	}
	if wrong := tool.ValidateOutput(value); len(wrong) > 0 {
		return invalid(strings.Join(wrong, "; "))
	}
	blocks, err := tool.Render(args, value)
	if err != nil {
		return invalid("output.render failed: " + infoOf(err).Message)
	}
	for _, b := range blocks {
		if jsonvalue.CheckLossless(b.Value()) != nil {
			return invalid("output.render returned non-lossless JSON")
		}
	}
	spec := registry.ResultSpec{Content: blocks, Value: value, Contexts: contexts, ConcludesTurn: concludes}
	if !pd.exec.Nested() {
		if spec.Meta, err = tool.PresentationMeta(args, value); err != nil {
			return invalid("output.presentationMeta failed: " + infoOf(err).Message)
		}
		if !spec.Meta.IsUndefined() && jsonvalue.CheckLossless(spec.Meta) != nil {
			return invalid("output.presentationMeta returned non-lossless JSON")
		}
	}
	return registry.NewResult(spec)
}
