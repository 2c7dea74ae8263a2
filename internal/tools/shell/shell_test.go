package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/sandbox"
)

type agent struct {
	scope        *registry.Scope
	cwd, session string
}

func (a *agent) AgentID() string        { return "agent-" + a.session }
func (a *agent) Scope() *registry.Scope { return a.scope }
func (a *agent) Cwd() string            { return a.cwd }
func (a *agent) SessionID() string      { return a.session }
func (a *agent) SessionLogPath() string { return "/logs/" + a.session + ".jsonl" }

type fakeRun struct {
	exec *registry.Execution
	mu   sync.Mutex
	live bytes.Buffer
}

func (r *fakeRun) Execution() *registry.Execution     { return r.exec }
func (r *fakeRun) DeferContext(registry.Context)      {}
func (r *fakeRun) ConcludeTurn()                      {}
func (r *fakeRun) Emit(string, jsonvalue.Value) error { return errors.New("no session") }
func (r *fakeRun) Output(p []byte)                    { r.mu.Lock(); defer r.mu.Unlock(); r.live.Write(p) }

func (r *fakeRun) String() string { r.mu.Lock(); defer r.mu.Unlock(); return r.live.String() }

type fixture struct {
	t     *testing.T
	reg   *registry.Registry
	tool  *registry.Tool
	agent *agent
	sup   *proc.Supervisor
}

func setup(t *testing.T, opts Options) *fixture {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sup := proc.NewSupervisor()
	t.Cleanup(func() {
		if err := sup.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	opts.Supervisor = sup
	if opts.SpillDir == "" {
		opts.SpillDir = filepath.Join(t.TempDir(), "spill")
	}
	if _, err := Register(reg.Global(), opts); err != nil {
		t.Fatal(err)
	}
	tool, ok := reg.Global().Get("bash")
	if !ok {
		t.Fatal("the tool is not visible")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t: t, reg: reg, tool: tool, sup: sup, agent: &agent{scope: reg.Global().Child("s"), cwd: dir, session: "S1"}}
}

// call runs the body with checked arguments and a checked value.
func (f *fixture) call(ctx context.Context, args map[string]any) (jsonvalue.Value, *fakeRun, error) {
	f.t.Helper()
	if _, ok := args["description"]; !ok {
		args["description"] = "Do something for a test"
	}
	a := jsonvalue.MustFromGo(args)
	if bad := f.tool.ValidateArgs(a); bad != nil {
		f.t.Fatalf("arguments: %v", bad)
	}
	exec, err := f.reg.Begin(registry.ExecutionSpec{CallID: "c", Name: "bash", Arguments: a, Agent: f.agent})
	if err != nil {
		f.t.Fatal(err)
	}
	run := &fakeRun{exec: exec}
	v, err := f.tool.Execute(ctx, a, run)
	if err == nil {
		if bad := f.tool.ValidateOutput(v); bad != nil {
			f.t.Fatalf("value: %v", bad)
		}
	}
	return v, run, err
}

func (f *fixture) text(v jsonvalue.Value) string {
	f.t.Helper()
	blocks, err := f.tool.Render(jsonvalue.Object(), v)
	if err != nil {
		f.t.Fatal(err)
	}
	return content.JoinText(blocks)
}

func (f *fixture) card(args, v jsonvalue.Value) *cards.Result {
	f.t.Helper()
	meta, err := f.tool.PresentationMeta(args, v)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.tool.PresentResult(args, cards.ResultInput{Content: []content.Block{content.Text(f.text(v))}, Meta: meta})
}

func TestModelText(t *testing.T) {
	f := setup(t, Options{})
	tests := []struct{ command, want string }{
		{"echo SNAPSHOT_OK", "SNAPSHOT_OK\n"},
		{"printf 'hello\\n\\nWORLD'", "hello\n\nWORLD"},
		{"true", "(no output)"},
		{"false", "(no output)\n[exit code: 1]"},
		{"echo out; exit 3", "out\n[exit code: 3]"},
		{"printf out; exit 3", "out\n[exit code: 3]"},
		{"printf out; printf err >&2", "out\n[stderr]\nerr"},
		{"echo out; echo err >&2; exit 2", "out\n[stderr]\nerr\n[exit code: 2]"},
		{"echo err >&2", "[stderr]\nerr\n"},
		{"kill -KILL $$", "(no output)\n[killed by signal: SIGKILL]"},
		{"echo '[exit code: 9]'", "[exit code: 9]\n"},
		{"cat; echo closed", "closed\n"},
		{"pwd", f.agent.cwd + "\n"},
		{"echo $DSH_SHELL $DSH_SESSION_ID $DSH_SESSION_JSONL $TERM $NO_COLOR $PAGER", "1 S1 /logs/S1.jsonl dumb 1 cat\n"},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			v, _, err := f.call(t.Context(), map[string]any{"command": tt.command})
			if err != nil {
				t.Fatal(err)
			}
			if got := f.text(v); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRenderMarkersInOrder(t *testing.T) {
	f := setup(t, Options{})
	stream := func(text, path string, truncated bool) map[string]any {
		m := map[string]any{"text": text, "truncated": truncated}
		if path != "" {
			m["spillPath"] = path
		}
		return m
	}
	value := func(exit, signal any, timedOut bool, stdout, stderr map[string]any) jsonvalue.Value {
		return jsonvalue.MustFromGo(map[string]any{
			"kind": "foreground", "exitCode": exit, "signal": signal, "timedOut": timedOut, "aborted": false,
			"timeoutMs": 1500, "stdout": stdout, "stderr": stderr,
		})
	}
	tests := []struct {
		name  string
		value jsonvalue.Value
		want  string
	}{
		{
			"everything", value(nil, "SIGTERM", true, stream("a", "/s/1", true), stream("b\n", "", true)),
			"a\n[output truncated; full output: /s/1]\n[stderr]\nb\n[output truncated; full output: (unavailable)]\n[timed out after 1500ms]\n[killed by signal: SIGTERM]",
		},
		{
			"timed out but exited", value(0, nil, true, stream("a\n", "", false), stream("", "", false)),
			"a\n[timed out after 1500ms]",
		},
		{
			"timed out with a status", value(143, nil, true, stream("", "", false), stream("", "", false)),
			"(no output)\n[timed out after 1500ms]\n[exit code: 143]",
		},
	}
	for _, tt := range tests {
		if bad := f.tool.ValidateOutput(tt.value); bad != nil {
			t.Fatalf("%s: %v", tt.name, bad)
		}
		if got := f.text(tt.value); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestArgumentErrors(t *testing.T) {
	f := setup(t, Options{})
	file := filepath.Join(f.agent.cwd, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"command": ""}, "invalid command: expected a non-empty string"},
		{map[string]any{"command": "echo \x00"}, "invalid command: it holds a NUL character, which no program can be given"},
		{map[string]any{"command": "true", "description": ""}, "invalid description: expected a non-empty string"},
		{map[string]any{"command": "true", "timeoutMs": 0}, "invalid timeoutMs: expected a positive number, got 0"},
		{map[string]any{"command": "true", "timeoutMs": -2.5}, "invalid timeoutMs: expected a positive number, got -2.5"},
		{map[string]any{"command": "true", "workdir": "none"}, `cannot run in "` + filepath.Join(f.agent.cwd, "none") + `": there is no such directory`},
		{map[string]any{"command": "true", "workdir": "file"}, `cannot run in "` + file + `": not a directory`},
	}
	for _, tt := range tests {
		if _, _, err := f.call(t.Context(), tt.args); err == nil || err.Error() != tt.want {
			t.Errorf("%v: got %v, want %s", tt.args, err, tt.want)
		}
	}
}

func TestTimeouts(t *testing.T) {
	var f *fixture
	// On a slow machine the time may be over before the first word.
	for limit := 300; ; limit *= 3 {
		f = setup(t, Options{DefaultTimeout: time.Duration(limit) * time.Millisecond})
		v, _, err := f.call(t.Context(), map[string]any{"command": "echo begun; sleep 100"})
		if err != nil {
			t.Fatal(err)
		}
		end := fmt.Sprintf("[timed out after %dms]\n[killed by signal: SIGTERM]", limit)
		got := f.text(v)
		if got == "begun\n"+end {
			break
		}
		if limit > 30_000 || strings.Contains(got, "begun") || !strings.HasSuffix(got, end) {
			t.Fatalf("got %q", got)
		}
	}
	v, _, err := f.call(t.Context(), map[string]any{"command": "sleep 100", "timeoutMs": 50})
	if err != nil || v.Get("timeoutMs").Canonical() != "50" {
		t.Errorf("got %s, %v", v, err)
	}
	v, _, err = f.call(t.Context(), map[string]any{"command": "true", "timeoutMs": 1e15})
	if err != nil || v.Get("timeoutMs").Canonical() != "600000" {
		t.Errorf("a larger limit must be cut: %s, %v", v, err)
	}
}

func TestCancelIsAnError(t *testing.T) {
	f := setup(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	started := filepath.Join(f.agent.cwd, "started")
	go func() {
		for {
			if _, err := os.Stat(started); err == nil {
				cancel()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, _, err := f.call(ctx, map[string]any{"command": "touch started; sleep 100"}); err == nil || err.Error() != "command aborted" {
		t.Errorf("got %v", err)
	}
	if _, _, err := f.call(ctx, map[string]any{"command": "touch never"}); err == nil || err.Error() != "command aborted" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.agent.cwd, "never")); err == nil {
		t.Error("a cancelled call ran")
	}
}

func TestWorkdirAndCanonicalCwd(t *testing.T) {
	f := setup(t, Options{})
	real := f.agent.cwd
	if err := os.Mkdir(filepath.Join(real, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	f.agent.cwd = link
	for workdir, want := range map[string]string{"": real, "sub": real + "/sub", real + "/sub": real + "/sub", ".": real} {
		v, _, err := f.call(t.Context(), map[string]any{"command": "pwd", "workdir": workdir})
		if err != nil || f.text(v) != want+"\n" {
			t.Errorf("workdir %q: %q, %v; want %q", workdir, f.text(v), err, want)
		}
	}
}

func TestCredentialsAreNotPassedOn(t *testing.T) {
	f := setup(t, Options{Environ: func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "DEEPSEEK_API_KEY=k", "GITHUB_TOKEN=t", "my_secret=s", "DSH_OLD=o", "KEEP=yes"}
	}, Home: "/home/x/.dsh"})
	v, _, err := f.call(t.Context(), map[string]any{"command": "env"})
	if err != nil {
		t.Fatal(err)
	}
	got := f.text(v)
	for _, bad := range []string{"API_KEY", "GITHUB_TOKEN", "my_secret", "DSH_OLD"} {
		if strings.Contains(got, bad) {
			t.Errorf("%s reached the command", bad)
		}
	}
	for _, want := range []string{"KEEP=yes\n", "DSH_HOME=/home/x/.dsh\n", "GIT_TERMINAL_PROMPT=0\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from %q", want, got)
		}
	}
}

func TestLongOutputIsKeptInAFile(t *testing.T) {
	f := setup(t, Options{})
	v, run, err := f.call(t.Context(), map[string]any{"command": "seq 1 30000"})
	if err != nil {
		t.Fatal(err)
	}
	path := v.Get("stdout").GetString("spillPath")
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(string(data), "\n30000\n") || !strings.HasPrefix(string(data), "1\n2\n") {
		t.Fatalf("file of %d bytes, %v", len(data), err)
	}
	got := f.text(v)
	if !strings.HasPrefix(got, "1\n2\n") || !strings.HasSuffix(got, "\n30000\n[output truncated; full output: "+path+"]") {
		t.Errorf("text ends %q", got[len(got)-200:])
	}
	if len(v.Get("stdout").GetString("text")) > 64_000 {
		t.Error("too much text was kept")
	}
	card := f.card(jsonvalue.MustFromGo(map[string]any{"command": "seq 30000", "description": "Count"}), v)
	if len(card.Files) != 1 || card.Files[0] != (cards.File{Path: path, Name: "full stdout"}) {
		t.Errorf("the card links to %v", card.Files)
	}
	if live := run.String(); !strings.HasPrefix(live, "1\n2\n") {
		t.Errorf("the live preview begins %q", live[:min(20, len(live))])
	}
}

// What a command ran under is in its value, and refusals of the system stay what
// they are.
func TestUnconfined(t *testing.T) {
	f := setup(t, Options{Confine: func(*registry.Execution) (*sandbox.Run, error) {
		run, err := sandbox.New(sandbox.None).Command(sandbox.Policy{Mode: sandbox.FullAccess})
		run.Env = []string{"FROM_BOX=yes"}
		return run, err
	}})
	v, _, err := f.call(t.Context(), map[string]any{"command": "echo $FROM_BOX; echo '/x: Permission denied' >&2; false"})
	if err != nil {
		t.Fatal(err)
	}
	if box := v.Get("sandbox"); box.String() != `{"mode":"danger-full-access","denied":false}` {
		t.Errorf("%s", box)
	}
	if got := f.text(v); got != "yes\n[stderr]\n/x: Permission denied\n[exit code: 1]" {
		t.Errorf("%q", got)
	}
}

// The lines about the sandbox come before those about how the command ended.
func TestSandboxLines(t *testing.T) {
	f := setup(t, Options{})
	v, _, err := f.call(t.Context(), map[string]any{"command": "echo out; exit 1"})
	if err != nil {
		t.Fatal(err)
	}
	const hint = "[sandbox: escalation available — retry this exact command once with sandbox_permissions (the narrowest wider mode that suffices) + justification; the approval prompt asks the user]\n"
	for _, c := range []struct{ sandbox, stdout, want string }{
		{`{"mode":"read-only","denied":true,"enforcement":"landlock, no network"}`, "out\n", "out\n[sandbox: file access denied under read-only mode]\n" + hint + "[exit code: 1]"},
		{`{"mode":"workspace-write","denied":false,"enforcement":"landlock, no network"}`, "out\n", "out\n[exit code: 1]"},
		{`{"mode":"workspace-write","denied":true,"enforcement":"landlock, no network","undone":["/w/.git/hooks/x","/w/.git/config"]}`, "out\n", "out\n[sandbox: file access denied under workspace-write mode]\n[sandbox: removed, or renamed to *.held-back, because programs would run by it: /w/.git/hooks/x, /w/.git/config]\n" + hint + "[exit code: 1]"},
		{`{"mode":"workspace-write","denied":false,"enforcement":"bwrap, no network"}`, "Could not resolve host\n", "Could not resolve host\n[sandbox: no network under workspace-write mode]\n" + hint + "[exit code: 1]"},
		{`{"mode":"workspace-write","denied":false,"enforcement":"bwrap"}`, "Could not resolve host\n", "Could not resolve host\n[exit code: 1]"},
	} {
		box, err := jsonvalue.Parse([]byte(c.sandbox))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.text(v.With("sandbox", box).With("stdout", jsonvalue.MustFromGo(map[string]any{"text": c.stdout, "truncated": false}))); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestConfinementFailureRunsNothing(t *testing.T) {
	f := setup(t, Options{Confine: func(*registry.Execution) (*sandbox.Run, error) { return nil, errors.New("no confinement here") }})
	if _, _, err := f.call(t.Context(), map[string]any{"command": "touch ran"}); err == nil || err.Error() != "no confinement here" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.agent.cwd, "ran")); err == nil {
		t.Error("the command ran")
	}
}

func TestCards(t *testing.T) {
	f := setup(t, Options{})
	args := jsonvalue.MustFromGo(map[string]any{"command": "echo '[exit code: 7]'; exit 3", "description": "Fail", "workdir": "sub"})
	call := f.tool.PresentCall(args)
	if call.Card != cards.Terminal || call.Title != "echo '[exit code: 7]'; exit 3" || call.Description != "Fail" || call.Cwd != "sub" {
		t.Errorf("call card %+v", call)
	}
	v, _, err := f.call(t.Context(), map[string]any{"command": "echo '[exit code: 7]'"})
	if err != nil {
		t.Fatal(err)
	}
	if c := f.card(args, v); c.Card != cards.Terminal || c.Output != "[exit code: 7]\n" || c.ExitCode == nil || *c.ExitCode != 0 || c.Signal != "" {
		t.Errorf("a printed marker must not be believed: %+v", c)
	}
	v, _, err = f.call(t.Context(), map[string]any{"command": "kill -9 $$"})
	if err != nil {
		t.Fatal(err)
	}
	if c := f.card(args, v); c.ExitCode != nil || c.Signal != "SIGKILL" || c.Notes != "[killed by signal: SIGKILL]" {
		t.Errorf("result card %+v", c)
	}
	failed := f.tool.PresentResult(args, cards.ResultInput{IsError: true, Content: []content.Block{content.Text("Error: command aborted")}})
	if failed.Card != cards.Terminal || failed.Output != "Error: command aborted" || failed.Notes != failed.Output || failed.ExitCode != nil || failed.Signal != "" {
		t.Errorf("failed card %+v", failed)
	}
}

func TestSessionLeftoversEndWithTheSession(t *testing.T) {
	f := setup(t, Options{})
	if _, _, err := f.call(t.Context(), map[string]any{"command": "sleep 100 >/dev/null 2>&1 &"}); err != nil {
		t.Fatal(err)
	}
	if f.sup.Live() != 1 {
		t.Fatalf("%d groups, want 1", f.sup.Live())
	}
	if err := f.sup.CloseOwner(t.Context(), "S1"); err != nil {
		t.Fatal(err)
	}
	if f.sup.Live() != 0 {
		t.Error("a background process outlived its session")
	}
}

func TestCloseRemovesOwnSpillFolder(t *testing.T) {
	sup := proc.NewSupervisor()
	s, err := New(Options{Supervisor: sup})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.opts.SpillDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.opts.SpillDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a tool without a supervisor was made")
	}
	if _, err := New(Options{Supervisor: proc.NewSupervisor(), DefaultTimeout: -1}); err == nil {
		t.Error("a negative timeout was accepted")
	}
	s, err := New(Options{Supervisor: proc.NewSupervisor(), DefaultTimeout: time.Hour})
	if err != nil || s.opts.DefaultTimeout != MaxTimeout {
		t.Errorf("%v, %v", s.opts.DefaultTimeout, err)
	}
}
