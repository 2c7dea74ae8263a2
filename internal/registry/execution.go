package registry

import (
	"sync/atomic"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Token identifies one running call and nothing else. It can be compared, and
// handed on as the parent of a nested call; it opens no way to the call's
// state. The zero Token stands for no call (rule R6.1, decision 6).
type Token struct{ state *callState }

// IsZero reports whether t stands for no call (rule R6.1).
func (t Token) IsZero() bool { return t.state == nil }

type callState struct {
	reg        *Registry
	rootCallID string
	ended      atomic.Bool
}

// Execution is the identity of one call. It is immutable from the moment policy
// starts: what listeners, the log, the editor and the body see is the same
// object (rule R5.4). What may change around the body is only the context.
type Execution struct {
	state  callState
	parent Token
	callID string
	name   string
	args   jsonvalue.Value
	agent  Agent
}

// CallID is the id that the model gave the call (rule R5.4).
func (e *Execution) CallID() string { return e.callID }

// RootCallID is the id of the outermost call: its own id unless the call is nested (rule R5.4).
func (e *Execution) RootCallID() string { return e.state.rootCallID }

// Name is the tool that the call names, registered or not (rules R5.4, R5.6).
func (e *Execution) Name() string { return e.name }

// Arguments are the parsed arguments. They are Undefined when the arguments
// were refused as lossy (rule R5.2).
func (e *Execution) Arguments() jsonvalue.Value { return e.args }

// Agent is who makes the call, nil when nobody does (rule R1.4).
func (e *Execution) Agent() Agent { return e.agent }

// Token is the call's own token, for nested calls to cite (rule R6.1).
func (e *Execution) Token() Token { return Token{&e.state} }

// Parent is the token of the enclosing call, zero when there is none (rule R6.1).
func (e *Execution) Parent() Token { return e.parent }

// Nested reports whether the call was made by another call's body (rule R6.1).
func (e *Execution) Nested() bool { return !e.parent.IsZero() }

// ExecutionSpec is what a caller says about a call (rule R5.4).
type ExecutionSpec struct {
	CallID    string
	Name      string
	Arguments jsonvalue.Value
	Agent     Agent
	Parent    Token
}

// Begin mints the execution of a call. A parent that this registry did not
// mint, or whose call has ended, is refused with a [*Error]; the execution is
// returned all the same, without a parent, so that the refusal can be observed
// (rule R6.1, decision 6). Only the pipeline calls Begin and End.
func (r *Registry) Begin(spec ExecutionSpec) (*Execution, error) {
	e := &Execution{callID: spec.CallID, name: spec.Name, args: spec.Arguments, agent: spec.Agent}
	e.state.reg, e.state.rootCallID = r, spec.CallID
	p := spec.Parent.state
	switch {
	case p == nil:
		return e, nil
	case p.reg != r:
		return e, errorf(CodeInvalidToken, "tool execution parent must be a registry-minted opaque token")
	case p.ended.Load():
		return e, errorf(CodeInvalidToken, "tool execution parent has ended: a nested call must be made, and awaited, while the outer call runs")
	}
	e.parent, e.state.rootCallID = spec.Parent, p.rootCallID
	return e, nil
}

// End marks the call as over: its token stops being accepted as a parent (decision 6).
func (r *Registry) End(e *Execution) { e.state.ended.Store(true) }

// Running reports whether t is the token of a call of this registry that has not ended (decision 6).
func (r *Registry) Running(t Token) bool {
	return t.state != nil && t.state.reg == r && !t.state.ended.Load()
}
