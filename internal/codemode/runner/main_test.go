package runner

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
)

func TestMain(m *testing.M) {
	worker.MaybeWorker()
	os.Exit(m.Run())
}

// each runs a test in a child and in this process.
func each(t *testing.T, f func(t *testing.T, r *Runner)) {
	for name, mode := range map[string]Mode{"child": Child, "in-process": InProcess} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Mode: mode})
			t.Cleanup(r.Close)
			f(t, r)
		})
	}
}

// fakeHost answers the tools that the probes and vectors assume.
type fakeHost struct {
	mu    sync.Mutex
	logs  []string
	calls []Call
	onLog func()
	wg    sync.WaitGroup
}

var fakeTools = []string{"echo", "sleep", "fail", "noop", "my-tool"}

func (h *fakeHost) Log(entry string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs = append(h.logs, entry)
	if h.onLog != nil {
		h.onLog()
	}
}

func (h *fakeHost) Submit(ctx context.Context, c Call, settle func(Reply)) {
	h.mu.Lock()
	h.calls = append(h.calls, c)
	h.mu.Unlock()
	var args struct {
		MS      int             `json:"ms"`
		Value   json.RawMessage `json:"value"`
		Message string          `json:"message"`
	}
	_ = json.Unmarshal(c.Args, &args)
	if args.Value == nil {
		args.Value = json.RawMessage("null")
	}
	switch c.Name {
	case "echo":
		settle(Reply{Value: c.Args})
	case "noop":
		settle(Reply{Value: []byte("null")})
	case "my-tool":
		settle(Reply{Value: []byte(`{"got":3}`)})
	case "fail":
		settle(Reply{Failed: true, Message: args.Message})
	case "sleep":
		h.wg.Go(func() {
			select {
			case <-time.After(time.Duration(args.MS) * time.Millisecond):
				settle(Reply{Value: args.Value})
			case <-ctx.Done():
				settle(Reply{Failed: true, Message: context.Cause(ctx).Error()})
			}
		})
	}
}

func runSource(t testing.TB, r *Runner, source string, l Limits) (Outcome, *fakeHost) {
	t.Helper()
	h := &fakeHost{}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out := r.Run(ctx, Program{Source: source, Tools: fakeTools, Limits: l}, h)
	h.wg.Wait()
	return out, h
}
