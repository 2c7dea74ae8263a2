package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/elicit"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/mcp/mcptest"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

func TestMain(m *testing.M) {
	mcptest.MaybeServe()
	os.Exit(m.Run())
}

// world is a session with its servers, without a model.
type world struct {
	t     *testing.T
	procs *proc.Supervisor
	scope *registry.Scope
	pipe  *pipeline.Pipeline
	mcp   *Session
	log   *buffer
	cwd   string

	mu      sync.Mutex
	notices []string
	events  []string
	form    func(context.Context, elicit.Form) (map[string]json.RawMessage, error)
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (w *world) AgentID() string        { return "agent" }
func (w *world) Scope() *registry.Scope { return w.scope }

func (w *world) ElicitForm(ctx context.Context, _, _ string, f elicit.Form) (map[string]json.RawMessage, error) {
	if w.form == nil {
		return nil, elicit.ErrNoChannel
	}
	return w.form(ctx, f)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := pipeline.New(reg, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, procs: proc.NewSupervisor(), scope: reg.Global().Child("s"), pipe: pipe, log: &buffer{}, cwd: t.TempDir()}
	w.mcp = New(Options{
		Supervisor: w.procs, Scope: w.scope, SessionID: "s", Cwd: w.cwd, Version: "test", Wait: 60 * time.Second,
		Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Notify: func(_ bool, title, detail string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notices = append(w.notices, title+"|"+detail)
		},
		Record: func(eventType string, data jsonvalue.Value) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, eventType+" "+data.String())
			return nil
		},
	})
	t.Cleanup(func() {
		w.mcp.Close()
		// The supervisor takes note of an end a moment after it.
		until(t, "no process is left", func() bool { return w.procs.Live() == 0 })
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		if err := w.procs.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

// role is a scripted server.
func role(name string, env ...string) Config {
	c := Config{Name: name, Origin: FromUser, Command: os.Args[0], Env: map[string]string{mcptest.RoleVariable: name}}
	for i := 0; i+1 < len(env); i += 2 {
		c.Env[env[i]] = env[i+1]
	}
	return c
}

// start starts servers and waits until they have settled.
func (w *world) start(list ...Config) {
	w.t.Helper()
	w.mcp.Start(list...)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	w.mcp.Settle(ctx)
	if ctx.Err() != nil {
		w.t.Fatalf("the servers did not settle: %+v\n%s", w.mcp.Status(), w.log)
	}
}

func (w *world) call(name, args string) *registry.Result {
	return w.callContext(context.Background(), name, args)
}

func (w *world) callContext(ctx context.Context, name, args string) *registry.Result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	return w.pipe.Execute(ctx, pipeline.Call{
		ID: "c", Name: name, RawArguments: args, Agent: w,
		Emit: func(eventType string, data jsonvalue.Value) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, eventType+" "+data.String())
			return nil
		},
	})
}

func (w *world) wants(name, args, want string) {
	w.t.Helper()
	if r := w.call(name, args); r.IsError() || r.Text() != want {
		w.t.Errorf("%s: %q (error %v), want %q", name, r.Text(), r.IsError(), want)
	}
}

// until waits for something to become true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after 60 s", what)
		}
	}
}

func exists(file string) func() bool {
	return func() bool { _, err := os.Stat(file); return err == nil }
}

func TestCall(t *testing.T) {
	w := newWorld(t)
	w.start(role("ok", "GIVEN", "yes"))
	st := w.mcp.Status()[0]
	if st.State != Ready || len(st.Tools) != 21 || st.Server != "scripted 1.0" || st.Error != "" {
		t.Fatalf("%+v", st)
	}
	w.wants("mcp__ok__echo", `{"b":12345678901234567890,"a":[1.50]}`, `{"b":12345678901234567890,"a":[1.50]}`)
	w.wants("mcp__ok__echo", ``, `{}`)
	t.Setenv("SOME_TOKEN", "secret")
	w.wants("mcp__ok__env", `{}`, "given=yes token= cwd="+w.cwd)
	w.wants("mcp__ok__structured", `{}`, `{"n": 1}`)
	w.wants("mcp__ok__typed", `{}`, `{"n":2}`)
	w.wants("mcp__ok__lie", `{}`, `{"n":9007199254740993}`)
	w.wants("mcp__ok__link", `{}`, "[resource_link name=\"a\" uri=\"file:///a.txt\"]\n[resource uri=\"mem:///b\"]\ninside\n[resource uri=\"mem:///d\"] (binary data, 3 bytes; not shown)")
	r := w.call("mcp__ok__big", `{}`)
	if r.IsError() || len(r.Text()) != 5<<20 {
		t.Errorf("big: %v %d", r.IsError(), len(r.Text()))
	}
	if r := w.call("mcp__ok__echo", `[1]`); !r.IsError() || r.ErrorInfo().Code != pipeline.CodeInvalidArgs {
		t.Errorf("%+v", r.ErrorInfo())
	}
	prompt, err := w.scope.Assemble(context.Background())
	if err != nil || !strings.Contains(prompt.System, "Be gentle with {{it}}.") {
		t.Errorf("instructions: %v %q", err, prompt.System)
	}
}

func TestNothingOfAResultIsLost(t *testing.T) {
	w := newWorld(t)
	w.start(role("ok"))
	r := w.call("mcp__ok__image", `{}`)
	var types []string
	for _, b := range r.Content() {
		types = append(types, b.Type())
	}
	if got := strings.Join(types, " "); got != "text image audio text text" {
		t.Errorf("content: %s", got)
	}
	if got := r.Text(); got != "here\n"+`[3 parts of the result could not be read and are left out: type "", "image", "unheard"]`+"\n"+`{"b":1,"a":12345678901234}` {
		t.Errorf("text: %q", got)
	}
	v := r.Value()
	if v.Get("content").Len() != 4 || v.Get("structuredContent").String() != `{"b":1,"a":12345678901234}` {
		t.Errorf("value: %s", v)
	}
	tool, _ := w.scope.Get("mcp__ok__typed")
	if got := tool.OutputSchema().Get("properties").Get("structuredContent").String(); !strings.Contains(got, `"n":{"type":"integer"}`) || strings.Contains(got, "$schema") {
		t.Errorf("output schema: %s", got)
	}
}

func TestFailures(t *testing.T) {
	w := newWorld(t)
	w.start(role("ok"))
	r := w.call("mcp__ok__fail", `{}`)
	if !r.IsError() || r.ErrorInfo().Code != CodeToolError || r.ErrorInfo().Message != "the disk is full" || len(r.Content()) != 2 || r.Content()[1].Type() != "image" {
		t.Errorf("fail: %+v %v", r.ErrorInfo(), content.ToValue(r.Content()))
	}
	if r := w.call("mcp__ok__refuse", `{}`); r.ErrorInfo().Code != CodeRefused || !strings.Contains(r.Text(), "bad arguments (-32602)") {
		t.Errorf("refuse: %+v", r.ErrorInfo())
	}
	if r := w.call("mcp__ok__huge", `{}`); !r.IsError() || !strings.Contains(r.Text(), "more than the 33554432 that are read") {
		t.Errorf("huge: %.200s", r.Text())
	}
	w.wants("mcp__ok__echo", `{"still":"there"}`, `{"still":"there"}`)
	w.wants("mcp__ok__sample", `{}`, `{"code":-1,"message":"this client lends its model to nobody: sampling is not supported"}`)
	w.wants("mcp__ok__roots", `{}`, fmt.Sprintf(`{"roots":[{"name":%q,"uri":"file://%s"}]}`, filepath.Base(w.cwd), w.cwd))
}

func TestServerThatDiesInACallComesBack(t *testing.T) {
	w := newWorld(t)
	w.start(role("ok"))
	r := w.call("mcp__ok__die", `{}`)
	if r.ErrorInfo().Code != CodeServerDown || !strings.Contains(r.Text(), "exit code: 7") || !strings.Contains(r.Text(), "out of cheese") {
		t.Errorf("%s", r.Text())
	}
	// The next call waits for it.
	w.wants("mcp__ok__echo", `{"a":1}`, `{"a":1}`)
	if st := w.mcp.Status()[0]; st.State != Ready || st.Restarts != 1 {
		t.Errorf("%+v", st)
	}
}

func TestBadServersHarmNobody(t *testing.T) {
	w := newWorld(t)
	silent, missing, unset := role("silent"), role("missing"), role("unset")
	silent.StartTimeout = time.Second
	missing.Command = "no-such-program-anywhere"
	unset.Problem = fmt.Errorf("the environment variable X is not set")
	w.mcp.Start(silent, missing, unset, role("dies"), role("noise"), role("flood"), role("stays"), role("ok"))
	if missing := w.mcp.AwaitReady(context.Background()); missing != nil {
		t.Errorf("not settled: %v", missing)
	}
	for _, name := range []string{"noise", "flood", "stays", "ok"} {
		w.wants("mcp__"+name+"__echo", `{"a":1}`, `{"a":1}`)
	}
	states := map[string]Status{}
	for _, st := range w.mcp.Status() {
		states[st.Name] = st
	}
	for name, want := range map[string]string{
		"silent": "was not ready after 1s", "missing": `cannot start "no-such-program-anywhere"`, "unset": "X is not set",
	} {
		if st := states[name]; st.State != Failed || !strings.Contains(st.Error, want) {
			t.Errorf("%s: %s", name, st.Line())
		}
	}
	// On a slow machine it may have been given up by now.
	if st := states["dies"]; st.State != Restarting && st.State != Failed || !strings.Contains(st.Error, "exit code: 3") || !strings.Contains(st.Error, "cannot open the database") {
		t.Errorf("dies: %s", st.Line())
	}
	if st := states["flood"]; len(st.Stderr) > maxStderr+100 || len(st.Stderr) < maxStderr/2 {
		t.Errorf("stderr of the flood: %d bytes", len(st.Stderr))
	}
	if log := w.log.String(); !strings.Contains(log, "listening on port 3000") || len(log) > 1<<20 {
		t.Errorf("the log has %d bytes", len(log))
	}
	w.mcp.Close() // the one that stays would do so for an hour
}

func TestServerIsGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes eight seconds")
	}
	w := newWorld(t)
	w.start(role("dies"))
	until(t, "given up", func() bool { return w.mcp.Status()[0].State == Failed })
	if st := w.mcp.Status()[0]; st.Restarts != maxFailures-1 {
		t.Errorf("%+v", st)
	}
	until(t, "the person is told", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.notices) > 0 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.notices) != 1 || !strings.Contains(w.notices[0], "The MCP server dies does not work|the process ended (exit code: 3); it wrote: cannot open the database") {
		t.Errorf("%q", w.notices)
	}
}

// A server that answers and refuses ends when it is hung up on; what it said is
// the reason, in words that steer no terminal.
func TestWhatAServerSaidIsTheReason(t *testing.T) {
	w := newWorld(t)
	w.start(role("refuses"), role("ancient"))
	want := map[string]string{"refuses": "no licence [31mred", "ancient": `unsupported protocol version: "1999-01-01"`}
	until(t, "refused", func() bool {
		for _, st := range w.mcp.Status() {
			if st.State != Restarting && st.State != Failed {
				return false
			}
		}
		return true
	})
	for _, st := range w.mcp.Status() {
		if !strings.Contains(st.Error, want[st.Name]) || strings.ContainsAny(st.Error, "\n\x1b") {
			t.Errorf("%s: %q", st.Name, st.Error)
		}
	}
}

func TestFlakyServerJoinsLater(t *testing.T) {
	w := newWorld(t)
	w.start(role("flaky", mcptest.FileVariable, filepath.Join(t.TempDir(), "once")))
	until(t, "ready", func() bool { return w.mcp.Status()[0].State == Ready })
	w.wants("mcp__flaky__echo", `{}`, `{}`)
}

func TestWaitIsBounded(t *testing.T) {
	w := newWorld(t)
	w.mcp.opt.Wait = 100 * time.Millisecond
	silent := role("silent")
	silent.StartTimeout = time.Hour
	w.mcp.Start(silent, role("ok"))
	<-w.mcp.servers[1].settled
	if missing := w.mcp.AwaitReady(context.Background()); len(missing) != 1 || missing[0] != "silent" {
		t.Errorf("%v", missing)
	}
	w.mu.Lock()
	if len(w.notices) != 2 || w.notices[0] != "Waiting for MCP servers to start: silent|" || !strings.HasPrefix(w.notices[1], "Going on without MCP servers that are still starting: silent|Their") {
		t.Errorf("%q", w.notices)
	}
	w.mu.Unlock()
	// One that waited would tell of it.
	if missing := w.mcp.AwaitReady(context.Background()); missing != nil {
		t.Errorf("the second prompt waits, too: %v", missing)
	}
}

func TestManyTools(t *testing.T) {
	w := newWorld(t)
	w.start(role("many"), role("looping"), role("endless"))
	st := w.mcp.Status()
	if n := len(st[2].Tools); n != maxPages || len(st[2].Refused) != 1 || !strings.Contains(st[2].Refused[0].Reason, "more than 500 pages") {
		t.Errorf("a list without end: %d tools, left out %v", n, st[2].Refused)
	}
	if len(st[0].Tools) != 500 || st[0].Tools[499].Name != "mcp__many__tool_499" {
		t.Errorf("%d tools", len(st[0].Tools))
	}
	if len(st[1].Tools) != 1 || len(st[1].Refused) != 1 {
		t.Errorf("%+v", st[1])
	}
	w.wants("mcp__many__tool_499", `{}`, `{}`)
	if n := len(w.scope.Schemas()); n != 501+maxPages {
		t.Errorf("%d schemas", n)
	}
}

func TestBadToolsAreLeftOut(t *testing.T) {
	w := newWorld(t)
	w.start(role("bad"))
	st := w.mcp.Status()[0]
	var names []string
	for _, tool := range st.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "mcp__bad__good mcp__bad__no_schema mcp__bad__empty mcp__bad__union mcp__bad__twice mcp__bad__weather_today_now_c8e64b31bc" {
		t.Errorf("offered: %s", got)
	}
	reasons := map[string]string{}
	for _, r := range st.Refused {
		reasons[r.Tool] += r.Reason + "|"
	}
	for tool, want := range map[string]string{
		"text_schema": "it is string, not an object", "text_property": "properties.a must be a schema, not string", "array_root": "its type must be object",
		"odd_type": `properties.a.type is "str", which is no type`, "away": "leads outside", "nowhere": "leads nowhere", noName: "it has no name",
		"twice": "lists it twice", "keys_twice": "twice",
	} {
		if !strings.Contains(reasons[tool], want) {
			t.Errorf("%s: %q, want %q", tool, reasons[tool], want)
		}
	}
	if len(st.Refused) != 11 {
		t.Errorf("%d refused: %+v", len(st.Refused), st.Refused)
	}
	good, _ := w.scope.Get("mcp__bad__good")
	if got := good.Parameters().String(); got != `{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"$defs":{"t":{"type":"object","properties":{"t":{"$ref":"#/$defs/t"}}}}}` {
		t.Errorf("the schema was changed: %s", got)
	}
	for _, name := range []string{"no_schema", "empty"} {
		tool, _ := w.scope.Get("mcp__bad__" + name)
		if got := tool.Parameters().String(); got != `{"type":"object","properties":{}}` {
			t.Errorf("%s: %s", name, got)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.notices) != 1 || !strings.Contains(w.notices[0], "11 tools of the MCP server bad cannot be offered|text_schema: ") {
		t.Errorf("%q", w.notices)
	}
	if len(w.events) != 1 || w.events[0] != `mcp/tools {"server":"bad","tools":[{"name":"mcp__bad__weather_today_now_c8e64b31bc","tool":"weather.today/now"}]}` {
		t.Errorf("%q", w.events)
	}
}

func TestChangedListIsFollowed(t *testing.T) {
	w := newWorld(t)
	w.start(role("changing"))
	w.wants("mcp__changing__old", `{}`, `{}`)
	w.wants("mcp__changing__change", `{}`, "changed")
	until(t, "the new tool", func() bool { _, ok := w.scope.Get("mcp__changing__new"); return ok })
	if _, ok := w.scope.Get("mcp__changing__old"); ok {
		t.Error("the old tool is still there")
	}
	w.wants("mcp__changing__new", `{}`, `{}`)
	if _, ok := w.mcp.Tool("mcp__changing__old"); ok {
		t.Error("the policy still knows the old tool")
	}
}

func TestCancellationIsPassedOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cancelled")
	w := newWorld(t)
	w.start(role("ok", mcptest.FileVariable, file))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan *registry.Result, 1)
	go func() { done <- w.callContext(ctx, "mcp__ok__hang", `{}`) }()
	until(t, "the server has the call", exists(file+mcptest.HangsSuffix))
	cancel()
	if r := <-done; r.ErrorInfo().Code != pipeline.CodeAborted {
		t.Errorf("%+v", r.ErrorInfo())
	}
	until(t, "the server hears of it", func() bool { data, _ := os.ReadFile(file); return len(data) > 0 })
	w.wants("mcp__ok__echo", `{}`, `{}`)
}

func TestCallTimeout(t *testing.T) {
	c := role("ok")
	c.CallTimeout = 400 * time.Millisecond
	w := newWorld(t)
	w.start(c)
	// How signs of life keep a call alive: TestSignsOfLife.
	if r := w.call("mcp__ok__hang", `{}`); r.ErrorInfo().Code != pipeline.CodeToolTimeout || !strings.Contains(r.Text(), "timed out after 400ms") {
		t.Errorf("%+v", r.ErrorInfo())
	}
}

func TestProgressIsShown(t *testing.T) {
	w := newWorld(t)
	w.start(role("ok"))
	w.wants("mcp__ok__progress", `{}`, "done")
	w.mu.Lock()
	defer w.mu.Unlock()
	// The rest may have come too fast to be shown.
	if len(w.events) == 0 || w.events[0] != `mcp/progress {"callId":"c","progress":1,"total":4,"message":"part 1"}` {
		t.Errorf("%q", w.events)
	}
}

func TestElicitation(t *testing.T) {
	w := newWorld(t)
	w.start(role("ok"))
	const form = `{"type":"object","properties":{"name":{"type":"string","title":"Your name","minLength":1},"age":{"type":"integer","minimum":0},"sure":{"type":"boolean","default":true},"colour":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}},"required":["name"]}`
	w.wants("mcp__ok__elicit", form, `{"action":"decline"}`) // nobody to ask
	var asked elicit.Form
	w.form = func(_ context.Context, f elicit.Form) (map[string]json.RawMessage, error) {
		asked = f
		return map[string]json.RawMessage{"name": json.RawMessage(`"Ada"`), "age": json.RawMessage(`"36"`), "colour": json.RawMessage(`"g"`), "more": json.RawMessage(`1`)}, nil
	}
	w.wants("mcp__ok__elicit", form, `{"action":"accept","content":{"age":36,"colour":"g","name":"Ada","sure":true}}`)
	var order []string
	for _, f := range asked.Fields {
		order = append(order, f.Name)
	}
	if asked.Text != "The MCP server ok asks: Who are you?" || strings.Join(order, " ") != "name age sure colour" {
		t.Errorf("%+v", asked)
	}
	w.form = func(context.Context, elicit.Form) (map[string]json.RawMessage, error) {
		return nil, elicit.ErrDismissed
	}
	w.wants("mcp__ok__elicit", form, `{"action":"decline"}`)
	w.form = func(ctx context.Context, _ elicit.Form) (map[string]json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if r := w.callContext(ctx, "mcp__ok__elicit", form); !r.IsError() {
		t.Error(r.Text())
	}
}

func TestHints(t *testing.T) {
	w := newWorld(t)
	theirs := role("ok")
	theirs.Name, theirs.Origin = "theirs", FromClient
	w.start(role("ok"), theirs)
	identities := map[string]bool{}
	for name, want := range map[string]ToolInfo{
		"mcp__ok__echo":     {Server: "ok", Tool: "echo", Vouched: true},
		"mcp__ok__look":     {Server: "ok", Tool: "look", ReadOnly: true, Vouched: true},
		"mcp__ok__wipe":     {Server: "ok", Tool: "wipe", Destructive: true, Vouched: true},
		"mcp__ok__unclear":  {Server: "ok", Tool: "unclear", ReadOnly: true, Destructive: true, Vouched: true},
		"mcp__theirs__look": {Server: "theirs", Tool: "look", ReadOnly: true},
	} {
		got, ok := w.mcp.Tool(name)
		identity := got.Identity
		if got.Identity = ""; !ok || got != want || len(identity) != 16 || identities[identity] {
			t.Errorf("%s: %+v %s", name, got, identity)
		}
		identities[identity] = true
	}
}

func TestCloseEndsCallsAndProcesses(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "hangs")
	w.start(role("ok", mcptest.FileVariable, file))
	done := make(chan *registry.Result, 1)
	go func() { done <- w.call("mcp__ok__hang", `{}`) }()
	until(t, "the server has the call", exists(file+mcptest.HangsSuffix))
	w.mcp.Close()
	select {
	case r := <-done:
		if r.ErrorInfo().Code != CodeServerDown {
			t.Errorf("%+v", r.ErrorInfo())
		}
	case <-time.After(50 * time.Second): // less than the call's own limit
		t.Error("the call goes on")
	}
	if n := len(w.scope.Schemas()); n != 0 {
		t.Errorf("%d tools are left", n)
	}
}
