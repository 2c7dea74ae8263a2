package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// frame is one message of the agent.
type frame struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// update is the part of a session/update that tests look at.
type update struct {
	SessionUpdate string
	ToolCallID    string
	Title         string
	Name          string
	Kind          string
	Status        string
	Content       json.RawMessage
	RawInput      json.RawMessage
	RawOutput     json.RawMessage
	Locations     []struct {
		Path string
		Line int
	}
	Meta json.RawMessage `json:"_meta"`
}

// patience bounds every wait for something that has to come: it is there for
// what hangs, and generous because machines that test are busy. soon is what "at
// once" has to mean there; without it the wait would last minutes.
const (
	patience = 2 * time.Minute
	soon     = 20 * time.Second
)

// client is a scripted editor on the agent's pipes.
type client struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr *syncBuffer
	cwd    string
	exited chan struct{} // closed when the process has ended
	read   chan struct{} // closed when all that it wrote has been read
	dying  atomic.Bool   // it was killed: its last line may be torn

	mu     sync.Mutex
	cond   *sync.Cond
	frames []frame
	eof    bool

	// permit answers a permission request: the kind of option to choose,
	// "cancelled" for that outcome, "error" for an error answer, "" for no answer.
	permit func(params json.RawMessage) string
	// elicit answers a form: the result, nil for an error answer, silence for no
	// answer. Without it the client knows no forms.
	elicit func(params json.RawMessage) any
	// files answers fs requests: the result, or an error; nil for no answer at
	// all. Without it the client does not know them.
	files  func(method string, params json.RawMessage) any
	nextID int
	asked  map[string]string // the method of each request, by id
}

// silence is what elicit gives for no answer at all.
const silence = "no answer"

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

// setup says how to start an agent.
type setup struct {
	config  string // YAML; "" means the local model
	args    []string
	cwd     string   // "" means a fresh folder
	env     []string // added to a clean environment
	program string   // "" means the program under test where it is
}

// start runs the agent in a home of its own. It is stopped with the test.
func start(t testing.TB, s setup) *client {
	t.Helper()
	home := t.TempDir()
	if s.cwd == "" {
		s.cwd = t.TempDir()
	}
	args := s.args
	if s.config != "" {
		cfg := filepath.Join(home, "test.yaml")
		if err := os.WriteFile(cfg, []byte(s.config), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"--config", cfg}, args...)
	} else if len(args) == 0 {
		args = []string{"--model", "local"}
	}
	c := &client{t: t, cwd: s.cwd, stderr: &syncBuffer{}, permit: func(json.RawMessage) string { return "allow_once" }}
	c.cond = sync.NewCond(&c.mu)
	c.cmd = exec.Command(or(s.program, bin), args...)
	c.cmd.Dir = s.cwd
	c.cmd.Stderr = c.stderr
	c.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "TMPDIR=" + os.TempDir(),
	}, s.env...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// A pipe of our own: Wait would close another one before it has been read.
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout = stdout
	err = c.cmd.Start()
	_ = stdout.Close()
	if err != nil {
		_ = out.Close()
		t.Fatal(err)
	}
	c.in, c.exited, c.read = in, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(c.exited)
		_ = c.cmd.Wait()
	}()
	go func() {
		defer close(c.read)
		defer out.Close()
		c.readAll(out)
	}()
	t.Cleanup(func() {
		c.dying.Store(true)
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
		<-c.exited
		select {
		case <-c.read:
		case <-time.After(soon): // something that it left behind holds its output
			_ = out.Close()
			<-c.read
		}
		if t.Failed() && c.stderr.String() != "" {
			t.Logf("the agent's stderr:\n%s", c.stderr.String())
		}
	})
	return c
}

func (c *client) readAll(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			c.take(line)
		}
		if err != nil {
			c.mu.Lock()
			c.eof = true
			c.cond.Broadcast()
			c.mu.Unlock()
			return
		}
	}
}

func (c *client) take(line []byte) {
	var f frame
	whole := line[len(line)-1] == '\n'
	if !whole && c.dying.Load() {
		return
	}
	if err := json.Unmarshal(line, &f); err != nil || !whole {
		c.t.Errorf("stdout carries something that is no frame: %.200q", line)
		return
	}
	c.mu.Lock()
	c.frames = append(c.frames, f)
	asked := c.asked[string(f.ID)]
	c.cond.Broadcast()
	c.mu.Unlock()
	if schema, err := publishedSchema(); err != nil {
		c.t.Errorf("the published schema: %v", err)
	} else {
		if err := schema.check(f, asked); err != nil {
			c.t.Errorf("a message is not valid: %.300s\n%v", line, err)
		}
	}
	if f.Method != "" && f.ID != nil {
		c.answer(f)
	}
}

func (c *client) answer(f frame) {
	if f.Method == "elicitation/create" && c.elicit != nil {
		answer := map[string]any{"jsonrpc": "2.0", "id": f.ID, "error": map[string]any{"code": -32603, "message": "no form today"}}
		result := c.elicit(f.Params)
		if result == silence {
			return
		}
		if result != nil {
			delete(answer, "error")
			answer["result"] = result
		}
		c.send(answer)
		return
	}
	if c.files != nil && strings.HasPrefix(f.Method, "fs/") {
		answer := map[string]any{"jsonrpc": "2.0", "id": f.ID}
		switch result := c.files(f.Method, f.Params).(type) {
		case nil:
			return
		case error:
			answer["error"] = map[string]any{"code": -32603, "message": result.Error()}
		default:
			answer["result"] = result
		}
		c.send(answer)
		return
	}
	if f.Method != "session/request_permission" {
		c.send(map[string]any{"jsonrpc": "2.0", "id": f.ID, "error": map[string]any{"code": -32601, "message": "no such method"}})
		return
	}
	choice := c.permit(f.Params)
	var p struct {
		Options []struct{ OptionID, Kind string }
	}
	_ = json.Unmarshal(f.Params, &p)
	outcome := map[string]any{"outcome": "cancelled"}
	switch choice {
	case "":
		return
	case "error":
		c.send(map[string]any{"jsonrpc": "2.0", "id": f.ID, "error": map[string]any{"code": -32603, "message": "no dialog today"}})
		return
	case "cancelled":
	default:
		outcome = map[string]any{"outcome": "selected", "optionId": choice}
		for _, o := range p.Options {
			if o.Kind == choice {
				outcome["optionId"] = o.OptionID
			}
		}
	}
	c.send(map[string]any{"jsonrpc": "2.0", "id": f.ID, "result": map[string]any{"outcome": outcome}})
}

func (c *client) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.raw(string(b) + "\n")
}

func (c *client) raw(s string) { _, _ = io.WriteString(c.in, s) }

func (c *client) notify(method string, params any) {
	c.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// request sends a request and returns its id.
func (c *client) request(method string, params any) int {
	c.mu.Lock()
	c.nextID++
	id := c.nextID // the reader sends requests too
	if c.asked == nil {
		c.asked = map[string]string{}
	}
	c.asked[fmt.Sprint(id)] = method
	c.mu.Unlock()
	c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id
}

// wait blocks until pred finds something among the frames.
func (c *client) wait(what string, pred func([]frame) bool) {
	c.t.Helper()
	deadline := time.AfterFunc(patience, c.cond.Broadcast)
	defer deadline.Stop()
	end := time.Now().Add(patience)
	c.mu.Lock()
	defer c.mu.Unlock()
	for !pred(c.frames) {
		if c.eof || time.Now().After(end) {
			c.t.Fatalf("waited in vain for %s (eof: %v); frames:\n%s\nstderr:\n%s", what, c.eof, dump(c.frames), c.stderr)
		}
		c.cond.Wait()
	}
}

func dump(frames []frame) string {
	var b strings.Builder
	if n := len(frames); n > 20 {
		fmt.Fprintf(&b, "  (%d earlier ones)\n", n-20)
		frames = frames[n-20:]
	}
	for _, f := range frames {
		fmt.Fprintf(&b, "  id=%s method=%s params=%.300s result=%.300s error=%v\n", f.ID, f.Method, f.Params, f.Result, f.Error)
	}
	return b.String()
}

// reply waits for the answer to a request.
func (c *client) reply(id int) frame {
	c.t.Helper()
	var got frame
	want := fmt.Sprint(id)
	c.wait("the answer to request "+want, func(fs []frame) bool {
		for _, f := range fs {
			if string(f.ID) == want && f.Method == "" {
				got = f
				return true
			}
		}
		return false
	})
	return got
}

func (c *client) call(method string, params any) frame {
	c.t.Helper()
	return c.reply(c.request(method, params))
}

// open initializes and makes a session.
func (c *client) open(caps map[string]any) string {
	c.t.Helper()
	if caps == nil {
		caps = map[string]any{}
	}
	if f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps}); f.Error != nil {
		c.t.Fatalf("initialize: %+v", f.Error)
	}
	return c.newSession()
}

func (c *client) newSession() string {
	c.t.Helper()
	f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": []any{}})
	var r struct{ SessionID string }
	if f.Error != nil || json.Unmarshal(f.Result, &r) != nil || r.SessionID == "" {
		c.t.Fatalf("session/new: %+v %s", f.Error, f.Result)
	}
	return r.SessionID
}

func textPrompt(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// prompt runs a turn and returns its stop reason; an error answer fails the test.
func (c *client) prompt(session, text string) string {
	c.t.Helper()
	f := c.call("session/prompt", textPrompt(session, text))
	if f.Error != nil {
		c.t.Fatalf("session/prompt: %+v", f.Error)
	}
	return stopReason(f)
}

func stopReason(f frame) string {
	var r struct{ StopReason string }
	_ = json.Unmarshal(f.Result, &r)
	return r.StopReason
}

// seen returns the frames so far.
func (c *client) seen() []frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.frames)
}

// updates returns the session's updates so far.
func (c *client) updates(session string) []update {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []update
	for _, f := range c.frames {
		if u, id := updateOf(f); id == session {
			out = append(out, u)
		}
	}
	return out
}

func updateOf(f frame) (update, string) {
	var p struct {
		SessionID string
		Update    update
	}
	if f.Method != "session/update" || json.Unmarshal(f.Params, &p) != nil {
		return update{}, ""
	}
	return p.Update, p.SessionID
}

// calls folds the updates of each tool call; order is that of announcement.
func (c *client) calls(session string) []update {
	var order []string
	byID := map[string]*update{}
	for _, u := range c.updates(session) {
		switch u.SessionUpdate {
		case "tool_call":
			if byID[u.ToolCallID] != nil {
				c.t.Errorf("tool call %s was announced twice", u.ToolCallID)
			}
			order = append(order, u.ToolCallID)
			byID[u.ToolCallID] = &u
		case "tool_call_update":
			call := byID[u.ToolCallID]
			if call == nil {
				c.t.Errorf("tool call %s was updated before it was announced", u.ToolCallID)
				continue
			}
			if call.Status == "completed" || call.Status == "failed" {
				c.t.Errorf("tool call %s was updated after its end", u.ToolCallID)
			}
			if u.Status != "" {
				call.Status = u.Status
			}
			if u.Content != nil {
				call.Content = u.Content
			}
			if u.RawOutput != nil {
				call.RawOutput = u.RawOutput
			}
			if u.Meta != nil {
				call.Meta = u.Meta
			}
		}
	}
	out := make([]update, len(order))
	for i, id := range order {
		out[i] = *byID[id]
	}
	return out
}

// message is the agent's text so far.
func (c *client) message(session string) string {
	var b strings.Builder
	for _, u := range c.updates(session) {
		if u.SessionUpdate == "agent_message_chunk" {
			var block struct{ Text string }
			_ = json.Unmarshal(u.Content, &block)
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// closeInput ends the agent's input and returns its exit code and how long it
// took to leave. All that it wrote has been read then.
func (c *client) closeInput() (int, time.Duration) {
	c.t.Helper()
	begin := time.Now()
	_ = c.in.Close()
	c.ended("its input ended")
	return c.cmd.ProcessState.ExitCode(), time.Since(begin)
}

// kill ends the agent, and nothing that it started, without warning. All that it
// wrote has been read then.
func (c *client) kill() {
	c.t.Helper()
	c.dying.Store(true)
	_ = syscall.Kill(c.cmd.Process.Pid, syscall.SIGKILL)
	c.ended("it was killed")
}

func (c *client) ended(after string) {
	c.t.Helper()
	late := time.After(patience)
	for _, over := range []chan struct{}{c.exited, c.read} {
		select {
		case <-over:
		case <-late:
			c.t.Fatalf("the agent is still there %v after %s", patience, after)
		}
	}
}

// logged reports whether the agent's stderr has a text, or gets it: it comes on a
// pipe of its own, in no order with the frames.
func (c *client) logged(text string) bool {
	for end := time.Now().Add(patience); !strings.Contains(c.stderr.String(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tool(name string, args any) string {
	b, _ := json.Marshal(args)
	return "/tool " + name + " " + string(b)
}
