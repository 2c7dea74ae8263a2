package hooks

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// PromptVerdict is what the hooks say about a prompt. The zero value lets it pass.
type PromptVerdict struct {
	Block  bool
	Reason string // of a block, never empty then
	// Failed says that the prompt is blocked because a hook gave no valid
	// answer, which is the hook's fault and not the prompt's.
	Failed   bool
	Contexts []registry.Context // for the model, behind the prompt
}

// PromptSubmit runs the hooks of a new turn before its prompt is logged: those
// of SessionStart, once in the life of h for each file, and those of UserPromptSubmit. An
// error is that of ctx or of the log.
func (h *Hooks) PromptSubmit(ctx context.Context, turn int64, prompt []content.Block) (PromptVerdict, error) {
	h.mu.Lock()
	h.turn, h.continues, h.halted = turn, 0, ""
	fresh := h.fresh
	h.mu.Unlock()
	var v PromptVerdict
	if len(fresh) > 0 {
		m, err := h.sessionStart(ctx, fresh)
		if err != nil {
			return PromptVerdict{}, err
		}
		h.mu.Lock()
		h.fresh = h.fresh[len(fresh):]
		h.mu.Unlock()
		v.Contexts = m.contexts
		if reason := h.halt(); m.halt {
			return PromptVerdict{Block: true, Reason: reason}, nil
		}
	}
	m, err := h.run(ctx, UserPromptSubmit, always(h.input(UserPromptSubmit,
		jsonvalue.Member{Key: "prompt", Value: jsonvalue.String(content.JoinText(prompt))})))
	if err != nil {
		return PromptVerdict{}, err
	}
	if m.kind == block {
		return PromptVerdict{Block: true, Reason: m.reason, Failed: m.failed}, nil
	}
	v.Contexts = append(v.Contexts, m.contexts...)
	return v, nil
}

func (h *Hooks) sessionStart(ctx context.Context, files []*File) (merged, error) {
	how := "startup"
	if h.opts.Resumed {
		how = "resume"
	}
	in := h.input(SessionStart, jsonvalue.Member{Key: "source", Value: jsonvalue.String(how)})
	return h.runOf(ctx, files, SessionStart, func(m matcher) ([]byte, bool) { return in, m.match(how) })
}

// halt is why the turn is to end; it is told once.
func (h *Hooks) halt() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	reason := h.halted
	h.halted = ""
	return reason
}

// AfterStep reports whether a hook stopped the turn during the step that is
// over, and why.
func (h *Hooks) AfterStep() (reason string, stop bool) {
	reason = h.halt()
	return reason, reason != ""
}

// StopVerdict is what the hooks say when the model is done. The zero value lets
// the turn end.
type StopVerdict struct {
	Continue []content.Block // goes to the model, and the turn goes on; nil: no
	Source   jsonvalue.Value // who says so
}

// Stop runs the hooks of a turn whose model is done; last is what it said. They
// keep a turn going at most MaxContinues times. An error is that of ctx or of
// the log.
func (h *Hooks) Stop(ctx context.Context, last string) (StopVerdict, error) {
	h.mu.Lock()
	before := h.continues
	h.mu.Unlock()
	m, err := h.run(ctx, Stop, always(h.input(Stop,
		jsonvalue.Member{Key: "stop_hook_active", Value: jsonvalue.Bool(before > 0)},
		jsonvalue.Member{Key: "last_assistant_message", Value: jsonvalue.String(clip(last, MaxInput))})))
	if err != nil || m.halt || m.kind != block {
		h.halt() // the turn ends as it is
		return StopVerdict{}, err
	}
	if before >= MaxContinues {
		h.opts.Logger.Warn("the Stop hooks want the turn to go on once more; it ends, because they have said so often enough", "times", before)
		return StopVerdict{}, nil
	}
	h.mu.Lock()
	h.continues++
	h.mu.Unlock()
	return StopVerdict{Continue: []content.Block{content.Text(m.reason)}, Source: m.source}, nil
}
