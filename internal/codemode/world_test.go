package codemode_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/codemode"
	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

func TestMain(m *testing.M) {
	worker.MaybeWorker()
	code := m.Run()
	for _, mode := range []runner.Mode{runner.Child, runner.InProcess} {
		if r, ok := runners[mode]; ok {
			r.Close()
		}
	}
	os.Exit(code)
}

// The runners are shared: starting one is what a run must not pay for.
var (
	runnersMu sync.Mutex
	runners   = map[runner.Mode]*runner.Runner{}
)

func sharedRunner(mode runner.Mode) *runner.Runner {
	runnersMu.Lock()
	defer runnersMu.Unlock()
	if runners[mode] == nil {
		runners[mode] = runner.New(runner.Options{Mode: mode})
	}
	return runners[mode]
}

// event is one session event.
type event struct {
	Type string
	Data jsonvalue.Value
}

// world is an agent with the tools that the shared vectors name, and a log.
type world struct {
	reg   *registry.Registry
	pipe  *pipeline.Pipeline
	scope *registry.Scope
	t     *codemode.Transport

	mu     sync.Mutex
	events []event
	bodies []string
	// failLog makes the log refuse events from this one on; 0 means never.
	failLog int
	disk    *session.Log // takes the events instead, if set
}

func (w *world) AgentID() string        { return "agent" }
func (w *world) Scope() *registry.Scope { return w.scope }

func (w *world) emit(eventType string, data jsonvalue.Value) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failLog > 0 && len(w.events)+1 >= w.failLog {
		return errors.New("no space left on device")
	}
	if w.disk != nil {
		_, err := w.disk.Append(session.Draft{Type: eventType, Data: data})
		return err
	}
	w.events = append(w.events, event{eventType, data})
	return nil
}

func (w *world) body(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies = append(w.bodies, fmt.Sprintf(format, args...))
}

func (w *world) log() []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

func (w *world) bodyOrder() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.bodies)
}

type worldOptions struct {
	engine   codemode.Engine
	limits   runner.Limits
	parallel int
	maxChars int
	mode     registry.Mode // "" means code
	approver pipeline.Approver
	tools    []registry.Definition // besides the vectors' tools
	bare     bool                  // without the vectors' tools
}

func newWorld(t testing.TB, o worldOptions) *world {
	t.Helper()
	if o.mode == "" {
		o.mode = registry.ModeCode
	}
	w := &world{}
	var err error
	if w.reg, err = registry.New(registry.Options{Mode: o.mode}); err != nil {
		t.Fatal(err)
	}
	po := pipeline.Options{}
	if o.approver != nil {
		po.Approver = codemode.Approver{Next: o.approver}
	}
	if w.pipe, err = pipeline.New(w.reg, po); err != nil {
		t.Fatal(err)
	}
	w.scope = w.reg.Global().Child("agent")
	t.Cleanup(w.scope.Close)
	if w.t, err = codemode.New(codemode.Options{
		Pipeline: w.pipe, Engine: o.engine, Settings: codemode.Settings{Limits: o.limits, MaxParallelCalls: o.parallel}, MaxChars: o.maxChars,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reg.SetTransport(w.t); err != nil {
		t.Fatal(err)
	}
	defs := o.tools
	if !o.bare {
		defs = append(w.vectorTools(), defs...)
	}
	for _, d := range defs {
		if _, err := w.scope.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.pipe.OnPreExecute(w.scope, func(ctx context.Context, exec *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
		switch exec.Name() {
		case "denied":
			return pipeline.Deny("not allowed here"), nil
		case "guarded":
			return pipeline.Ask("writes outside"), nil
		}
		return next(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs a program as a call c1 of the model.
func (w *world) run(ctx context.Context, program string) *registry.Result {
	return w.call(ctx, "c1", programArgs(program))
}

func (w *world) call(ctx context.Context, id string, args jsonvalue.Value) *registry.Result {
	return w.pipe.Execute(ctx, pipeline.Call{ID: id, Name: registry.RunCode, Arguments: args, Agent: w, Emit: w.emit})
}

func ms(v jsonvalue.Value) time.Duration {
	n, _ := v.Get("ms").Int64()
	return time.Duration(n) * time.Millisecond
}

func anyJSON() jsonvalue.Value { return jsonvalue.MustFromGo(map[string]any{}) }

func jsonText(_, v jsonvalue.Value) ([]content.Block, error) {
	if s, ok := v.Str(); ok {
		return []content.Block{content.Text(s)}, nil
	}
	return []content.Block{content.Text(v.String())}, nil
}

func must(v jsonvalue.Value, err error) jsonvalue.Value {
	if err != nil {
		panic(err)
	}
	return v
}

func str(name string) schema.Property {
	return schema.Property{Name: name, Required: true, Spec: schema.Spec{Type: "string"}}
}

func number(name string) schema.Property {
	return schema.Property{Name: name, Spec: schema.Spec{Type: "number"}}
}

// vectorTools are the tools that code-mode-programs.json describes.
func (w *world) vectorTools() []registry.Definition {
	out := registry.Output{Schema: anyJSON(), Render: jsonText}
	always := func(jsonvalue.Value) bool { return true }
	picture, err := content.FromValue(must(jsonvalue.ParseString(`{"type":"image","mediaType":"image/png","data":"AA=="}`)))
	if err != nil {
		panic(err)
	}
	sleep := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return []registry.Definition{
		{
			Name: "echo", Parameters: schema.Params{{Name: "value", Required: true, Spec: schema.Spec{Type: "json"}}}, Output: out, ConcurrencySafe: always,
			Execute: func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
				return args.Get("value"), nil
			},
		},
		{
			Name: "fail", Parameters: schema.Params{str("message")}, Output: out,
			Execute: func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
				return jsonvalue.Value{}, errors.New(args.GetString("message"))
			},
		},
		{
			Name: "denied", Parameters: schema.Params{}, Output: out,
			Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
				panic("a denied tool ran")
			},
		},
		{
			Name: "slow", Parameters: schema.Params{str("id"), number("ms")}, Output: out, ConcurrencySafe: always,
			Execute: func(ctx context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
				w.body("start %s", args.GetString("id"))
				err := sleep(ctx, ms(args))
				w.body("end %s", args.GetString("id"))
				return args.Get("id"), err
			},
		},
		{
			Name: "write", Parameters: schema.Params{str("id"), number("ms")}, Output: out,
			Execute: func(ctx context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
				w.body("start %s", args.GetString("id"))
				err := sleep(ctx, ms(args))
				w.body("end %s", args.GetString("id"))
				return jsonvalue.String("wrote " + args.GetString("id")), err
			},
		},
		{
			Name: "picture", Parameters: schema.Params{},
			Output: registry.Output{Schema: anyJSON(), Render: func(_, _ jsonvalue.Value) ([]content.Block, error) {
				return []content.Block{content.Text("a picture"), picture}, nil
			}},
			Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
				return jsonvalue.MustFromGo(map[string]any{"w": 1}), nil
			},
		},
		{
			Name: "my-tool", Parameters: schema.Params{number("x")}, Output: out,
			PresentCall: func(args jsonvalue.Value) *cards.Call {
				return &cards.Call{Card: cards.Generic, Title: "Mine " + args.Get("x").String()}
			},
			Execute: func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
				return jsonvalue.MustFromGo(map[string]any{"got": args.Get("x")}), nil
			},
		},
		{
			Name: "badout", Parameters: schema.Params{},
			Output: registry.Output{Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}), Render: jsonText},
			Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
				return jsonvalue.Int(1), nil
			},
		},
		{
			Name: "finish", Parameters: schema.Params{}, Output: out,
			Execute: func(_ context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
				run.ConcludeTurn()
				return jsonvalue.String("bye"), nil
			},
		},
	}
}

func programArgs(program string) jsonvalue.Value {
	return jsonvalue.Object(jsonvalue.Member{Key: "code", Value: jsonvalue.String(program)})
}
