//go:build unix

package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// world is a session with hooks, one tool and a log in memory.
type world struct {
	t      *testing.T
	hooks  *Hooks
	pipe   *pipeline.Pipeline
	scope  *registry.Scope
	cwd    string
	ran    atomic.Int32
	asked  []string
	fails  bool // the log refuses events
	logged bytes.Buffer

	mu     sync.Mutex
	events []string
}

func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logged.Write(p)
}

// RequestApproval says yes and keeps the reason.
func (w *world) RequestApproval(_ context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	w.asked = append(w.asked, req.Reason)
	return pipeline.AllowedOnce, nil
}

type who struct{ scope *registry.Scope }

func (w who) AgentID() string        { return "s" }
func (w who) Scope() *registry.Scope { return w.scope }

// hook is a hook file with one command at a point.
func hook(p Point, command string, more ...string) string {
	h := fmt.Sprintf(`{"type":"command","command":%s`, jsonvalue.String(command))
	return fmt.Sprintf(`{"hooks":{%q:[{"hooks":[%s}]}]}}`, string(p), h+strings.Join(more, ""))
}

func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	w := &world{t: t, cwd: t.TempDir()}
	sup := proc.NewSupervisor()
	t.Cleanup(func() { _ = sup.Close(context.Background()) })
	var parsed []*File
	for i, text := range files {
		d := Claude
		if i%2 == 1 {
			d = Codex
		}
		f, err := Parse(d, fmt.Sprintf("h%d.json", i), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	var err error
	w.hooks, err = New(Options{
		Supervisor: sup, SessionID: "s", Cwd: w.cwd, Transcript: "/log.jsonl",
		Logger: slog.New(slog.NewTextHandler(w, nil)),
		Record: func(typ string, data jsonvalue.Value) error {
			if w.fails {
				return errors.New("the disk is full")
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, typ+" "+data.Without("durationMs").String())
			return nil
		},
	}, parsed...)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w.pipe, err = pipeline.New(reg, pipeline.Options{Approver: w}); err != nil {
		t.Fatal(err)
	}
	w.scope = reg.Global().Child("s")
	_, err = w.scope.Register(registry.Definition{
		Name: "bash", Description: "Run.", RawParameters: jsonvalue.MustFromGo(map[string]any{"type": "object"}),
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
			Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
				s, _ := v.Str()
				return []content.Block{content.Text(s)}, nil
			},
		},
		Execute: func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
			w.ran.Add(1)
			if args.GetString("fail") != "" {
				return jsonvalue.Value{}, errors.New("the body failed")
			}
			return jsonvalue.String("body"), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.hooks.Install(w.pipe, w.scope); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) call(arguments string) *pipeline.Result {
	return w.pipe.Execute(w.t.Context(), pipeline.Call{ID: "c1", Name: "bash", RawArguments: arguments, Agent: who{w.scope}})
}

func (w *world) file(name string) string {
	data, err := os.ReadFile(filepath.Join(w.cwd, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func TestAToolCallWithHooks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		file   string
		args   string
		text   string // of the result
		failed bool
		ran    int
		asked  string
		extra  string // the contexts
	}{
		{name: "nothing against it", file: hook(PreToolUse, "true"), text: "body", ran: 1},
		{name: "refused", file: hook(PreToolUse, "echo 'not here' >&2; exit 2"), text: "Error: not here", failed: true},
		{name: "refused without JSON that holds", file: hook(PreToolUse, "echo '{'"), text: "Error: a PreToolUse hook gave no valid answer", failed: true},
		{name: "refused for silence", file: hook(PreToolUse, "sleep 300", `,"timeout":0.2`), text: "Error: a PreToolUse hook gave no valid answer, which counts as no: it was ended after 200ms", failed: true},
		{name: "refused for a violent end", file: hook(PreToolUse, "kill -KILL $$"), text: "Error: a PreToolUse hook gave no valid answer, which counts as no: it was ended by SIGKILL", failed: true},
		{name: "refused for want of the command", file: hook(PreToolUse, "./no-such-hook"), text: "Error: a PreToolUse hook gave no valid answer", failed: true},
		{name: "a hook's own error", file: hook(PreToolUse, "exit 1"), text: "body", ran: 1},
		{name: "asked", file: hook(PreToolUse, "echo '"+specific(PreToolUse, `"permissionDecision":"ask","permissionDecisionReason":"sure?"`)+"'"), text: "body", ran: 1, asked: "sure?"},
		{name: "context before", file: hook(PreToolUse, "echo '"+specific(PreToolUse, `"additionalContext":"note"`)+"'"), text: "body", ran: 1, extra: "note/hooks-claude "},
		{name: "context before a failure", file: hook(PreToolUse, "echo '"+specific(PreToolUse, `"additionalContext":"note"`)+"'"), args: `{"fail":"y"}`, text: "Error: the body failed", failed: true, ran: 1, extra: "note/hooks-claude "},
		{name: "context after", file: hook(PostToolUse, "echo '"+specific(PostToolUse, `"additionalContext":"audited"`)+"'"), text: "body", ran: 1, extra: "audited/hooks-claude "},
		{name: "result rejected", file: hook(PostToolUse, "echo 'lint: 3 errors' >&2; exit 2"), text: "lint: 3 errors", failed: true, ran: 1},
		{name: "result rejected for JSON that does not hold", file: hook(PostToolUse, `echo '{"decision":1}'`), text: "a PostToolUse hook gave no valid answer", failed: true, ran: 1},
		{name: "a slow look at a result", file: hook(PostToolUse, "sleep 300", `,"timeout":0.2`), text: "body", ran: 1},
		{name: "no look at failures", file: hook(PostToolUse, "echo seen >&2; exit 2"), args: `{"fail":"y"}`, text: "Error: the body failed", failed: true, ran: 1},
		{name: "a flood", file: hook(PreToolUse, "head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2; exit 2"), text: "Error: yyy", failed: true},
		{name: "a flood of JSON", file: hook(PreToolUse, `printf '{"reason":"'; head -c 300000 /dev/zero | tr '\0' x; printf '"}'`), text: "Error: a PreToolUse hook gave no valid answer, which counts as no: its output is longer than 65536 bytes", failed: true},
		{name: "input is not read", file: hook(PreToolUse, "exec <&-; true"), args: `{"x":"` + strings.Repeat("x", 300_000) + `"}`, text: "body", ran: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.file)
			began := time.Now()
			r := w.call(tt.args)
			if took := time.Since(began); took > 100*time.Second {
				t.Errorf("took %s", took)
			}
			text, extra := r.Text(), ""
			for _, c := range r.Contexts() {
				extra += content.JoinText(c.Content) + "/" + c.Source.GetString("plugin") + " "
			}
			if !strings.HasPrefix(text, tt.text) || r.IsError() != tt.failed || int(w.ran.Load()) != tt.ran || extra != tt.extra {
				t.Errorf("%.300q, failed %v, ran %d, extra %q", text, r.IsError(), w.ran.Load(), extra)
			}
			if len(text) > MaxText+100 {
				t.Errorf("%d bytes reach the model", len(text))
			}
			if strings.Join(w.asked, ",") != tt.asked {
				t.Errorf("asked %q", w.asked)
			}
			if len(w.hooks.pending) != 0 {
				t.Error("context of a call that is over is kept")
			}
			for _, e := range w.events {
				if len(e) > 3*maxSummary {
					t.Errorf("an event of %d bytes", len(e))
				}
			}
		})
	}
}

func TestWhatIsLogged(t *testing.T) {
	w := newWorld(t,
		`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"},{"type":"command","command":"true"},{"type":"command","command":"echo careful >&2"}]},{"matcher":"edit","hooks":[{"type":"command","command":"exit 2"}]}]}}`,
		`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"sleep 300","timeout":0.2}]}]}}`)
	if _, err := w.hooks.PromptSubmit(t.Context(), 7, nil); err != nil {
		t.Fatal(err)
	}
	w.call("")
	want := `hook/invoked {"turn":7,"point":"PreToolUse","dialect":"claude","handlerId":"claude:PreToolUse:1","matcher":"Bash"}
hook/result {"turn":7,"point":"PreToolUse","handlerId":"claude:PreToolUse:1","decision":"pass","exitCode":0}
hook/invoked {"turn":7,"point":"PreToolUse","dialect":"claude","handlerId":"claude:PreToolUse:2","matcher":"Bash"}
hook/result {"turn":7,"point":"PreToolUse","handlerId":"claude:PreToolUse:2","decision":"pass","exitCode":0,"stderrSummary":"careful"}
hook/invoked {"turn":7,"point":"PreToolUse","dialect":"codex","handlerId":"codex:PreToolUse:1"}
hook/result {"turn":7,"point":"PreToolUse","handlerId":"codex:PreToolUse:1","decision":"block","error":"it was ended after 200ms without an answer"}`
	if got := strings.Join(w.events, "\n"); got != want {
		t.Errorf("got\n%s\nwanted\n%s", got, want)
	}
}

func TestWhatAHookReads(t *testing.T) {
	t.Setenv("SOME_API_KEY", "hidden")
	w := newWorld(t, `{"hooks":{
		"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"cat > pre; pwd -P > where; echo \"$CLAUDE_PROJECT_DIR $SOME_API_KEY\" > env"}]}],
		"PostToolUse":[{"hooks":[{"type":"command","command":"cat > post"}]}],
		"UserPromptSubmit":[{"hooks":[{"type":"command","command":"cat > prompt"}]}],
		"SessionStart":[{"matcher":"startup","hooks":[{"type":"command","command":"cat > start"}]},{"matcher":"resume","hooks":[{"type":"command","command":"touch resumed"}]}],
		"Stop":[{"hooks":[{"type":"command","command":"cat > stop"}]}]}}`)
	if _, err := w.hooks.PromptSubmit(t.Context(), 3, []content.Block{content.Text("do it")}); err != nil {
		t.Fatal(err)
	}
	w.call(`{"command":"ls"}`)
	if _, err := w.hooks.Stop(t.Context(), "all done"); err != nil {
		t.Fatal(err)
	}
	head := func(p Point) string {
		return `{"session_id":"s","transcript_path":"/log.jsonl","cwd":` + jsonvalue.String(w.cwd).String() + `,"permission_mode":"default","turn_id":"3","hook_event_name":"` + string(p) + `",`
	}
	call := `"tool_name":"%s","tool_input":{"command":"ls"},"tool_use_id":"c1"`
	for name, want := range map[string]string{
		"start":  head(SessionStart) + `"source":"startup"}`,
		"prompt": head(UserPromptSubmit) + `"prompt":"do it"}`,
		"pre":    head(PreToolUse) + fmt.Sprintf(call, "Bash") + `}`,
		"post":   head(PostToolUse) + fmt.Sprintf(call, "bash") + `,"tool_response":"body"}`,
		"stop":   head(Stop) + `"stop_hook_active":false,"last_assistant_message":"all done"}`,
		"env":    w.cwd + " ",
	} {
		if got := w.file(name); got != want+"\n" {
			t.Errorf("%s: %s wanted %s", name, got, want)
		}
	}
	if real, _ := filepath.EvalSymlinks(w.cwd); strings.TrimSpace(w.file("where")) != real {
		t.Errorf("ran in %s", w.file("where"))
	}
	if _, err := os.Stat(filepath.Join(w.cwd, "resumed")); err == nil {
		t.Error("a matcher of SessionStart counts for nothing")
	}
}

func TestPrompts(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       PromptVerdict
		contexts   string
	}{
		{name: "passes", file: hook(UserPromptSubmit, "true")},
		{name: "blocked", file: hook(UserPromptSubmit, "echo no >&2; exit 2"), want: PromptVerdict{Block: true, Reason: "no"}},
		{name: "a failing hook", file: hook(UserPromptSubmit, "echo '{'"), want: PromptVerdict{Block: true, Failed: true, Reason: "a UserPromptSubmit hook gave no valid answer"}},
		{name: "context", file: hook(UserPromptSubmit, "echo on main"), contexts: "on main;"},
		{name: "context of the start too", file: `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo b"}]}],"SessionStart":[{"hooks":[{"type":"command","command":"echo a"}]}]}}`, contexts: "a;b;"},
		{name: "a failing start is no no", file: hook(SessionStart, "sleep 300", `,"timeout":0.2`)},
		{name: "the start stops it", file: hook(SessionStart, `echo '{"continue":false,"stopReason":"closed"}'`), want: PromptVerdict{Block: true, Reason: "closed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := newWorld(t, tt.file).hooks.PromptSubmit(t.Context(), 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			contexts := ""
			for _, c := range v.Contexts {
				contexts += content.JoinText(c.Content) + ";"
			}
			if v.Block != tt.want.Block || v.Failed != tt.want.Failed || !strings.HasPrefix(v.Reason, tt.want.Reason) || contexts != tt.contexts {
				t.Errorf("%+v, contexts %q", v, contexts)
			}
		})
	}
}

func TestStopHooksKeepATurnGoingSoOftenAndNoMore(t *testing.T) {
	w := newWorld(t, hook(Stop, "cat >> in; echo more >&2; exit 2"))
	if _, err := w.hooks.PromptSubmit(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	for i := range MaxContinues {
		v, err := w.hooks.Stop(t.Context(), "")
		if err != nil || content.JoinText(v.Continue) != "more" || v.Source.String() != `{"kind":"plugin","plugin":"hooks-claude"}` {
			t.Fatalf("%d: %+v, %v", i, v, err)
		}
	}
	if v, err := w.hooks.Stop(t.Context(), ""); err != nil || v.Continue != nil {
		t.Errorf("and again: %+v, %v", v, err)
	}
	if in := w.file("in"); strings.Count(in, `"stop_hook_active":false`) != 1 || strings.Count(in, `"stop_hook_active":true`) != MaxContinues {
		t.Errorf("the hook read %s", in)
	}
	if _, err := w.hooks.PromptSubmit(t.Context(), 2, nil); err != nil {
		t.Fatal(err)
	}
	if v, _ := w.hooks.Stop(t.Context(), ""); v.Continue == nil {
		t.Error("the next turn cannot be kept going")
	}
}

func TestAHookStopsTheTurn(t *testing.T) {
	for _, p := range []Point{PreToolUse, PostToolUse} {
		w := newWorld(t, hook(p, `echo '{"continue":false,"stopReason":"enough"}'`))
		w.call("")
		if why, stop := w.hooks.AfterStep(); !stop || why != "enough" {
			t.Errorf("%s: %v %q", p, stop, why)
		}
		if _, stop := w.hooks.AfterStep(); stop {
			t.Errorf("%s: it stops twice", p)
		}
		if !strings.Contains(w.logged.String(), "enough") {
			t.Errorf("%s: nobody is told", p)
		}
	}
}

func TestCancellationEndsAHookAndEverythingItStarted(t *testing.T) {
	w := newWorld(t, hook(PreToolUse, "sleep 60 & echo $! > pid; wait"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *pipeline.Result, 1)
	go func() { done <- w.pipe.Execute(ctx, pipeline.Call{ID: "c", Name: "bash", Agent: who{w.scope}}) }()
	for range 12_000 {
		if data, err := os.ReadFile(filepath.Join(w.cwd, "pid")); err == nil && bytes.HasSuffix(data, []byte("\n")) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	select {
	case r := <-done:
		if r.Text() != "Error: tool call aborted before dispatch" || w.ran.Load() != 0 {
			t.Errorf("%q, ran %d", r.Text(), w.ran.Load())
		}
	case <-time.After(50 * time.Second):
		t.Fatal("the call does not end")
	}
	if n := len(w.events); n != 2 {
		t.Errorf("%d events, wanted an end for the beginning: %q", n, w.events)
	}
}

func TestALogThatFailsRefusesTheCall(t *testing.T) {
	w := newWorld(t, hook(PreToolUse, "touch ran"))
	w.fails = true
	if r := w.call(""); !r.IsError() || !strings.Contains(r.Text(), "could not be logged") || w.ran.Load() != 0 {
		t.Errorf("%q, ran %d", r.Text(), w.ran.Load())
	}
	if _, err := os.Stat(filepath.Join(w.cwd, "ran")); err == nil {
		t.Error("the hook ran without being in the log")
	}
}

// Calls that overlap keep their hooks apart.
func TestCallsInParallel(t *testing.T) {
	w := newWorld(t, hook(PreToolUse, `if grep -q odd; then echo "odd is out" >&2; exit 2; fi`))
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			args, wantErr := `{"n":"even"}`, false
			if i%2 == 1 {
				args, wantErr = `{"n":"odd"}`, true
			}
			r := w.pipe.Execute(t.Context(), pipeline.Call{ID: fmt.Sprint("c", i), Name: "bash", RawArguments: args, Agent: who{w.scope}})
			if r.IsError() != wantErr {
				t.Errorf("%s: %q", args, r.Text())
			}
		})
	}
	wg.Wait()
	if w.ran.Load() != 6 || len(w.events) != 24 {
		t.Errorf("ran %d, %d events", w.ran.Load(), len(w.events))
	}
}

func TestProblemsOfFilesAreReported(t *testing.T) {
	w := newWorld(t, `{"hooks":{"PreToolUse":[{"matcher":"(","hooks":[{"type":"command","command":"exit 2"}]}]}}`)
	if !w.hooks.Empty() || !strings.Contains(w.logged.String(), "matcher") {
		t.Errorf("empty %v, log %s", w.hooks.Empty(), w.logged.String())
	}
	if r := w.call(""); r.IsError() {
		t.Errorf("the call fails: %s", r.Text())
	}
}

func TestWhatAHookLeavesRunningEndsWithIt(t *testing.T) {
	w := newWorld(t, hook(PreToolUse, "sleep 60 >/dev/null 2>&1 & echo $! > pid"))
	if r := w.call(""); r.IsError() {
		t.Fatal(r.Text())
	}
	pid, err := strconv.Atoi(strings.TrimSpace(w.file("pid")))
	if err != nil {
		t.Fatal(err)
	}
	for range 4000 { // until whoever inherits it has reaped it
		if syscall.Kill(pid, 0) != nil {
			return
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a process of a hook lives on")
}
