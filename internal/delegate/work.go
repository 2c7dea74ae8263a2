package delegate

import (
	"context"
	_ "embed" // what a subagent is told
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/subagent"
)

//go:embed fresh.md
var freshText string

//go:embed fork.md
var forkText string

//go:embed plan.md
var planText string

const finalText = "The other agent needs your result as data: hand it in by calling " + subagent.FinalName + ", whose parameters are its shape. What you write instead is not read."

// maxReminders is how often a subagent is told to hand in its result.
const maxReminders = 2

// work is one task of one subagent.
type work struct {
	m      *Manager
	parent *agent.Session
	tree   *tree
	depth  int
	req    subagent.Request

	scope *registry.Scope
	child *agent.Session
	relay *relay
	final *subagent.Final
}

// do runs the task from its first event in the parent's log to its last.
func (w *work) do(ctx context.Context) (subagent.Outcome, error) {
	exec := w.req.Call.Execution()
	ctx, clock, cancel := withBudget(ctx, w.tree.limits.Timeout)
	defer cancel(nil)
	d := agent.Delegation{
		CallID: exec.CallID(), RootID: exec.RootCallID(), Title: fmt.Sprintf("%q", w.req.Description), Pause: clock.pause,
	}
	w.relay = &relay{
		emit: w.req.Call.Emit, callID: d.CallID, card: d.CardID, failed: func(err error) { cancel(err) },
		open: map[string]jsonvalue.Value{}, shown: map[string]bool{},
	}
	if err := w.open(ctx, d); err != nil {
		return subagent.Outcome{}, err
	}
	id := w.child.SessionID()
	w.m.adopt(id, w.tree)
	defer w.close(context.WithoutCancel(ctx), id)

	set := w.child.Settings()
	err := w.req.Call.Emit(TypeStart, session.Data("callId", d.CallID, "sessionId", id, "depth", w.depth,
		"fork", w.req.Fork, "description", w.req.Description, "provider", set.Provider, "model", set.Model))
	if err != nil {
		return subagent.Outcome{}, err
	}
	stop, turnErr := w.child.Prompt(ctx, []content.Block{content.Text(w.req.Prompt)})
	out, err := w.outcome(ctx, stop, turnErr)
	out.RunID = id
	if e := w.ended(id, stop, turnErr, err); err == nil {
		err = e
	}
	return out, err
}

// open makes the subagent's session.
func (w *work) open(ctx context.Context, d agent.Delegation) (err error) {
	h := session.Header{
		Cwd: w.parent.Cwd(), AdditionalDirectories: w.parent.AdditionalDirectories(), ParentSession: w.parent.SessionID(), DelegationDepth: w.depth, ID: session.NewID(),
	}
	var inherited, closing []session.Draft
	if w.req.Fork {
		inherited, closing = seed(w.parent.Log().Events())
		h.SeedLength = len(inherited)
	}
	log, err := w.m.opt.NewLog(w.parent, h)
	if err != nil {
		return fmt.Errorf("the subagent's session could not be made: %w", err)
	}
	w.scope = w.parent.Scope().Child(h.ID)
	defer func() {
		if err != nil {
			w.scope.Close()
			err = errors.Join(err, log.Close())
			if w.m.opt.Closed != nil {
				w.m.opt.Closed(context.WithoutCancel(ctx), h.ID)
			}
		}
	}()
	if _, err = log.AppendAll(append(inherited, closing...)); err != nil {
		return err
	}
	if err = w.furnish(); err != nil {
		return err
	}
	cfg := w.parent.Delegated(log, w.scope, d)
	cfg.MaxSteps, cfg.PlanPrompt = w.tree.limits.MaxSteps, strings.TrimSpace(planText)
	if w.final != nil {
		cfg.Listeners = append(cfg.Listeners, w.insist())
	}
	if !w.req.Fork {
		choose(&cfg, w.tree.limits.Model)
	}
	if w.child, err = agent.NewSession(cfg); err != nil {
		return err
	}
	if planning := w.parent.Planning(); planning != w.child.Planning() {
		w.child.SetPlanning(planning)
	}
	log.Subscribe(w.relay.event)
	return ctx.Err()
}

// furnish gives the subagent's scope its tools and what it is told of itself.
func (w *work) furnish() error {
	if w.m.opt.Opened != nil {
		w.m.opt.Opened(w.parent.SessionID(), w.scope.Label(), w.scope, w.req.Fork)
	}
	if f := restriction(w.parent.Scope(), w.tree.limits, w.depth); f.Allow != nil || f.Deny != nil {
		if _, err := w.scope.Restrict(f); err != nil {
			return err
		}
	}
	text := freshText
	if w.req.Fork {
		text = forkText
	}
	text = strings.TrimSpace(text)
	if !w.req.OutputSchema.IsUndefined() {
		var err error
		if w.final, err = subagent.NewFinal(w.req.OutputSchema); err != nil {
			return err
		}
		if err := w.final.Register(w.scope); err != nil {
			return err
		}
		text += "\n\n" + finalText
	}
	_, err := w.scope.AddSection(registry.Section{
		Name: "subagent", Order: registry.OrderPersona, Verbatim: true, Text: registry.StaticText(text),
	})
	return err
}

// insist keeps a subagent working that has not handed in its result, and ends
// one that cannot.
func (w *work) insist() agent.Listener {
	reminders := 0
	return agent.Listener{
		AfterStep: func() (string, bool) {
			return "no result that fits the schema", w.final.GaveUp()
		},
		Stop: func(context.Context, string) (agent.StopVerdict, error) {
			if !w.final.Value().IsUndefined() || reminders == maxReminders {
				return agent.StopVerdict{}, nil
			}
			reminders++
			return agent.StopVerdict{
				Continue: []content.Block{content.Text("Your result is missing. Call " + subagent.FinalName + " with it now.")},
				Source:   session.Data("kind", "plugin", "plugin", "subagent"),
			}, nil
		},
	}
}

// outcome is what the caller gets of how the turn ended.
func (w *work) outcome(ctx context.Context, stop agent.StopReason, turnErr error) (subagent.Outcome, error) {
	last := w.child.LastText()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return subagent.Outcome{}, unfinished(fmt.Sprintf("subagent run ended abnormally (no end after %s)", w.tree.limits.Timeout.Round(time.Millisecond)), last)
	case ctx.Err() != nil && w.parent.Log().Err() != nil:
		return subagent.Outcome{}, w.parent.Log().Err()
	case ctx.Err() != nil:
		return subagent.Outcome{}, ctx.Err()
	case turnErr != nil:
		return subagent.Outcome{}, unfinished("subagent run failed: "+turnErr.Error(), last)
	}
	switch stop {
	case agent.EndTurn:
	case agent.MaxTokens:
		return subagent.Outcome{}, unfinished("subagent run hit its token limit before finishing", last)
	case agent.Refusal:
		return subagent.Outcome{}, errors.New("subagent declined the task")
	case agent.Cancelled:
		return subagent.Outcome{}, errors.New("subagent run was cancelled")
	case agent.MaxTurnRequests:
		return subagent.Outcome{}, unfinished(fmt.Sprintf("subagent run ended abnormally (limit of model requests: %d)", w.tree.limits.MaxSteps), last)
	default:
		return subagent.Outcome{}, unfinished(fmt.Sprintf("subagent run ended abnormally (%s)", stop), last)
	}
	out := subagent.Outcome{Output: []content.Block{}}
	if last != "" {
		out.Output = append(out.Output, content.Text(last))
	}
	if w.final != nil {
		if out.Value = w.final.Value(); out.Value.IsUndefined() {
			return subagent.Outcome{}, w.final.Missing()
		}
	}
	return out, nil
}

// unfinished is the error of a run that did not come to its end, with what it
// had said.
func unfinished(what, last string) error {
	if last == "" {
		return errors.New(what)
	}
	return errors.New(what + "\nIts last words: " + clip(last, maxShown))
}

// ended writes the last event about the subagent in the parent's log.
func (w *work) ended(id string, stop agent.StopReason, turnErr, err error) error {
	outcome := string(stop)
	switch {
	case turnErr != nil:
		outcome = "failed"
	case err != nil && stop == agent.EndTurn:
		outcome = "no_result"
	}
	w.relay.mu.Lock()
	c := w.relay.counts
	w.relay.mu.Unlock()
	usage := session.Data()
	for _, key := range []string{"inputTokens", "outputTokens", "cacheReadTokens", "reasoningTokens"} {
		if n, ok := c.usage[key]; ok {
			usage = usage.With(key, jsonvalue.Int(n))
		}
	}
	return w.req.Call.Emit(TypeEnd, session.Data("callId", w.relay.callID, "sessionId", id, "outcome", outcome,
		"steps", c.steps, "calls", c.calls, "usage", usage))
}

// close ends the subagent's session and what it left running.
func (w *work) close(ctx context.Context, id string) {
	w.m.End(id)
	if err := w.child.Close(); err != nil {
		w.m.opt.Logger.Error("a subagent's log could not be closed", "session", id, "err", err)
	}
	if w.m.opt.Closed != nil {
		w.m.opt.Closed(ctx, id)
	}
}
