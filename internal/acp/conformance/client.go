package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// frame is one message of the agent.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
	size   int
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (f frame) isAnswer() bool { return f.Method == "" && f.ID != nil }

// update is the part of a session/update that the checks look at.
type update struct {
	Kind       string `json:"sessionUpdate"`
	ToolCallID *string
	Title      *string
	ToolKind   string `json:"kind"`
	Status     string
	MessageID  *string
	Content    json.RawMessage
	RawInput   json.RawMessage
	RawOutput  json.RawMessage
	Locations  []struct {
		Path string
		Line *int
	}
	Entries           []map[string]any
	AvailableCommands []struct{ Name, Description string }
	ConfigOptions     []configOption
	CurrentModeID     string `json:"currentModeId"`
	Used, Size        *int64
}

// text is the text of a message's chunk.
func (u update) text() string {
	var block struct{ Text string }
	_ = json.Unmarshal(u.Content, &block) // no text in other blocks
	return block.Text
}

// handler answers a request of the agent. answer false leaves it open.
type handler func(c *client, f frame) (result any, err *rpcError, answer bool)

// client is a scripted editor on the pipes of one agent process.
type client struct {
	t    *T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.Closer
	home string

	mu       sync.Mutex
	cond     *sync.Cond
	frames   []frame
	asked    map[string]string // the method of each of our requests, by id
	nextID   int
	faults   []string // lines that are no messages
	eof      bool
	exited   chan struct{} // closed when the process is gone
	exitCode int
	stderr   bytes.Buffer

	handlers map[string]handler
}

// launch starts the process of an agent; it is ended with the check.
func (t *T) launch(opt start) *client {
	home := opt.home
	if home == "" {
		home = t.tempDir("home")
	}
	add, err := t.profile.launch(LaunchRequest{Variant: opt.variant, Home: home, ModelURL: t.modelURL()})
	if errors.Is(err, ErrNoVariant) {
		t.skipf("the profile has no way to start the agent as %q (see --variant)", opt.variant)
	} else if err != nil {
		t.brokenf("the profile: %v", err)
	}
	argv := append(append([]string{}, t.opt.Agent...), add.Args...)
	c := &client{t: t, home: home, asked: map[string]string{}, exited: make(chan struct{}), handlers: map[string]handler{}}
	c.cond = sync.NewCond(&c.mu)
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir = t.tempDir("process") // not the session's: the agent must not mix them up
	c.cmd.Env = append(os.Environ(), add.Env...)
	c.cmd.Stderr = lockedWriter{c}
	ownGroup(c.cmd)
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.brokenf("%v", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.brokenf("%v", err)
	}
	if err := c.cmd.Start(); err != nil {
		t.brokenf("the agent cannot be started: %v", err)
	}
	c.in, c.out = in, out
	for method, h := range opt.handle {
		c.handlers[method] = h
	}
	t.clients = append(t.clients, c)
	readDone := make(chan struct{})
	go func() { defer close(readDone); c.read(out) }()
	go func() {
		defer close(c.exited)
		<-readDone
		_ = c.cmd.Wait()
		c.mu.Lock()
		c.exitCode = c.cmd.ProcessState.ExitCode()
		c.cond.Broadcast()
		c.mu.Unlock()
	}()
	return c
}

type lockedWriter struct{ c *client }

// Write keeps the last of what the agent says on stderr.
func (w lockedWriter) Write(p []byte) (int, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.c.stderr.Len() < 64<<10 {
		w.c.stderr.Write(p)
	}
	return len(p), nil
}

// end kills the process and waits for it.
func (c *client) end() {
	_ = c.in.Close()
	killGroup(c.cmd)
	select {
	case <-c.exited:
	case <-time.After(3 * time.Second):
		// Something that the agent left behind holds its output.
		_ = c.out.Close()
		<-c.exited
	}
}

func (c *client) read(out io.Reader) {
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
	c.t.trace('<', line)
	f, fault := parseFrame(line)
	if fault != "" {
		c.mu.Lock()
		c.faults = append(c.faults, fault)
		c.cond.Broadcast()
		c.mu.Unlock()
		c.t.suite.fault(fault)
		return
	}
	c.mu.Lock()
	asked := c.asked[string(f.ID)]
	c.frames = append(c.frames, f)
	c.cond.Broadcast()
	c.mu.Unlock()
	c.t.suite.inspect(f, asked)
	if f.Method != "" && f.ID != nil {
		c.answer(f)
	}
}

// parseFrame reads a line; fault says why it is no message.
func parseFrame(line []byte) (f frame, fault string) {
	trimmed := bytes.TrimSpace(line)
	switch {
	case line[len(line)-1] != '\n':
		return f, fmt.Sprintf("the output ends within a line: %.80q", line)
	case len(trimmed) == 0:
		return f, "an empty line on stdout"
	}
	var version struct {
		JSONRPC string
	}
	if json.Unmarshal(trimmed, &version) != nil || json.Unmarshal(trimmed, &f) != nil {
		return f, fmt.Sprintf("a line on stdout is no JSON object: %.80q", trimmed)
	}
	if version.JSONRPC != "2.0" {
		return f, fmt.Sprintf("a message without \"jsonrpc\":\"2.0\": %.80q", trimmed)
	}
	if f.Method == "" && (f.Error == nil) == (f.Result == nil) {
		return f, fmt.Sprintf("an answer needs either a result or an error: %.80q", trimmed)
	}
	f.size = len(line)
	return f, ""
}

// answer serves a request of the agent.
func (c *client) answer(f frame) {
	c.mu.Lock()
	h := c.handlers[f.Method]
	c.mu.Unlock()
	var result any
	err, answer := &rpcError{Code: -32601, Message: "Method not found"}, true
	switch {
	case h != nil:
		result, err, answer = h(c, f)
	case f.Method == "session/request_permission":
		result, err = choose("allow_once")(f), nil
	}
	if !answer {
		return
	}
	c.reply(f, result, err)
}

func (c *client) reply(f frame, result any, err *rpcError) {
	m := map[string]any{"jsonrpc": "2.0", "id": f.ID}
	if err != nil {
		m["error"] = err
	} else {
		m["result"] = result
	}
	c.send(m)
}

// choose makes the outcome that selects the option of a kind, else of one that
// begins alike.
func choose(kind string) func(f frame) any {
	return func(f frame) any {
		var p struct {
			Options []struct{ OptionID, Kind string }
		}
		_ = json.Unmarshal(f.Params, &p)
		for _, want := range []string{kind, strings.SplitN(kind, "_", 2)[0]} {
			for _, o := range p.Options {
				if strings.HasPrefix(o.Kind, want) {
					return selected(o.OptionID)
				}
			}
		}
		return cancelledOutcome()
	}
}

func selected(id string) any {
	return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": id}}
}

func cancelledOutcome() any { return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}} }

func (c *client) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // only what the checks themselves wrote gets here
	}
	c.raw(string(b) + "\n")
}

func (c *client) raw(s string) {
	c.t.trace('>', []byte(s))
	_, _ = io.WriteString(c.in, s) // an agent that is gone shows elsewhere
}

func (c *client) notify(method string, params any) {
	c.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// request sends a request and gives its id; params nil leaves the member out.
func (c *client) request(method string, params any) string {
	c.mu.Lock()
	c.nextID++
	id := strconv.Itoa(c.nextID)
	c.mu.Unlock()
	c.requestAs(id, method, params)
	return id
}

// requestAs sends a request whose id is that JSON text.
func (c *client) requestAs(id, method string, params any) {
	c.mu.Lock()
	c.asked[id] = method
	c.mu.Unlock()
	m := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method}
	if params != nil {
		m["params"] = params
	}
	c.send(m)
}

// find waits until pred finds a frame, or fails the check.
func (c *client) find(what string, pred func(frame) bool) frame {
	f, ok := c.findWithin(c.t.timeout(), pred)
	if ok {
		return f
	}
	c.mu.Lock()
	eof := c.eof
	c.mu.Unlock()
	if eof {
		c.t.failf("the agent ended while waiting for %s%s", what, c.complaint())
	}
	c.t.failf("waited in vain for %s", what)
	return frame{}
}

// complaint is the last line of the agent's stderr, for a message.
func (c *client) complaint() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(c.stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Sprintf("; its last words: %.160s", last)
	}
	return ""
}

func (c *client) findWithin(limit time.Duration, pred func(frame) bool) (frame, bool) {
	end := time.Now().Add(limit)
	wake := time.AfterFunc(limit, c.cond.Broadcast)
	defer wake.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for seen := 0; ; {
		for ; seen < len(c.frames); seen++ {
			if pred(c.frames[seen]) {
				return c.frames[seen], true
			}
		}
		if c.eof || !time.Now().Before(end) || c.t.ctx.Err() != nil {
			return frame{}, false
		}
		c.cond.Wait()
	}
}

func answerTo(id string) func(frame) bool {
	return func(f frame) bool { return f.isAnswer() && string(f.ID) == id }
}

// wait waits for the answer to a request.
func (c *client) wait(id string) frame {
	c.mu.Lock()
	method := c.asked[id]
	c.mu.Unlock()
	return c.find("the answer to "+method, answerTo(id))
}

func (c *client) call(method string, params any) frame { return c.wait(c.request(method, params)) }

// all gives the frames so far.
func (c *client) all() []frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]frame(nil), c.frames...)
}

func updateOf(f frame) (u update, session string) {
	var p struct {
		SessionID string
		Update    update
	}
	if f.Method != "session/update" {
		return update{}, ""
	}
	_ = json.Unmarshal(f.Params, &p) // what is wrong with it the schema says
	return p.Update, p.SessionID
}

// updates gives the session's updates so far.
func (c *client) updates(session string) []update {
	var out []update
	for _, f := range c.all() {
		if u, id := updateOf(f); id == session && f.Method != "" {
			out = append(out, u)
		}
	}
	return out
}
