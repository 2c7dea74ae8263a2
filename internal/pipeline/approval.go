package pipeline

import (
	"context"
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// ApprovalOutcome is how a request for approval ended (specification 5.3).
type ApprovalOutcome string

// The outcomes. Only AllowedOnce lets the call go on (specification 5.3).
const (
	AllowedOnce ApprovalOutcome = "allowed-once"
	Rejected    ApprovalOutcome = "rejected"
	Cancelled   ApprovalOutcome = "cancelled"
	Unavailable ApprovalOutcome = "unavailable"
)

// ApprovalRequest is what a person decides on: the call as it will run (rule R5.11).
type ApprovalRequest struct {
	// Execution has the call's id, name, arguments and agent.
	Execution *registry.Execution
	// Tool is what the name means to the agent, nil for an unknown tool. Its
	// PresentCall gives title, kind, locations and diff.
	Tool *registry.Tool
	// Reason is why approval is wanted, for the person only (rule R5.11).
	Reason string
	// About is what else the approval is about; see [Decision.About].
	About string
	// Again judges the call once more, as whoever wanted the approval sees it
	// now: an allowance answers the question, and so does a denial. nil when only
	// the person can answer.
	Again func() Decision
	// Sent, if not nil, is to be called once the question has been put, so that
	// the next one can follow it in order. The return of RequestApproval counts
	// as that too.
	Sent func()
}

// Approver asks a person. RequestApproval blocks until there is an answer and
// must return soon after ctx ends. An error fails the call; nothing but
// AllowedOnce runs it (specification 5.3).
type Approver interface {
	RequestApproval(ctx context.Context, req ApprovalRequest) (ApprovalOutcome, error)
}

// resolveAsk turns an ask into an allowance (nil) or the result of the call.
// skipPost is set when the asking itself broke (rules R5.11 to R5.13).
func (pd *Pending) resolveAsk(d Decision) (r *Result, skipPost bool) {
	name := pd.exec.Name()
	switch {
	case pd.p.approver == nil:
		if d.hasReason {
			return denied(d.reason), false
		}
		return denied(`tool "` + name + `" requires approval (not yet supported)`), false
	case pd.exec.Agent() == nil:
		return denied(`tool "` + name + `" requires approval, but the call has no agent to route it through`), false
	case pd.ctx.Err() != nil:
		// Nobody is asked about a call that is not wanted any more (rule R5.12).
		return abortedBefore, false
	}
	tool, _ := pd.scope.Resolve(name, pd.exec.Nested())
	if err := runnable(tool, pd.exec); err != nil {
		return failed(err), false // nobody is asked about what cannot run
	}
	outcome, err := pd.requestApproval(d)
	if err != nil {
		return failed(err), true
	}
	switch outcome {
	case AllowedOnce:
		return nil, false
	case Rejected:
		if d.again != nil {
			if now := pd.p.judgeAgain(name, *d.again); now.IsDeny() { // it says for how long
				return denied(now.reason), false
			}
		}
		return denied(`the user rejected tool "` + name + `"`), false
	case Cancelled:
		if pd.ctx.Err() != nil {
			return abortedBefore, false
		}
		return denied(`approval for tool "` + name + `" was cancelled`), false
	case Unavailable:
		return denied(`tool "` + name + `" requires approval, but no approval channel is available`), false
	}
	return failed(fmt.Errorf(`unreachable variant in ApprovalOutcome: "%s"`, outcome)), true
}

func (pd *Pending) requestApproval(d Decision) (outcome ApprovalOutcome, err error) {
	req := ApprovalRequest{Execution: pd.exec, Tool: pd.tool, Reason: d.reason, About: d.about}
	if d.again != nil {
		req.Again = func() Decision { return pd.p.judgeAgain(pd.exec.Name(), *d.again) }
	}
	return pd.p.RequestApproval(pd.ctx, req)
}

// judgeAgain contains a panic: what cannot be judged stays asked.
func (p *Pipeline) judgeAgain(tool string, f func() Decision) (d Decision) {
	defer func() {
		if v := recover(); v != nil {
			_ = p.panicked("a tools/pre-execute listener that judges again", tool, v) // logged
			d = Ask("")
		}
	}()
	return f()
}
