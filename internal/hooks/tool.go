package hooks

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Install puts the hooks around the calls that scope sees: PreToolUse among
// those who decide before a call, PostToolUse behind its result. They end with
// the scope, or with dispose.
func (h *Hooks) Install(pipe *pipeline.Pipeline, scope *registry.Scope) (dispose func(), err error) {
	var undo []func()
	dispose = func() {
		for _, f := range undo {
			f()
		}
	}
	for _, add := range []func() (func(), error){
		func() (func(), error) { return pipe.OnPreExecute(scope, h.preExecute) },
		func() (func(), error) { return pipe.OnPostExecute(scope, h.postExecute) },
		func() (func(), error) { return pipe.OnResult(scope, h.result) },
	} {
		d, err := add()
		if err != nil {
			dispose()
			return nil, err
		}
		undo = append(undo, d)
	}
	return dispose, nil
}

// preExecute gives the stricter of the hooks' answer and that of the listeners
// behind. A hook that allows lifts nobody's question.
func (h *Hooks) preExecute(ctx context.Context, exec *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
	m, err := h.run(ctx, PreToolUse, h.toolInput(PreToolUse, exec))
	if err != nil && ctx.Err() != nil {
		return pipeline.Deny("tool call aborted before dispatch"), nil // in the words of every cancelled call
	}
	if err != nil {
		return pipeline.Decision{}, err
	}
	if m.kind == block {
		return pipeline.Deny(m.reason), nil
	}
	if len(m.contexts) > 0 {
		h.mu.Lock()
		h.pending[exec.Token()] = m.contexts
		h.mu.Unlock()
	}
	d, err := next(ctx)
	if err != nil || m.kind != ask || !d.IsAllow() {
		return d, err
	}
	return pipeline.Ask(m.reason), nil
}

// postExecute shows successful results to the hooks, as the listeners behind
// leave them.
func (h *Hooks) postExecute(ctx context.Context, exec *registry.Execution, r *pipeline.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
	before := h.take(exec)
	if r.IsError() || ctx.Err() != nil || h.Empty() {
		d, err := next(ctx)
		return d.WithContexts(before...), err
	}
	m, err := h.run(ctx, PostToolUse, h.toolInput(PostToolUse, exec,
		jsonvalue.Member{Key: "tool_response", Value: response(r)}))
	if err != nil {
		return pipeline.PostDecision{}, err
	}
	contexts := append(before, m.contexts...)
	if m.kind == block {
		return pipeline.Block(content.Text(m.reason)).WithContexts(contexts...), nil
	}
	d, err := next(ctx)
	return d.WithContexts(contexts...), err
}

// result forgets what was kept for a call that never came to its result.
func (h *Hooks) result(exec *registry.Execution, _ *pipeline.Result) { h.take(exec) }

// take gives the context that PreToolUse hooks added to a call.
func (h *Hooks) take(exec *registry.Execution) []registry.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	cs := h.pending[exec.Token()]
	delete(h.pending, exec.Token())
	return cs
}

// toolInput is the input of the points around a call. The tool has the name
// under which the group's matcher means it.
func (h *Hooks) toolInput(p Point, exec *registry.Execution, more ...jsonvalue.Member) func(matcher) ([]byte, bool) {
	inputs := map[string][]byte{}
	return func(m matcher) ([]byte, bool) {
		name, ok := m.matchTool(exec.Name())
		if !ok {
			return nil, false
		}
		if inputs[name] == nil {
			inputs[name] = h.input(p, append([]jsonvalue.Member{
				{Key: "tool_name", Value: jsonvalue.String(name)},
				{Key: "tool_input", Value: exec.Arguments()},
				{Key: "tool_use_id", Value: jsonvalue.String(exec.CallID())},
			}, more...)...)
		}
		return inputs[name], true
	}
}

// response is a result as hooks read it: its value, else its content.
func response(r *pipeline.Result) jsonvalue.Value {
	if v := r.Value(); !v.IsUndefined() {
		return bounded(v)
	}
	return bounded(content.ToValue(r.Content()))
}

// bounded replaces a value that is too large for a hook by its beginning.
func bounded(v jsonvalue.Value) jsonvalue.Value {
	text := v.JSON()
	if len(text) <= MaxInput {
		return v
	}
	return jsonvalue.Object(
		jsonvalue.Member{Key: "truncated", Value: jsonvalue.Bool(true)},
		jsonvalue.Member{Key: "bytes", Value: jsonvalue.Int(int64(len(text)))},
		jsonvalue.Member{Key: "beginning", Value: jsonvalue.String(clip(string(text), MaxInput/4))})
}
