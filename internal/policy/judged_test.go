package policy

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// during is an approver that does something while the question is open.
type during struct {
	mu    sync.Mutex
	asked []string
	do    func(r pipeline.ApprovalRequest)

	// Nobody answers before so many questions have been put: whoever answers
	// the first of several at once starts its call, and the rest race with it.
	together int
	all      chan struct{}
}

func (a *during) RequestApproval(ctx context.Context, r pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	a.mu.Lock()
	a.asked = append(a.asked, r.Execution.CallID())
	if len(a.asked) == a.together {
		close(a.all)
	}
	if a.do != nil {
		a.do(r)
	}
	a.mu.Unlock()
	if a.together == 0 {
		return pipeline.AllowedOnce, nil
	}
	if r.Sent != nil {
		r.Sent()
	}
	select {
	case <-a.all:
		return pipeline.AllowedOnce, nil
	case <-ctx.Done():
		return pipeline.Cancelled, nil
	}
}

type worker struct {
	scope *registry.Scope
	cwd   string
}

func (a worker) AgentID() string        { return "a" }
func (a worker) Scope() *registry.Scope { return a.scope }
func (a worker) Cwd() string            { return a.cwd }

// bench has a tool write, which changes what Judged lets it, and one of a server.
type bench struct {
	pipe    *pipeline.Pipeline
	policy  *Policy
	who     worker
	asked   *during
	link    string // in the workspace
	outside string
	remote  Tool
	changed []string
	ran     int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{asked: &during{}, outside: filepath.Join(base, "elsewhere")}
	b.who.cwd = filepath.Join(base, "work")
	b.link = filepath.Join(b.who.cwd, "link")
	for _, dir := range []string{filepath.Join(b.who.cwd, "sub"), b.outside} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.turn(t, "sub")
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b.pipe, err = pipeline.New(reg, pipeline.Options{Approver: b.asked}); err != nil {
		t.Fatal(err)
	}
	b.remote = Tool{Class: Other, Remote: "put of the MCP server files", Identity: "one"}
	if b.policy, err = New(Config{Approver: b.asked, Describe: func(string) (Tool, bool) { return b.remote, true }}); err != nil {
		t.Fatal(err)
	}
	b.who.scope = reg.Global().Child("session")
	t.Cleanup(b.who.scope.Close)
	if _, err := b.policy.Install(b.pipe, b.who.scope); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]func(jsonvalue.Value, registry.Run){
		"write": func(args jsonvalue.Value, run registry.Run) {
			real := resolve(filepath.Join(b.who.cwd, args.GetString("file_path")), 0)
			if b.policy.Judged(run.Execution(), real) {
				b.changed = append(b.changed, real)
			}
		},
		"bash": func(args jsonvalue.Value, _ registry.Run) {
			if args.GetString("command") == "turn" {
				b.turn(t, b.outside)
			}
		},
		"mcp__files__put": func(jsonvalue.Value, registry.Run) { b.ran++ },
	} {
		def := registry.Definition{
			Name: name, Description: name,
			Output: registry.Output{Schema: jsonvalue.MustFromGo(map[string]any{"type": "null"}), Render: nothing},
			Execute: func(_ context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
				body(args, run)
				return jsonvalue.Null(), nil
			},
		}
		if _, err := reg.Global().Register(def); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bench) turn(t *testing.T, to string) {
	_ = os.Remove(b.link)
	if err := os.Symlink(to, b.link); err != nil {
		t.Skip(err)
	}
}

func (b *bench) call(id, tool string, args map[string]any) pipeline.Call {
	return pipeline.Call{ID: id, Name: tool, Arguments: jsonvalue.MustFromGo(args), Agent: b.who}
}

// What the person says yes to is the file that the path led to when they were
// asked, however often the call is judged again while the question is open.
func TestAYesIsAboutTheFileThatWasAskedAbout(t *testing.T) {
	b := newBench(t)
	write := b.call("w", "write", map[string]any{"file_path": "link/x"})
	b.asked.do = func(r pipeline.ApprovalRequest) {
		b.turn(t, b.outside)
		if !r.Again().IsAsk() {
			t.Error("it does not ask any more")
		}
	}
	b.pipe.Execute(t.Context(), write)
	if len(b.asked.asked) != 1 || len(b.changed) != 0 {
		t.Errorf("asked %q, changed %q", b.asked.asked, b.changed)
	}
	// Left alone it is changed.
	b.asked.do = nil
	b.pipe.Execute(t.Context(), write)
	if len(b.changed) != 1 || b.changed[0] != filepath.Join(b.outside, "x") {
		t.Errorf("changed %q", b.changed)
	}
}

// A question that was put ahead is put again when a command before the call has
// turned the link.
func TestAQuestionAheadIsAboutTheFileOfThen(t *testing.T) {
	b := newBench(t)
	b.asked.together, b.asked.all = 2, make(chan struct{})
	_, err := b.pipe.RunBatch(t.Context(), []pipeline.Call{
		b.call("turn", "bash", map[string]any{"command": "turn"}),
		b.call("write", "write", map[string]any{"file_path": "link/x"}),
	}, silent{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.asked.asked, " "); got != "turn write write" {
		t.Errorf("asked about %s", got)
	}
	// Where nothing turned, once is enough.
	b = newBench(t)
	_, err = b.pipe.RunBatch(t.Context(), []pipeline.Call{
		b.call("one", "write", map[string]any{"file_path": "link/x"}),
		b.call("two", "write", map[string]any{"file_path": "link/y"}),
	}, silent{})
	if err != nil || len(b.asked.asked) != 2 || len(b.changed) != 2 {
		t.Errorf("asked %q, changed %q, %v", b.asked.asked, b.changed, err)
	}
}

// A server that offers another tool under the name while the person reads the
// question does not get their yes for it.
func TestAYesIsAboutTheToolThatWasAskedAbout(t *testing.T) {
	b := newBench(t)
	put := b.call("p", "mcp__files__put", map[string]any{})
	b.asked.do = func(pipeline.ApprovalRequest) { b.remote.Identity = "two" }
	r := b.pipe.Execute(t.Context(), put)
	if b.ran != 0 || !r.IsError() || !strings.Contains(r.Text(), "call it again") {
		t.Errorf("ran %d: %s", b.ran, r.Text())
	}
	if r := b.pipe.Execute(t.Context(), put); b.ran != 1 || r.IsError() {
		t.Errorf("ran %d: %s", b.ran, r.Text())
	}
}

// An answer of a listener that is no decision stays one, whatever is escalated.
func TestNoDecisionIsNotEscalated(t *testing.T) {
	b := newBench(t)
	if _, err := b.pipe.OnPreExecute(b.who.scope, func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
		return pipeline.Decision{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	r := b.pipe.Execute(t.Context(), b.call("b", "bash", map[string]any{"command": "ls", "sandbox_permissions": "danger-full-access", "justification": "so"}))
	if !r.IsError() || len(b.asked.asked) != 0 {
		t.Errorf("asked %q: %s", b.asked.asked, r.Text())
	}
}

type silent struct{}

func (silent) AppendCall(context.Context, int, pipeline.Call) error { return nil }
func (silent) AppendResult(context.Context, int, pipeline.Call, *registry.Execution, *registry.Result) error {
	return nil
}
func (silent) AppendContexts(context.Context, []registry.Context) error { return nil }

func nothing(_, _ jsonvalue.Value) ([]content.Block, error) { return nil, nil }
