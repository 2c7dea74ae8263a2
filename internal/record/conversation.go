package record

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// conversation is one session as its client drove it.
type conversation struct {
	session   string
	cwd       string
	workspace string // the folder of the copy; "" when there is none
	leftOut   jsonvalue.Value
	loaded    string // the step that takes it up, when it began before the recording
	before    int64  // events that its log had then
	steps     []jsonvalue.Value
	allowed   []jsonvalue.Value // permissionAnswers
	answered  []jsonvalue.Value // elicitationAnswers
	wire      []jsonvalue.Value // what the agent sent
	turns     []jsonvalue.Value // how each prompt ended
	failed    bool              // a prompt ended with an error
	open      int               // prompts without an answer
	odd       []string          // what the steps cannot say
}

func (c *conversation) step(op string, ms ...jsonvalue.Member) {
	c.steps = append(c.steps, jsonvalue.Object(append([]jsonvalue.Member{member("op", jsonvalue.String(op))}, ms...)...))
}

func (c *conversation) strange(what string) {
	for _, o := range c.odd {
		if o == what {
			return
		}
	}
	c.odd = append(c.odd, what)
}

// connection reads the frames of a connection.
type connection struct {
	dir         string
	initialize  jsonvalue.Value // the request's parameters
	initialized jsonvalue.Value // the answer
	workspaces  map[string]jsonvalue.Value
	asked       map[string]*request // of the client, by id
	questions   map[string]question // of the agent, by id
	sessions    map[string]*conversation
	order       []*conversation
}

// request is one request of the client that waits for its answer.
type request struct {
	method  string
	params  jsonvalue.Value
	session *conversation
	step    int    // of its step in the session; -1: none
	seen    string // the kind of the last update since it was sent
}

type question struct {
	session *conversation
	method  string
	params  jsonvalue.Value
}

// readConnection reads what was kept of a connection. A line that was cut is
// left out.
func readConnection(dir, frames string) (*connection, error) {
	f, err := os.Open(frames)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &connection{
		dir: dir, workspaces: map[string]jsonvalue.Value{}, asked: map[string]*request{},
		questions: map[string]question{}, sessions: map[string]*conversation{},
	}
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return c, nil
		}
		if err != nil {
			return c, err
		}
		v, err := jsonvalue.ParseString(line)
		if err != nil {
			continue
		}
		switch v.GetString("d") {
		case "in":
			c.in(v.Get("f"))
		case "out":
			c.out(v.Get("f"))
		case "workspace":
			c.workspaces[v.Get("id").String()] = v
		}
	}
}

func (c *connection) of(params jsonvalue.Value) *conversation {
	return c.sessions[params.GetString("sessionId")]
}

// in takes a message of the client.
func (c *connection) in(f jsonvalue.Value) {
	method, id, params := f.GetString("method"), f.Get("id").String(), f.Get("params")
	if method == "" {
		c.reply(id, f)
		return
	}
	s := c.of(params)
	if f.Get("id").IsUndefined() {
		if method == "session/cancel" && s != nil {
			c.cancel(s)
		}
		return
	}
	req := &request{method: method, params: params, session: s, step: -1}
	c.asked[id] = req
	if method == "initialize" {
		c.initialize = params
	}
	if s == nil && loads(method) && params.GetString("sessionId") != "" {
		// What it is shown comes before the answer.
		s = c.begin(params.GetString("sessionId"), params, id)
		s.loaded = strings.TrimPrefix(method, "session/") + "Session"
		s.wire = append(s.wire, c.initialized)
		req.session = s
		return
	}
	if s == nil {
		return
	}
	req.step = len(s.steps)
	switch method {
	case "session/prompt":
		s.open++
		s.promptStep(params.Get("prompt"))
	case "session/set_config_option":
		s.step("setConfigOption", member("configId", params.Get("configId")), member("value", params.Get("value")))
	case "session/set_mode":
		s.step("setMode", member("modeId", params.Get("modeId")))
	default:
		req.step = -1
		if method != "session/close" {
			s.strange(method + " is no step of a scenario")
		}
	}
}

// promptStep adds a prompt: text where it is nothing else.
func (s *conversation) promptStep(blocks jsonvalue.Value) {
	var text strings.Builder
	plain := true
	for _, b := range blocks.Elements() {
		plain = plain && b.GetString("type") == "text"
		text.WriteString(b.GetString("text"))
	}
	if plain {
		s.step("prompt", member("text", jsonvalue.StringWTF8(text.String())))
		return
	}
	s.step("promptContent", member("content", blocks))
	s.strange("a prompt has more than text, which not every player of scenarios can send")
}

// cancel makes the prompt that runs one that is cancelled.
func (c *connection) cancel(s *conversation) {
	var running *request
	for _, req := range c.asked {
		if req.session == s && req.method == "session/prompt" && s.steps[req.step].GetString("op") == "prompt" && (running == nil || req.step < running.step) {
			running = req
		}
	}
	if s.open > 1 {
		s.strange("several prompts were cancelled at once")
	}
	if req := running; req != nil {
		step := s.steps[req.step]
		ms := []jsonvalue.Member{member("op", jsonvalue.String("promptAndCancel")), member("text", step.Get("text"))}
		if req.seen != "" {
			ms = append(ms, member("afterUpdate", jsonvalue.String(req.seen)))
		}
		s.steps[req.step] = jsonvalue.Object(ms...)
		s.step("waitForTurnEnd")
		return
	}
	s.step("cancel")
}

// reply takes the client's answer to a question of the agent.
func (c *connection) reply(id string, f jsonvalue.Value) {
	q, ok := c.questions[id]
	if !ok {
		return
	}
	delete(c.questions, id)
	switch q.method {
	case "session/request_permission":
		kind := "cancelled" // no option is of that kind, so a player answers the same
		chosen := f.Get("result").Get("outcome").GetString("optionId")
		for _, o := range q.params.Get("options").Elements() {
			if chosen != "" && o.GetString("optionId") == chosen {
				kind = o.GetString("kind")
			}
		}
		q.session.allowed = append(q.session.allowed, jsonvalue.Object(member("kind", jsonvalue.String(kind))))
	case "elicitation/create":
		result := f.Get("result")
		ms := []jsonvalue.Member{member("action", jsonvalue.String(result.GetString("action")))}
		for k, v := range result.Get("content").Members() {
			if k == "custom" {
				ms = append(ms, member("custom", v))
			} else if _, isText := v.Str(); isText && len(ms) < 3 {
				ms = append(ms, member("choice", v))
			} else {
				q.session.strange("an answer to a form has more than one choice")
			}
		}
		q.session.answered = append(q.session.answered, jsonvalue.Object(ms...))
	default:
		q.session.strange("the client served " + q.method + ", which a player does not")
	}
}

// out takes a message of the agent.
func (c *connection) out(f jsonvalue.Value) {
	method, id, params := f.GetString("method"), f.Get("id").String(), f.Get("params")
	if method != "" {
		s := c.of(params)
		if s == nil {
			return
		}
		s.wire = append(s.wire, f)
		if !f.Get("id").IsUndefined() {
			c.questions[id] = question{s, method, params}
			return
		}
		kind := params.Get("update").GetString("sessionUpdate")
		for _, req := range c.asked {
			if req.session == s && (kind == "agent_message_chunk" || kind == "agent_thought_chunk" || kind == "tool_call") {
				// A player cancels after the first update of a kind. The rarer one says
				// more of when that was.
				if req.seen != "tool_call" && req.seen != "agent_message_chunk" || kind == "tool_call" {
					req.seen = kind
				}
			}
		}
		return
	}
	req := c.asked[id]
	if req == nil {
		return
	}
	delete(c.asked, id)
	switch req.method {
	case "initialize":
		c.initialized = f
	case "session/new":
		if session := f.Get("result").GetString("sessionId"); session != "" {
			s := c.begin(session, req.params, id)
			s.wire = append(s.wire, c.initialized, f)
		}
	case "session/load", "session/resume":
		if s := req.session; s != nil && s.loaded != "" && len(s.steps) == 0 && !f.Get("error").IsUndefined() {
			delete(c.sessions, s.session)
			c.order = slices.DeleteFunc(c.order, func(o *conversation) bool { return o == s })
			return
		}
	}
	if req.session != nil {
		req.session.ended(req, f)
	}
}

// begin begins a conversation with a request.
func (c *connection) begin(session string, params jsonvalue.Value, id string) *conversation {
	s := &conversation{session: session, cwd: params.GetString("cwd")}
	if w, ok := c.workspaces[id]; ok {
		s.workspace, s.leftOut = w.GetString("dir"), w.Get("leftOut")
		s.before, _ = w.Get("events").Int64()
		delete(c.workspaces, id)
	}
	if params.Get("mcpServers").Len() > 0 {
		s.strange("the client brought MCP servers, which are not recorded")
	}
	if params.Get("additionalDirectories").Len() > 0 {
		s.strange("the client gave further folders, which are not recorded")
	}
	c.sessions[session] = s
	c.order = append(c.order, s)
	return s
}

// ended takes the answer to a request.
func (s *conversation) ended(req *request, f jsonvalue.Value) {
	s.wire = append(s.wire, f)
	failed := !f.Get("error").IsUndefined()
	if failed && req.step >= 0 {
		op := s.steps[req.step].GetString("op")
		if op == "prompt" || op == "setConfigOption" || op == "setMode" {
			s.steps[req.step] = s.steps[req.step].With("op", jsonvalue.String(op+"ExpectError"))
		}
	}
	if req.method != "session/prompt" {
		return
	}
	s.open--
	turn := jsonvalue.Object(member("stopReason", f.Get("result").Get("stopReason")))
	if failed {
		s.failed = true
		turn = jsonvalue.Object(member("error", f.Get("error").Get("message")))
	}
	s.turns = append(s.turns, turn)
}
