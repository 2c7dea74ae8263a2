package codemode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/codemode/sdk"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Engine runs programs; a *runner.Runner does.
type Engine interface {
	// Run runs a program to its end. It does not panic, and calls the host no
	// more after it has returned.
	Run(ctx context.Context, p runner.Program, h runner.Host) runner.Outcome
}

// Settings are how programs run.
type Settings struct {
	Limits runner.Limits // of each run; zero fields take the runner's defaults
	// MaxParallelCalls is how many calls of one program may run at once, if they
	// may overlap at all; 0 means 1, one at a time (decision 4).
	MaxParallelCalls int
}

// Options of a transport. Pipeline and Engine are required.
type Options struct {
	Pipeline *pipeline.Pipeline // takes the programs' calls
	Engine   Engine
	Settings
	// SettingsOf gives the settings of agents that have their own, such as the
	// stricter ones of a workspace; nil means nobody has.
	SettingsOf func(registry.Agent) (Settings, bool)
	// MaxChars is the length of the tools' declarations, in characters, above
	// which the prompt lists the tools by one line each; 0 means
	// sdk.DefaultMaxChars, negative means never.
	MaxChars int
	Logger   *slog.Logger // nil discards
}

// Transport is the registry.Transport of TypeScript programs.
type Transport struct {
	opt      Options
	pipeline *pipeline.Pipeline
	views    *views
	logs     registry.Listeners[LogFunc]
}

var _ registry.Transport = (*Transport)(nil)

// New makes a transport; registry.SetTransport plugs it in. It fails on missing
// or negative options.
func New(o Options) (*Transport, error) {
	if o.Pipeline == nil || o.Engine == nil {
		return nil, errors.New("codemode: a transport needs a pipeline and an engine")
	}
	if o.MaxParallelCalls < 0 {
		return nil, fmt.Errorf("codemode: max_parallel_calls must be a positive integer, got %d", o.MaxParallelCalls)
	}
	o.MaxParallelCalls = max(o.MaxParallelCalls, 1)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Transport{opt: o, pipeline: o.Pipeline, views: newViews()}, nil
}

// Language is "typescript".
func (t *Transport) Language() string { return "typescript" }

// SDK is the text of the tools:sdk section (C3.1); it never fails.
func (t *Transport) SDK(tools []*registry.Tool) (string, error) {
	return t.views.get(tools, t.sdkOptions()).Section(), nil
}

func (t *Transport) sdkOptions() sdk.Options {
	return sdk.Options{MaxChars: t.opt.MaxChars, MaxParallelCalls: t.opt.MaxParallelCalls}
}

// scopeOf is where an agent sees tools; nobody sees the global layer.
func (t *Transport) scopeOf(a registry.Agent) *registry.Scope {
	if a == nil {
		return t.pipeline.Registry().Global()
	}
	return a.Scope()
}

// settings are how the programs of an agent run.
func (t *Transport) settings(a registry.Agent) Settings {
	if t.opt.SettingsOf != nil && a != nil {
		if own, ok := t.opt.SettingsOf(a); ok {
			own.MaxParallelCalls = max(own.MaxParallelCalls, 1)
			return own
		}
	}
	return t.opt.Settings
}

// execute is the body of run_code.
func (t *Transport) execute(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	b := newBridge(ctx, t, run)
	names, known := t.bindings(b.scope)
	b.sdk = known
	// A cancelled run abandons what waits at once, before the engine has returned.
	defer context.AfterFunc(b.program, func() { b.close(context.Cause(b.program)) })()
	go b.lane()
	defer b.drain() // also when the engine breaks its promise and panics
	p := runner.Program{Source: args.GetString("code"), Tools: names, Limits: b.set.Limits}
	out := t.opt.Engine.Run(b.program, p, b)
	if f := out.Failure; f != nil && f.Kind == runner.KindException && b.program.Err() != nil {
		// The program threw because its calls were aborted, before it was ended
		// itself: the cancellation is why it failed (C5.3).
		out.Failure = &runner.Failure{Kind: runner.KindAbort, Message: context.Cause(b.program).Error()}
	}
	if err := b.drain(); err != nil {
		return jsonvalue.Value{}, err
	}
	report(ctx, out)
	return result(out, b.lost)
}
