package conformance

import (
	"encoding/json"
	"strings"
)

// start says how a check wants its agent.
type start struct {
	caps    map[string]any // client capabilities; nil for none
	variant string
	home    string // of an earlier process, to see what lasts
	handle  map[string]handler
}

// capabilities are what the agent advertised.
type capabilities struct {
	LoadSession         bool
	PromptCapabilities  struct{ Image, Audio, EmbeddedContext bool }
	MCPCapabilities     struct{ HTTP, SSE bool }
	SessionCapabilities map[string]json.RawMessage
	Auth                struct{ Logout json.RawMessage }
}

// session reports whether a session capability is advertised.
func (c capabilities) session(name string) bool { return present(c.SessionCapabilities[name]) }

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

type initialized struct {
	ProtocolVersion   json.Number
	AgentCapabilities capabilities
	AgentInfo         *struct{ Name, Version string }
	AuthMethods       []struct{ ID, Name, Type string }
}

func (c *client) must(f frame, what string, out any) {
	if f.Error != nil {
		c.t.failf("%s: error %d %s", what, f.Error.Code, f.Error.Message)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(f.Result, out); err != nil {
		c.t.failf("%s: the result cannot be read: %v", what, err)
	}
}

// initialize does the handshake.
func (c *client) initialize(caps map[string]any) initialized {
	if caps == nil {
		caps = map[string]any{}
	}
	var r initialized
	c.must(c.call("initialize", map[string]any{
		"protocolVersion": 1, "clientCapabilities": caps, "clientInfo": map[string]any{"name": "acp-conformance", "version": "1"},
	}), "initialize", &r)
	return r
}

// open starts an agent and does the handshake.
func (t *T) open(opt start) (*client, initialized) {
	c := t.launch(opt)
	return c, c.initialize(opt.caps)
}

type configOption struct {
	ID, Name, Type, Category string
	CurrentValue             json.RawMessage
	Options                  []struct {
		Value   string
		Group   string
		Options []struct{ Value string }
	}
}

// values are what can be chosen.
func (o configOption) values() []string {
	var out []string
	for _, v := range o.Options {
		if len(v.Options) == 0 && v.Group == "" {
			out = append(out, v.Value)
		}
		for _, w := range v.Options {
			out = append(out, w.Value)
		}
	}
	return out
}

func (o configOption) current() string {
	var s string
	_ = json.Unmarshal(o.CurrentValue, &s) // a boolean has no text
	return s
}

type sessionState struct {
	SessionID string
	Modes     *struct {
		CurrentModeID  string
		AvailableModes []struct{ ID, Name string }
	}
	ConfigOptions []configOption
}

func newParams(cwd string) map[string]any {
	return map[string]any{"cwd": cwd, "mcpServers": []any{}}
}

// session opens a session in a folder, or in a fresh one when it is "".
func (c *client) session(cwd string) (id, dir string) {
	st, dir := c.newSession(cwd)
	return st.SessionID, dir
}

func (c *client) newSession(cwd string) (sessionState, string) {
	if cwd == "" {
		cwd = c.t.tempDir("work")
	}
	var r sessionState
	c.must(c.call("session/new", newParams(cwd)), "session/new", &r)
	if r.SessionID == "" {
		c.t.failf("session/new gave an empty sessionId")
	}
	return r, cwd
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func promptParams(session string, blocks ...any) map[string]any {
	return map[string]any{"sessionId": session, "prompt": blocks}
}

// ask sends a prompt and gives the request's id.
func (c *client) ask(session, text string) string {
	return c.request("session/prompt", promptParams(session, textBlock(text)))
}

// stop waits for a prompt's answer and gives the stop reason.
func (c *client) stop(id string) string {
	var r struct{ StopReason string }
	c.must(c.wait(id), "session/prompt", &r)
	return r.StopReason
}

// turn runs a prompt to its end, which must be end_turn.
func (c *client) turn(session, text string) {
	if reason := c.stop(c.ask(session, text)); reason != "end_turn" {
		c.t.failf("the turn ended with %q, not end_turn", reason)
	}
}

// busy waits until a turn has begun to show something.
func (c *client) busy(session string) {
	c.find("the first update of the turn", func(f frame) bool {
		u, id := updateOf(f)
		return id == session && (strings.HasSuffix(u.Kind, "_chunk") && u.Kind != "user_message_chunk" || strings.HasPrefix(u.Kind, "tool_call"))
	})
}

// alive fails the check unless the agent still answers requests.
func (c *client) alive() {
	f := c.call("_conformance/alive", map[string]any{})
	if f.Error == nil {
		return // what is wrong with that is the business of another item
	}
}

// message is the agent's text in a session so far.
func (c *client) message(session string) string { return messageOf(c.updates(session)) }

func messageOf(us []update) string {
	var b strings.Builder
	for _, u := range us {
		if u.Kind == "agent_message_chunk" {
			b.WriteString(u.text())
		}
	}
	return b.String()
}

// toolCall is a call as its updates have left it.
type toolCall struct {
	id       string
	title    string
	kind     string
	statuses []string // in order, without repetitions
	content  json.RawMessage
	output   json.RawMessage
	rawInput json.RawMessage
	paths    []string
	lines    []int
}

func (c toolCall) status() string {
	if len(c.statuses) == 0 {
		return ""
	}
	return c.statuses[len(c.statuses)-1]
}

// everything is all that was shown of a call.
func (c toolCall) everything() string { return string(c.content) + string(c.output) + c.title }

// calls folds the updates of each call, in the order of their announcement.
func calls(us []update) []toolCall {
	var order []string
	byID := map[string]*toolCall{}
	for _, u := range us {
		if !strings.HasPrefix(u.Kind, "tool_call") || u.ToolCallID == nil {
			continue
		}
		call := byID[*u.ToolCallID]
		if call == nil {
			call = &toolCall{id: *u.ToolCallID}
			byID[call.id] = call
			order = append(order, call.id)
		}
		call.apply(u)
	}
	out := make([]toolCall, len(order))
	for i, id := range order {
		out[i] = *byID[id]
	}
	return out
}

func (c *toolCall) apply(u update) {
	status := u.Status
	if status == "" && u.Kind == "tool_call" {
		status = "pending"
	}
	if status != "" && status != c.status() {
		c.statuses = append(c.statuses, status)
	}
	if u.Title != nil {
		c.title = *u.Title
	}
	if u.ToolKind != "" {
		c.kind = u.ToolKind
	}
	if present(u.Content) {
		c.content = u.Content
	}
	if present(u.RawInput) {
		c.rawInput = u.RawInput
	}
	if present(u.RawOutput) {
		c.output = u.RawOutput
	}
	for _, l := range u.Locations {
		c.paths = append(c.paths, l.Path)
		if l.Line != nil {
			c.lines = append(c.lines, *l.Line)
		}
	}
}

// diffs are those in a call's or a question's content.
func diffs(content json.RawMessage) []diff {
	var all []diff
	_ = json.Unmarshal(content, &all) // no list, no diffs
	var out []diff
	for _, d := range all {
		if d.Type == "diff" {
			out = append(out, d)
		}
	}
	return out
}

type diff struct {
	Type, Path, NewText string
	OldText             *string
}

// wantError fails the check unless f is an error with one of the codes; none
// means any.
func (t *T) wantError(f frame, what string, codes ...int) {
	if f.Error == nil {
		t.failf("%s was accepted: %.120s", what, f.Result)
	}
	for _, code := range codes {
		if f.Error.Code == code {
			return
		}
	}
	if len(codes) > 0 {
		t.failf("%s answers error %d (%s), not %d", what, f.Error.Code, f.Error.Message, codes[0])
	}
}

// wantObject fails the check unless f is a result that is an object.
func (t *T) wantObject(f frame, what string) {
	if f.Error != nil {
		t.failf("%s: error %d %s", what, f.Error.Code, f.Error.Message)
	}
	if !strings.HasPrefix(strings.TrimSpace(string(f.Result)), "{") {
		t.failf("%s answers %.60s, not an object", what, f.Result)
	}
}
