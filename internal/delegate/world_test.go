package delegate_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/delegate"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/subagent"
)

// thinker is a model that is a function. It is safe for concurrent use.
type thinker struct {
	id    string
	think func(ctx context.Context, req model.Request) reply

	mu       sync.Mutex
	requests []model.Request
}

// reply is one answer: text, calls as name and arguments in turn, or a failure.
type reply struct {
	text  string
	calls []string
	kind  model.FinishKind
	err   error
	usage *model.Usage
}

func says(text string) reply            { return reply{text: text} }
func calls(nameAndArgs ...string) reply { return reply{calls: nameAndArgs} }

func (p *thinker) ProviderID() string                           { return p.id }
func (p *thinker) Models(context.Context) ([]model.Info, error) { return nil, nil }

func (p *thinker) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	p.mu.Lock()
	p.requests = append(p.requests, req)
	n := len(p.requests)
	p.mu.Unlock()
	return func(yield func(model.Chunk, error) bool) {
		r := p.think(ctx, req)
		if r.err != nil {
			yield(model.Chunk{}, r.err)
			return
		}
		if ctx.Err() != nil {
			yield(model.Chunk{}, ctx.Err())
			return
		}
		var chunks []model.Chunk
		if r.text != "" {
			chunks = append(chunks, model.StartChunk(0, model.PartText), model.TextChunk(0, r.text), model.EndChunk(0, model.Text(r.text)))
		}
		for i := 0; i < len(r.calls); i += 2 {
			at := 1 + i/2
			chunks = append(chunks, model.StartChunk(at, model.PartToolCall), model.EndChunk(at, model.Part{
				Type: model.PartToolCall, ID: fmt.Sprintf("call%d-%d", n, at), Name: r.calls[i], Arguments: r.calls[i+1],
			}))
		}
		if r.usage != nil {
			chunks = append(chunks, model.Chunk{Type: model.ChunkUsage, Usage: r.usage})
		}
		kind := model.FinishStop
		if len(r.calls) > 0 {
			kind = model.FinishToolCalls
		}
		if r.kind != "" {
			kind = r.kind
		}
		for _, c := range append(chunks, model.FinishChunk(kind)) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// prompt is what the session was asked last, and answers how often it has
// answered since.
func prompt(req model.Request) (text string, answers int) {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		switch m := req.Messages[i]; {
		case m.Role == model.RoleAssistant:
			answers++
		case m.Role == model.RoleUser && m.Origin == model.OriginPrompt:
			return m.Text(), answers
		}
	}
	return "", answers
}

// lastResult is the text of the last tool result in a request.
func lastResult(req model.Request) string {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if req.Messages[i].Role == model.RoleTool {
			return req.Messages[i].Text()
		}
	}
	return ""
}

// world is a session that can have subagents, in memory.
type world struct {
	t     *testing.T
	s     *agent.Session
	model *thinker
	m     *delegate.Manager
	pipe  *pipeline.Pipeline
	reg   *registry.Registry

	mu     sync.Mutex
	logs   []*session.Log // of subagents, in the order in which they began
	closed []string
	opened []string
	open   func() // called when a subagent has been opened; nil
}

type askFunc func(ctx context.Context, q agent.Question) (agent.Answer, error)

func (f askFunc) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) { return f(ctx, q) }

func newWorld(t *testing.T, l delegate.Limits, cfg agent.Config, think func(ctx context.Context, req model.Request) reply) *world {
	t.Helper()
	w := &world{t: t, model: &thinker{id: "thinker", think: think}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.reg, err = registry.New(registry.Options{})
	must(err)
	w.pipe, err = pipeline.New(w.reg, pipeline.Options{Approver: agent.Approver{}})
	must(err)
	w.m, err = delegate.New(delegate.Options{
		NewLog: func(_ *agent.Session, h session.Header) (*session.Log, error) {
			log := session.NewMemory(h, session.Options{})
			w.mu.Lock()
			defer w.mu.Unlock()
			w.logs = append(w.logs, log)
			return log, nil
		},
		Opened: func(parent, child string, scope *registry.Scope, fork bool) {
			if w.open != nil {
				w.open()
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.opened = append(w.opened, fmt.Sprintf("%s %v %v", parent, child == scope.Label(), fork))
		},
		Closed: func(_ context.Context, id string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.closed = append(w.closed, id)
		},
	})
	must(err)
	global := w.reg.Global()
	must(subagent.Register(global, subagent.Options{Runner: w.m}))
	text := jsonvalue.MustFromGo(map[string]any{"type": "string"})
	for _, name := range []string{"echo", "danger", "ask_user_question", "exit_plan_mode"} {
		_, err := global.Register(registry.Definition{
			Name: name, Description: name,
			Output: registry.Output{Schema: text, Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
				s, _ := v.Str()
				return []content.Block{content.Text(s)}, nil
			}},
			Execute: func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
				return jsonvalue.String(name + args.String()), nil
			},
		})
		must(err)
	}
	scope := global.Child("root")
	_, err = w.pipe.OnPreExecute(scope, func(ctx context.Context, exec *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
		if exec.Name() == "danger" {
			return pipeline.Ask("it is dangerous").Again(func() pipeline.Decision { return pipeline.Ask("") }), nil
		}
		return next(ctx)
	})
	must(err)
	cfg.Log, cfg.Provider, cfg.Model, cfg.Pipeline, cfg.Scope = session.NewMemory(session.Header{Cwd: "/work", ID: "root"}, session.Options{}), w.model, "big", w.pipe, scope
	w.s, err = agent.NewSession(cfg)
	must(err)
	must(w.m.Begin("root", scope, l))
	t.Cleanup(func() { _ = w.s.Close() })
	return w
}

func (w *world) prompt(text string) agent.StopReason {
	w.t.Helper()
	stop, err := w.s.Prompt(w.t.Context(), []content.Block{content.Text(text)})
	if err != nil {
		w.t.Fatal(err)
	}
	return stop
}

// result is the text and state of the last tool result in the root's log.
func (w *world) result() (text string, isError bool) {
	events := w.s.Log().Events()
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Type == session.TypeToolResult {
			blocks, _ := content.ListFromValue(events[i].Data.Get("content"))
			isError, _ = events[i].Data.Get("isError").Bool()
			return content.JoinText(blocks), isError
		}
	}
	w.t.Fatal("no result")
	return "", false
}

// told lists the root's events about subagents and their calls, in short.
func (w *world) told() []string {
	var out []string
	for _, ev := range w.s.Log().Events() {
		d := ev.Data
		switch {
		case ev.Type == "subagent/call":
			out = append(out, "call "+d.GetString("subCallId")+" "+d.GetString("name")+" "+d.Get("arguments").String()+" by "+d.GetString("parentCallId"))
		case ev.Type == "subagent/result":
			isError, _ := d.Get("isError").Bool()
			out = append(out, fmt.Sprintf("result %s %v", d.GetString("subCallId"), isError))
		case ev.Type == "subagent/message":
			out = append(out, "said "+d.GetString("text")+" by "+d.GetString("parentCallId"))
		case ev.Type == "subagent/start":
			out = append(out, "start "+d.GetString("callId")+" "+d.GetString("provider")+"/"+d.GetString("model"))
		case ev.Type == "subagent/end":
			out = append(out, "end "+d.GetString("callId")+" "+d.GetString("outcome")+" "+d.Get("steps").String()+" "+d.Get("calls").String())
		case ev.Type == session.TypeApprovalAsked:
			out = append(out, "asked "+d.GetString("callId"))
		case ev.Type == session.TypeApprovalDecided:
			out = append(out, "decided "+d.GetString("outcome"))
		}
	}
	return out
}

func task(prompt string) string {
	return jsonvalue.MustFromGo(map[string]any{"description": "A task", "prompt": prompt}).String()
}

func hasTool(req model.Request, name string) bool { _, ok := req.Tool(name); return ok }

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
