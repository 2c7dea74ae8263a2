package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// escalation is what the model asks for when it wants one call to run under a
// wider mode than the session's.
type escalation struct {
	mode          string // "" when nothing is asked for
	justification string
}

func (e escalation) wanted() bool { return e.mode != "" }

// question is what the person is asked.
func (e escalation) question() string {
	return fmt.Sprintf("escalate sandbox to %s: %s", e.mode, e.justification)
}

// escalates says whether calls of the tool can be escalated: those that a
// sandbox would confine.
func (t Tool) escalates() bool { return t.Class == Edit || t.Class == Execute }

// escalationOf reads the arguments sandbox_permissions and justification.
func escalationOf(args jsonvalue.Value) (escalation, error) {
	e := escalation{mode: args.GetString("sandbox_permissions")}
	justification, given := args.Get("justification").Str()
	e.justification = strings.TrimSpace(justification)
	switch {
	case e.mode == "" && given:
		return escalation{}, errors.New("invalid escalation: justification is only valid together with sandbox_permissions")
	case e.mode != "" && !given:
		return escalation{}, errors.New("invalid escalation: sandbox_permissions requires a justification")
	case e.mode != "" && e.justification == "":
		return escalation{}, errors.New("invalid justification: expected a non-empty sentence")
	}
	return e, nil
}

// check says why an escalation cannot even be asked about.
func (e escalation) check(current Preset, planning bool) error {
	if !e.wanted() {
		return nil
	}
	wider := Preset(e.mode)
	presets := Presets()
	switch at := slices.Index(presets, wider); {
	case wider == ReadOnly || at < 0:
		return fmt.Errorf("invalid sandbox_permissions: expected %q or %q", WorkspaceWrite, FullAccess)
	case planning:
		return errors.New("plan mode allows no escalation: present the plan with exit_plan_mode first")
	case at <= slices.Index(presets, current):
		return fmt.Errorf("sandbox escalation to %q is not strictly wider than this call's current %q mode", wider, current)
	}
	return nil
}

// escalate asks about an escalation that is allowed to be asked about. Only the
// person's word lets the call go on, and only this once.
func (p *Policy) escalate(ctx context.Context, exec *registry.Execution, e escalation) (pipeline.Decision, error) {
	switch {
	case p.approver == nil:
		return pipeline.Deny(fmt.Sprintf("sandbox escalation to %q requires approval, but no approval service is composed", e.mode)), nil
	case exec.Agent() == nil:
		return pipeline.Deny(fmt.Sprintf("sandbox escalation to %q requires approval, but the call has no agent to route it through", e.mode)), nil
	}
	if ctx.Err() != nil { // nobody is asked about a call that is not wanted any more
		return pipeline.Deny(fmt.Sprintf("approval for escalating to %q was cancelled", e.mode)), nil
	}
	tool, _ := exec.Agent().Scope().Get(exec.Name())
	outcome, err := p.approver.RequestApproval(ctx, pipeline.ApprovalRequest{
		Execution: exec, Tool: tool, Reason: e.question(),
	})
	if err != nil {
		return pipeline.Decision{}, err
	}
	switch outcome {
	case pipeline.AllowedOnce:
		p.escalated.remember(exec, Preset(e.mode))
		return pipeline.Allow(), nil
	case pipeline.Rejected:
		subject := "operation"
		if p.tools[exec.Name()].Class == Execute {
			subject = "command"
		}
		return pipeline.Deny(fmt.Sprintf("the user rejected escalating this %s to %q", subject, e.mode)), nil
	case pipeline.Cancelled:
		return pipeline.Deny(fmt.Sprintf("approval for escalating to %q was cancelled", e.mode)), nil
	}
	return pipeline.Deny(fmt.Sprintf("sandbox escalation to %q requires approval, but no approval channel is available", e.mode)), nil
}

// Mode is the preset whose bounds one running call has: that of its approved
// escalation, else the current one. While plan mode is on it is read-only. It
// is what a sandbox confines the call to.
func (p *Policy) Mode(exec *registry.Execution) Preset {
	if p.Planning() {
		return ReadOnly
	}
	if mode, ok := p.escalated.of(exec); ok {
		return mode
	}
	return p.Preset()
}

// escalations are the calls whose escalation was approved, until they end.
type escalations struct{ calls sync.Map } // registry.Token → Preset

func (e *escalations) remember(exec *registry.Execution, mode Preset) {
	e.calls.Store(exec.Token(), mode)
}

func (e *escalations) forget(exec *registry.Execution) { e.calls.Delete(exec.Token()) }

func (e *escalations) of(exec *registry.Execution) (Preset, bool) {
	mode, ok := e.calls.Load(exec.Token())
	if !ok {
		return "", false
	}
	return mode.(Preset), true
}
