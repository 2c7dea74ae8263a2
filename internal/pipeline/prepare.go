package pipeline

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Prepare takes a call through the stages before dispatch: identity, pre-execute
// listeners, approval, guards (stages 2 to 5). It returns when they are
// settled, and never nil (rules R5.1 to R5.18).
func (p *Pipeline) Prepare(ctx context.Context, call Call) *Pending {
	args, argsErr := call.arguments()
	return p.prepare(ctx, &slot{call: call, args: args, argsErr: argsErr})
}

func (p *Pipeline) prepare(ctx context.Context, s *slot) *Pending {
	if ctx == nil {
		ctx = context.Background()
	}
	call, args, argsErr := s.call, s.args, s.argsErr
	pd := &Pending{p: p, ctx: ctx, call: call}
	if argsErr != nil {
		args = jsonvalue.Value{}
	}
	exec, tokenErr := s.exec, error(nil)
	if exec == nil {
		exec, tokenErr = p.reg.Begin(call.spec(args))
	} else if !call.Parent.IsZero() && !p.reg.Running(call.Parent) {
		_, tokenErr = p.reg.Begin(call.spec(args)) // says so
	}
	pd.exec = exec
	pd.scope = p.scopeOf(call.Agent)
	tool, mode := pd.scope.Resolve(call.Name, exec.Nested())
	pd.tool = tool
	if tool != nil && tool.HasFinalizer() {
		pd.finalizer = tool
	}
	switch {
	case argsErr != nil: // wins over everything else (rules R5.2, R5.5)
		pd.settle(failed(argsErr), true)
	case tokenErr != nil:
		pd.settle(failed(tokenErr), true)
	case ctx.Err() != nil: // rule R5.7
		pd.settle(abortedBefore, true)
	case mode == registry.ModeCode && !exec.Nested() && tool != nil && !tool.IsTransport():
		pd.finalizer = nil
		pd.settle(failed(collapsed(call.Name)), true)
	default:
		pd.policy(s.ahead)
	}
	return pd
}

func (pd *Pending) settle(r *Result, skipPost bool) { pd.outcome, pd.skipPost = r, skipPost }

// scopeOf is where the caller sees tools. An agent that cannot say, or names a
// scope of another registry, sees none: the global layer would be more than its
// own restrictions leave it.
func (p *Pipeline) scopeOf(a registry.Agent) (s *registry.Scope) {
	if a == nil {
		return p.reg.Global()
	}
	defer func() {
		if v := recover(); v != nil || s == nil || s.Registry() != p.reg {
			p.log.Error("an agent has no scope in this registry: it can call nothing")
			s = p.nowhere
		}
	}()
	return a.Scope()
}

// policy asks listeners, then a person if they want it, then guards. Only an
// allowance is overruled by a cancellation; a denial stands (rule R5.10).
func (pd *Pending) policy(q *question) {
	d, err := pd.p.runPre(pd.ctx, pd.exec, pd.p.pre.For(pd.scope))
	if err != nil {
		pd.settle(failed(err), true) // rule R5.9
		return
	}
	switch d.kind {
	case allow:
		// What was asked ahead needs no answer any more. One that has come counts.
		if q != nil && q.withdraw() == Rejected {
			pd.settle(denied(`the user rejected tool "`+pd.exec.Name()+`"`), false)
			return
		}
	case deny:
		pd.settle(denied(d.reason), false)
		return
	case ask:
		if r, skipPost := pd.resolveAsk(d); r != nil {
			pd.settle(r, skipPost)
			return
		}
	default:
		pd.settle(failed(errDecisionKind), true)
		return
	}
	if pd.ctx.Err() != nil {
		pd.settle(abortedBefore, false)
		return
	}
	v, err := pd.scope.RunGuards(pd.exec)
	if err != nil {
		pd.settle(failed(err), true) // rule R5.17
		return
	}
	if reason, vetoed := v.Vetoed(); vetoed {
		pd.settle(denied(reason), false)
	}
}

// runPre passes the call through the listeners; the first to answer wins (rule R5.8).
func (p *Pipeline) runPre(ctx context.Context, exec *registry.Execution, fs []PreFunc) (d Decision, err error) {
	if len(fs) == 0 {
		return Allow(), nil
	}
	defer func() {
		if v := recover(); v != nil {
			d, err = Decision{}, p.panicked("a tools/pre-execute listener", exec.Name(), v)
		}
	}()
	return fs[0](ctx, exec, func(ctx context.Context) (Decision, error) { return p.runPre(ctx, exec, fs[1:]) })
}
