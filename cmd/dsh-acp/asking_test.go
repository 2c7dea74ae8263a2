package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/policy"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// steps is a model that makes the calls of each step in turn, then is done.
type steps struct {
	calls [][]model.Part
	n     int
}

func (p *steps) ProviderID() string                           { return "steps" }
func (p *steps) Models(context.Context) ([]model.Info, error) { return nil, nil }

func (p *steps) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	chunks := []model.Chunk{model.StartChunk(0, model.PartText), model.EndChunk(0, model.Text("done")), model.FinishChunk(model.FinishStop)}
	if p.n < len(p.calls) {
		chunks = nil
		for i, part := range p.calls[p.n] {
			chunks = append(chunks, model.StartChunk(i, model.PartToolCall), model.EndChunk(i, part))
		}
		chunks = append(chunks, model.FinishChunk(model.FinishToolCalls))
		p.n++
	}
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// desk is where questions lie until somebody answers them.
type desk struct {
	mu      sync.Mutex
	cond    *sync.Cond
	open    []*paper
	order   []string // the calls in the order in which they were asked about
	own     map[string]agent.Answer
	granted map[string]bool // programs that were allowed for longer than once
	ran     map[string]int
	wrong   []string
	most    int
	over    bool
}

type paper struct {
	q      agent.Question
	answer chan agent.Answer
}

func (d *desk) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	p := &paper{q, make(chan agent.Answer, 1)}
	d.mu.Lock()
	d.open = append(d.open, p)
	d.most = max(d.most, len(d.open))
	d.order = append(d.order, q.Execution.CallID())
	d.cond.Broadcast()
	d.mu.Unlock()
	q.Sent()
	select {
	case a := <-p.answer:
		return p.answered(a)
	case <-ctx.Done():
		d.mu.Lock()
		before := len(d.open)
		d.open = slices.DeleteFunc(d.open, func(x *paper) bool { return x == p })
		withdrawn := len(d.open) < before
		d.cond.Broadcast()
		d.mu.Unlock()
		if !withdrawn { // the answer was given already
			return p.answered(<-p.answer)
		}
		return agent.AnswerUnavailable, context.Cause(ctx)
	}
}

func (p *paper) answered(a agent.Answer) (agent.Answer, error) {
	if a == agent.AnswerUnavailable {
		return a, &agent.BadAnswerError{Why: "nonsense"}
	}
	return a, nil
}

// programOf is the first word of a call's command.
func programOf(exec *registry.Execution) string {
	name, _, _ := strings.Cut(exec.Arguments().GetString("command"), " ")
	return name
}

// started checks, when a body begins, that it may.
func (d *desk) started(exec *registry.Execution) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := exec.CallID()
	d.ran[id]++
	own, answered := d.own[id]
	answered = answered && own != agent.AnswerUnavailable // nonsense is no answer
	allowed := answered && (own == agent.AnswerAllowOnce || own == agent.AnswerAllowSession || own == agent.AnswerAllowProject)
	switch {
	case strings.HasPrefix(id, "free"):
	case d.ran[id] > 1:
		d.wrong = append(d.wrong, id+" ran again")
	case answered && !allowed:
		d.wrong = append(d.wrong, id+" ran though it was rejected")
	case !allowed && (!d.granted[programOf(exec)] || strings.HasPrefix(id, "asked")):
		d.wrong = append(d.wrong, id+" ran without anybody's word")
	case strings.HasPrefix(id, "hooked"):
		d.wrong = append(d.wrong, id+" ran though a listener refuses it")
	}
}

// Whatever is answered in whatever order, and whatever is switched meanwhile, a
// call runs at most once, after its own question was answered with yes or one
// that covers it; a no stays a no; and every call has one result, in order.
func TestQuestionsPutTogetherDecideAsOneByOne(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		d := &desk{own: map[string]agent.Answer{}, granted: map[string]bool{}, ran: map[string]int{}}
		d.cond = sync.NewCond(&d.mu)
		var ids []string
		provider := &steps{}
		for step := range rapid.IntRange(1, 2).Draw(t, "steps") {
			var parts []model.Part
			for i := range rapid.IntRange(1, 14).Draw(t, "calls") {
				kind := rapid.SampledFrom([]string{"call", "call", "call", "call", "free", "hooked", "asked", "again"}).Draw(t, "kind")
				part := model.Part{Type: model.PartToolCall, ID: fmt.Sprintf("%s-%d-%d", kind, step, i), Name: "bash", Arguments: fmt.Sprintf(`{"command":"%s %d"}`, rapid.SampledFrom([]string{"pa", "pb", "pc"}).Draw(t, "program"), i)}
				if kind == "free" {
					part.Name, part.Arguments = "look", "{}"
				}
				ids = append(ids, part.ID)
				parts = append(parts, part)
			}
			provider.calls = append(provider.calls, parts)
		}

		reg, err := registry.New(registry.Options{})
		if err != nil {
			t.Fatal(err)
		}
		pipe, err := pipeline.New(reg, pipeline.Options{Approver: approver()})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"bash", "look"} {
			if _, err := reg.Global().Register(registry.Definition{
				Name: name, Description: name, ConcurrencySafe: func(jsonvalue.Value) bool { return name == "look" },
				Output: registry.Output{
					Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
					Render: func(_, v jsonvalue.Value) ([]content.Block, error) { return []content.Block{content.Text("ran")}, nil },
				},
				Execute: func(_ context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
					d.started(run.Execution())
					return jsonvalue.String("ran"), nil
				},
			}); err != nil {
				t.Fatal(err)
			}
		}
		scope := reg.Global().Child("session")
		cfg := &config.Config{Permissions: config.Permissions{Preset: "workspace-write", Rules: []config.Rule{{Tool: "bash", Decision: "ask"}, {Tool: "look", Decision: "allow"}}}}
		pol, err := installPolicy(cfg, pipe, scope, nil, policy.NewGrants(), nil)
		if err != nil {
			t.Fatal(err)
		}
		// A listener behind the policy: it refuses some, asks about some, and asks
		// the policy's own question again about others.
		if _, err := pipe.OnPreExecute(scope, func(ctx context.Context, exec *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
			switch kind, _, _ := strings.Cut(exec.CallID(), "-"); kind {
			case "hooked":
				return pipeline.Deny("refused by a listener"), nil
			case "asked":
				return pipeline.Ask("a listener wants to know"), nil
			}
			return next(ctx)
		}); err != nil {
			t.Fatal(err)
		}
		log := session.NewMemory(session.Header{Cwd: "/work"}, session.Options{})
		s, err := agent.NewSession(agent.Config{
			Log: log, Provider: provider, Model: "m", Pipeline: pipe, Scope: scope,
			Asker: d, Grants: pol, NeverAsk: pol.NeverAsks, Permissions: switchable{pol.Policy}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cancelAt := rapid.IntRange(-60, 12).Draw(t, "cancel before answer")
		picks := rapid.SliceOfN(rapid.IntRange(0, 1000), 64, 64).Draw(t, "picks")
		answers := rapid.SliceOfN(rapid.SampledFrom([]agent.Answer{
			agent.AnswerAllowOnce, agent.AnswerAllowOnce, agent.AnswerAllowOnce, agent.AnswerReject, agent.AnswerReject, agent.AnswerAllowSession, agent.AnswerRejectSession, agent.AnswerUnavailable,
		}), 64, 64).Draw(t, "answers")
		switches := rapid.SliceOfN(rapid.IntRange(0, 12), 64, 64).Draw(t, "switches")
		var person sync.WaitGroup
		person.Go(func() {
			for n := 0; ; n++ {
				d.mu.Lock()
				for len(d.open) == 0 && !d.over {
					d.cond.Wait()
				}
				if d.over {
					d.mu.Unlock()
					return
				}
				if n == cancelAt {
					d.mu.Unlock()
					cancel()
					continue
				}
				i := picks[n%64] % len(d.open)
				p := d.open[i]
				d.open = slices.Delete(d.open, i, i+1)
				a := answers[n%64]
				if !slices.ContainsFunc(p.q.Lasting, func(l agent.Lasting) bool { return l.Answer == a }) && (a == agent.AnswerAllowSession || a == agent.AnswerRejectSession) {
					a = agent.AnswerReject
				}
				// A yes counts for the question that it answers: where the listener asks
				// something else, the policy's question does not do.
				other := strings.HasPrefix(p.q.Execution.CallID(), "asked") && p.q.Reason != "a listener wants to know"
				if !other || a == agent.AnswerReject || a == agent.AnswerRejectSession {
					d.own[p.q.Execution.CallID()] = a
				}
				if a == agent.AnswerAllowSession {
					d.granted[programOf(p.q.Execution)] = true
				}
				d.mu.Unlock()
				switch switches[n%64] {
				case 0:
					_ = s.SetPreset("read-only")
				case 1:
					s.SetPlanning(true)
				case 2:
					s.SetPlanning(false)
				case 3:
					_ = s.SetPreset("workspace-write")
				}
				p.answer <- a
			}
		})
		done := make(chan error, 1)
		go func() {
			stop, err := s.Prompt(ctx, []content.Block{content.Text("go")})
			if err == nil && ctx.Err() != nil && stop != agent.Cancelled {
				err = errors.New("the turn was cancelled and says " + string(stop))
			}
			done <- err
		}()
		select {
		case err = <-done:
		case <-time.After(2 * time.Minute):
			t.Fatal("the turn waits for ever")
		}
		d.mu.Lock()
		d.over = true
		d.cond.Broadcast()
		d.mu.Unlock()
		person.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if len(d.open) > 0 {
			t.Errorf("%d questions are left open", len(d.open))
		}
		for _, w := range d.wrong {
			t.Error(w)
		}
		most = max(most, d.most)
		var called, ended []string
		asked := map[string]bool{}
		for _, ev := range log.Events() {
			switch id := ev.Data.GetString("callId"); ev.Type {
			case session.TypeToolCall:
				called = append(called, id)
			case session.TypeToolResult:
				ended = append(ended, id)
			case session.TypeApprovalAsked:
				if !slices.Contains(called, id) {
					t.Errorf("%s is asked about before it is announced", id)
				}
				asked[ev.Data.GetString("id")] = true
			case session.TypeApprovalDecided:
				if !asked[ev.Data.GetString("id")] {
					t.Error("an answer to no question")
				}
				delete(asked, ev.Data.GetString("id"))
			}
		}
		if len(asked) > 0 {
			t.Error("a question has no end in the log")
		}
		if !slices.Equal(called, ended) || ctx.Err() == nil && !slices.Equal(called, ids) {
			t.Errorf("called %v\nended  %v\nwanted %v", called, ended, ids)
		}
		_ = s.Close()
	})
	if most < 2 || most > 10+1 { // ten ahead, and one that is asked in its turn
		t.Errorf("at most %d questions were open at a time", most)
	}
}
