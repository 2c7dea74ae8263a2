package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/vectors"
)

// batchVector runs the calls of one message and compares everything that
// happened, in order. Between two steps of the script the scheduler is idle.
type batchVector struct {
	vectors.Base
	Scenario struct {
		Cap   int                    `json:"cap"`
		Tools map[string]batchTool   `json:"tools"`
		Pre   map[string]batchPolicy `json:"pre"`
		Calls []struct {
			ID           string  `json:"id"`
			Tool         string  `json:"tool"`
			RawArguments *string `json:"rawArguments"`
		} `json:"calls"`
		Script []struct {
			Release string `json:"release"`
			Cancel  bool   `json:"cancel"`
		} `json:"script"`
		Ctx               bool   `json:"ctx"`
		SwapOnResult      string `json:"swapOnResult"`
		CancelOnAssistant bool   `json:"cancelOnAssistant"`
		CancelInPre       string `json:"cancelInPre"`
	} `json:"scenario"`
	Expect struct {
		Trace        []string `json:"trace"`
		EveryCites   bool     `json:"everyResultCitesItsCall"`
		HistoryOrder []string `json:"historyResultOrder"`
	} `json:"expect"`
}

type batchTool struct {
	Mode      string `json:"mode"` // of the classifier
	Gated     bool   `json:"gated"`
	Swappable bool   `json:"swappable"`
	OnStart   string `json:"onStart"`
	Conclude  bool   `json:"conclude"`
	Throws    bool   `json:"throws"`
}

type batchPolicy struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	Throw  string `json:"throw"`
}

func TestSharedBatchVectors(t *testing.T) {
	vectors.Run(t, vectors.Load[batchVector](t, "scheduling.json"), nil, checkBatch)
}

func TestOwnBatchVectors(t *testing.T) {
	vectors.Run(t, vectors.LoadFile[batchVector](t, "../../testdata/vectors/scheduling.json"), nil, checkBatch)
}

func checkBatch(t *testing.T, v batchVector) (err error) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, v)
		h.run()
		if d := cmp.Diff(v.Expect.Trace, h.trace); d != "" {
			err = fmt.Errorf("trace (-want +got):\n%s", d)
			return
		}
		if d := cmp.Diff(v.Expect.HistoryOrder, h.results); d != "" {
			err = fmt.Errorf("results (-want +got):\n%s", d)
			return
		}
		if v.Expect.EveryCites != (h.uncited == 0) {
			err = fmt.Errorf("%d results without a call before them", h.uncited)
		}
	})
	return err
}

// hall is one step of a scripted agent, and the sink of its batch.
type hall struct {
	t       *testing.T
	v       batchVector
	pipe    *pipeline.Pipeline
	scope   *registry.Scope
	ctx     context.Context
	cancel  context.CancelFunc
	gates   map[string]chan struct{}
	swaps   []func()
	mu      sync.Mutex
	trace   []string
	called  map[int]bool
	results []string
	uncited int
}

func newHall(t *testing.T, v batchVector) *hall {
	h := &hall{t: t, v: v, gates: map[string]chan struct{}{}, called: map[int]bool{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	reg, err := registry.New(registry.Options{})
	must(t, err)
	h.pipe, err = pipeline.New(reg, pipeline.Options{MaxParallel: v.Scenario.Cap})
	must(t, err)
	h.scope = reg.Global()
	for _, c := range v.Scenario.Calls {
		h.gates[c.ID] = make(chan struct{})
	}
	for name, tool := range v.Scenario.Tools {
		dispose, err := h.scope.Register(h.tool(name, tool))
		must(t, err)
		if tool.Swappable {
			h.swaps = append(h.swaps, func() {
				dispose()
				tool.Mode = "exclusive"
				_, err := h.scope.Register(h.tool(name, tool))
				must(t, err)
			})
		}
	}
	h.listen()
	return h
}

func (h *hall) mark(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

func (h *hall) swap() {
	for _, f := range h.swaps {
		f()
	}
	h.swaps = nil
}

func (h *hall) listen() {
	sc := h.v.Scenario
	_, err := h.pipe.OnPreExecute(h.scope, func(ctx context.Context, e *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
		h.mark("pre:%s", e.CallID())
		if sc.CancelInPre == e.CallID() {
			h.cancel()
		}
		switch p := sc.Pre[e.CallID()]; {
		case p.Throw != "":
			return pipeline.Decision{}, errors.New(p.Throw)
		case p.Kind == "deny":
			return pipeline.Deny(p.Reason), nil
		}
		return next(ctx)
	})
	must(h.t, err)
	_, err = h.pipe.OnPostExecute(h.scope, func(ctx context.Context, e *registry.Execution, _ *pipeline.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
		h.mark("post:%s", e.CallID())
		d, err := next(ctx)
		if sc.Ctx {
			d = d.WithContexts(registry.Context{Content: []content.Block{content.Text("ctx-" + e.CallID())}})
		}
		return d, err
	})
	must(h.t, err)
	_, err = h.pipe.OnResult(h.scope, func(e *registry.Execution, _ *pipeline.Result) {
		h.mark("observed:%s", e.CallID())
		if sc.SwapOnResult == e.CallID() {
			h.swap()
		}
	})
	must(h.t, err)
}

func (h *hall) tool(name string, s batchTool) registry.Definition {
	return registry.Definition{
		Name: name, Description: name,
		Parameters: schema.Params{schema.Required("id", schema.String(""))},
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
			Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
				return []content.Block{content.Text(v.String())}, nil
			},
		},
		ConcurrencySafe: func(jsonvalue.Value) bool {
			switch s.Mode {
			case "parallel":
				return true
			case "throws":
				panic("classifier broke")
			case "truthy":
				// What a classifier outside the process would answer: not true itself.
				safe, _ := jsonvalue.String("yes").Bool()
				return safe
			}
			return false
		},
		Execute: func(_ context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			id := args.GetString("id")
			h.mark("start:%s", id)
			if s.OnStart == "swap" {
				h.swap()
			}
			if s.Conclude {
				run.ConcludeTurn()
			}
			if s.Throws {
				return jsonvalue.Value{}, errors.New("body broke")
			}
			if s.Gated {
				<-h.gates[id]
			}
			h.mark("end:%s", id)
			return jsonvalue.String("done"), nil
		},
	}
}

func (h *hall) run() {
	var calls []pipeline.Call
	for _, c := range h.v.Scenario.Calls {
		raw, _ := json.Marshal(map[string]string{"id": c.ID})
		if c.RawArguments != nil {
			raw = []byte(*c.RawArguments)
		}
		calls = append(calls, pipeline.Call{ID: c.ID, Name: c.Tool, RawArguments: string(raw)})
	}
	if h.v.Scenario.CancelOnAssistant {
		h.cancel()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		outcome, err := h.pipe.RunBatch(h.ctx, calls, h)
		if err != nil {
			h.mark("turn-end:error")
			return
		}
		if outcome.Cancelled {
			h.mark("turn-end:aborted")
			return
		}
		h.mark("turn-end:completed")
	}()
	for _, step := range h.v.Scenario.Script {
		time.Sleep(time.Millisecond) // until the scheduler is idle
		if step.Cancel {
			h.mark("-- cancel")
			h.cancel()
			continue
		}
		h.mark("-- release %s", step.Release)
		close(h.gates[step.Release])
	}
	<-done
	h.cancel()
}

func (h *hall) AppendCall(_ context.Context, i int, c pipeline.Call) error {
	// The bubble's clock moves when everything else is blocked: a body launched
	// before this call gets as far as it can.
	time.Sleep(time.Nanosecond)
	h.mark("log-call:%s", c.ID)
	h.called[i] = true
	return nil
}

func (h *hall) AppendResult(_ context.Context, i int, c pipeline.Call, _ *registry.Execution, r *pipeline.Result) error {
	suffix := ""
	if r.IsError() {
		suffix = ":error"
		if code := r.ErrorInfo().Code; code != "" {
			suffix += "(" + code + ")"
		}
	}
	h.mark("log-result:%s%s", c.ID, suffix)
	h.results = append(h.results, c.ID)
	if !h.called[i] {
		h.uncited++
	}
	delete(h.called, i)
	return nil
}

func (h *hall) AppendContexts(_ context.Context, cs []registry.Context) error {
	for _, c := range cs {
		h.mark("log-context:%s", content.JoinText(c.Content))
	}
	return nil
}
