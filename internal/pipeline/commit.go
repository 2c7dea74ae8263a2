package pipeline

import (
	"context"
	"errors"
	"log/slog"

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Commit makes the result final: post-execute listeners, the tool's finaliser,
// the last check, observers (stages 8 to 10). A call that was not dispatched is
// dispatched first. Committing again returns the same result (rules R5.28 to R5.36).
func (pd *Pending) Commit() *Result {
	if pd.final != nil {
		return pd.final
	}
	pd.Dispatch()
	r := pd.outcome
	if r == nil {
		r = failed(errors.New(`the body of tool "` + pd.exec.Name() + `" ended without returning`))
		pd.skipPost = true
	}
	if !pd.skipPost {
		r = pd.postExecute(r)
		if !r.IsError() && pd.ctx.Err() != nil { // rule R5.33
			if pd.wasInvoked() {
				r = aborted(r.Contexts())
			} else {
				r = abortedBefore.WithContexts(r.Contexts()...)
			}
		}
	}
	r = pd.finalise(r)
	pd.final = r
	pd.notify(r)
	return r
}

func (pd *Pending) wasInvoked() bool {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	return pd.invoked
}

func (pd *Pending) postExecute(r *Result) *Result {
	fs := pd.p.post.For(pd.scope)
	if len(fs) == 0 {
		return r
	}
	d, err := pd.p.runPost(pd.ctx, pd.exec, r, fs)
	if err == nil {
		r, err = pd.apply(r, d)
	}
	if err != nil {
		return failed(err) // rule R5.32
	}
	return r
}

func (p *Pipeline) runPost(ctx context.Context, exec *registry.Execution, r *Result, fs []PostFunc) (d PostDecision, err error) {
	if len(fs) == 0 {
		return Accept(), nil
	}
	defer func() {
		if v := recover(); v != nil {
			d, err = PostDecision{}, p.panicked("a tools/post-execute listener", exec.Name(), v)
		}
	}()
	return fs[0](ctx, exec, r, func(ctx context.Context) (PostDecision, error) { return p.runPost(ctx, exec, r, fs[1:]) })
}

// apply makes the decision's change. Contexts keep the order body, wrapper,
// decision; a block drops the first two (rules R5.29 to R5.31).
func (pd *Pending) apply(r *Result, d PostDecision) (*Result, error) {
	switch d.kind {
	case postBlock:
		info := registry.ErrorInfo{Message: registry.FeedbackMessage(d.content)}
		return registry.FailureContent(info, d.content).WithContexts(d.contexts...), nil
	case postAccept:
	default:
		return nil, errPostKind
	}
	switch {
	case d.hasContent && !d.value.IsUndefined():
		return nil, errPostBoth
	case d.hasContent:
		r = r.WithContent(d.content)
	case d.value.IsUndefined():
	case r.IsError():
		return nil, errPostValue
	default:
		tool, _ := pd.scope.Resolve(pd.exec.Name(), pd.exec.Nested())
		if tool == nil {
			tool = pd.tool // it ran, and was removed meanwhile
		}
		if tool == nil {
			return nil, unknownTool(pd.exec.Name())
		}
		r = pd.complete(tool, d.value, r.Contexts(), r.ConcludesTurn())
	}
	if len(d.contexts) > 0 {
		r = r.WithContexts(d.contexts...)
	}
	return r, nil
}

var errLossyResult = errors.New("tool result must be losslessly JSON-serializable")

// finalise lets the tool have the last word on the content, once, whatever the
// outcome, and checks that the log can take the result (rules R5.34, R5.35).
func (pd *Pending) finalise(r *Result) *Result {
	if pd.finalizer != nil {
		blocks, err := pd.finalizer.FinalizeContent(pd.exec, r)
		switch {
		case err != nil:
			return failed(err)
		case blocks != nil:
			r = r.WithContent(blocks)
		}
	}
	if err := r.CheckLossless(); err != nil {
		pd.p.log.Warn("a tool result is not lossless JSON", "tool", pd.exec.Name(), "err", err)
		return failed(errLossyResult)
	}
	return r
}

// notify shows the result to the observers, each on its own (rule R5.36).
func (pd *Pending) notify(r *Result) {
	for _, f := range pd.p.observe.For(pd.scope) {
		pd.notifyOne(f, r)
	}
	if pd.p.log.Enabled(pd.ctx, slog.LevelDebug) {
		info := r.ErrorInfo()
		pd.p.log.Debug("tool call", "tool", pd.exec.Name(), "call", pd.exec.CallID(), "nested", pd.exec.Nested(),
			"failed", r.IsError(), "code", info.Code)
	}
}

func (pd *Pending) notifyOne(f ObserverFunc, r *Result) {
	defer func() {
		if v := recover(); v != nil {
			pd.p.log.Warn("a tools/result observer panicked", "tool", pd.exec.Name(), "panic", printed(v))
		}
	}()
	f(pd.exec, r)
}
