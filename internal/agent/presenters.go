package agent

import (
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// ScopePresenters presents calls with the tools that a scope sees now. It is
// what live sessions and replays project with.
type ScopePresenters struct{ Scope *registry.Scope }

// PresentCall is the tool's own view of a call; nil for a tool that is gone or
// has none.
func (p ScopePresenters) PresentCall(tool string, args jsonvalue.Value) *cards.Call {
	t, ok := p.Scope.Presenter(tool)
	if !ok {
		return nil
	}
	return t.PresentCall(args)
}

// PresentResult is the tool's own view of a result; nil for a tool that is gone
// or has none.
func (p ScopePresenters) PresentResult(tool string, args jsonvalue.Value, in cards.ResultInput) *cards.Result {
	t, ok := p.Scope.Presenter(tool)
	if !ok {
		return nil
	}
	return t.PresentResult(args, in)
}

// CardEvent is a session event as the projection reads it.
func CardEvent(ev session.Event) cards.Event {
	op, isString := ev.SurfaceOp.Str()
	replacement := !ev.SurfaceOp.IsUndefined() && (!isString || op != "append")
	return cards.Event{Type: ev.Type, Time: ev.Time, Data: ev.Data, Replacement: replacement}
}
