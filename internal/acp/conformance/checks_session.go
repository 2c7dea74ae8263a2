package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// write makes a file for the agent to find.
func (t *T) write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.brokenf("%v", err)
	}
}

func (t *T) readFile(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

var sessionChecks = []Check{
	{28, secSession, "session/new gives unique ids, before any update of the session", func(t *T) {
		c, _ := t.open(start{})
		a, _ := c.session("")
		b, _ := c.session("")
		if a == b {
			t.failf("two sessions have the id %q", a)
		}
		time.Sleep(300 * time.Millisecond)
		answered := map[string]bool{}
		for _, f := range c.all() {
			var r struct{ SessionID string }
			if f.isAnswer() && json.Unmarshal(f.Result, &r) == nil {
				answered[r.SessionID] = true
			}
			if u, id := updateOf(f); f.Method == "session/update" && !answered[id] {
				t.failf("%s came before the answer that names its session", u.Kind)
			}
		}
	}},
	{29, secSession, "a relative or missing cwd answers -32602", func(t *T) {
		c, _ := t.open(start{})
		t.wantError(c.call("session/new", newParams("relative/folder")), "a relative cwd", -32602)
		t.wantError(c.call("session/new", map[string]any{"cwd": nil, "mcpServers": []any{}}), "a cwd that is null", -32602)
	}},
	{30, secSession, "a cwd that does not exist is refused with a message that says so", func(t *T) {
		c, _ := t.open(start{})
		f := c.call("session/new", newParams(filepath.Join(t.dir, "not-there")))
		t.wantError(f, "a cwd that does not exist")
		if whole := f.Error.Message + string(f.Error.Data); !strings.Contains(whole, "not-there") && !strings.Contains(whole, "cwd") && !strings.Contains(whole, "director") {
			t.failf("the message does not say what is wrong: %s", f.Error.Message)
		}
	}},
	{31, secSession, "commands run in the session's cwd, not in the agent's", func(t *T) {
		c, _ := t.open(start{})
		s, dir := c.session("")
		c.turn(s, t.prompt(Command, "command", "pwd > conformance.pwd"))
		got := strings.TrimSpace(t.readFile(filepath.Join(dir, "conformance.pwd")))
		if real, err := filepath.EvalSymlinks(got); err != nil || real != dir {
			t.failf("the command ran in %q, not in %q", got, dir)
		}
	}},
	{32, secSession, "an MCP server that cannot start does not keep the session from starting", func(t *T) {
		c, _ := t.open(start{})
		f := c.call("session/new", map[string]any{"cwd": t.tempDir("work"), "mcpServers": []any{
			map[string]any{"name": "broken", "command": filepath.Join(t.dir, "no-such-program"), "args": []any{}, "env": []any{}},
			map[string]any{"name": "quitter", "command": "/bin/false", "args": []any{}, "env": []any{}},
		}})
		var st sessionState
		c.must(f, "session/new with MCP servers that cannot start", &st)
		c.turn(st.SessionID, t.prompt(Hello))
	}},
	{33, secSession, "an MCP server over stdio is reached, with its arguments and environment", func(t *T) {
		if len(t.opt.MCPServer) == 0 {
			t.skipf("no MCP server to offer")
		}
		c, _ := t.open(start{})
		marker := filepath.Join(t.dir, "mcp")
		server := func(name string, extra map[string]any) map[string]any {
			m := map[string]any{
				"name": name, "command": t.opt.MCPServer[0], "args": append(slices.Clone(t.opt.MCPServer[1:]), marker+"-"+name),
				"env": []any{map[string]any{"name": "CONFORMANCE_WORD", "value": "word-of-" + name}},
			}
			for k, v := range extra {
				m[k] = v
			}
			return m
		}
		f := c.call("session/new", map[string]any{"cwd": t.tempDir("work"), "mcpServers": []any{
			server("plain", nil), server("typed", map[string]any{"type": "stdio"}),
			map[string]any{"name": "bare", "command": "/bin/false", "args": nil, "env": nil},
		}})
		var st sessionState
		c.must(f, "session/new with MCP servers", &st)
		if t.profile.has(MCP) {
			c.turn(st.SessionID, t.prompt(MCP, "server", "plain", "tool", mcpTool))
			if cs := calls(c.updates(st.SessionID)); len(cs) == 0 || !strings.Contains(cs[len(cs)-1].everything(), "word-of-plain") {
				t.failf("the call of the server's tool does not show its answer")
			}
		}
		for _, name := range []string{"plain", "typed"} {
			for end := time.Now().Add(t.timeout()); !strings.Contains(t.readFile(marker+"-"+name), "word-of-"+name); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.failf("the server %q was not reached, or without its argument and environment", name)
				}
			}
		}
	}},
	{34, secSession, "an MCP server over HTTP is reached with its headers when advertised; sse that is not advertised is refused or ignored", func(t *T) {
		c, r := t.open(start{})
		if !r.AgentCapabilities.MCPCapabilities.SSE {
			f := c.call("session/new", map[string]any{"cwd": t.tempDir("work"), "mcpServers": []any{
				map[string]any{"type": "sse", "name": "events", "url": "http://127.0.0.1:9/sse", "headers": []any{}},
			}})
			if f.Error != nil && f.Error.Code != -32602 {
				t.failf("an sse server that is not advertised answers error %d, not -32602", f.Error.Code)
			}
		}
		if !r.AgentCapabilities.MCPCapabilities.HTTP {
			t.skipf("mcpCapabilities.http is not advertised; an sse server is met as it should be")
		}
		server, err := startMCPHTTP()
		if err != nil {
			t.brokenf("%v", err)
		}
		defer server.close()
		var st sessionState
		c.must(c.call("session/new", map[string]any{"cwd": t.tempDir("work"), "mcpServers": []any{
			map[string]any{"type": "http", "name": "web", "url": server.url, "headers": []any{map[string]any{"name": "X-Conformance", "value": "yes"}}},
		}}), "session/new with an MCP server over HTTP", &st)
		if t.profile.has(MCP) {
			c.turn(st.SessionID, t.prompt(MCP, "server", "web", "tool", mcpTool))
		}
		if !server.reached(t.timeout()) {
			t.failf("the server was not reached with its header")
		}
	}},
	{35, secSession, "additional directories: absolute, usable, and none when a session is opened again without", func(t *T) {
		c, r := t.open(start{})
		caps := r.AgentCapabilities
		if !caps.session("additionalDirectories") {
			t.skipf("additionalDirectories is not advertised")
		}
		params := newParams(t.tempDir("work"))
		params["additionalDirectories"] = []any{"relative"}
		t.wantError(c.call("session/new", params), "a relative additional directory", -32602)
		more := t.tempDir("more")
		t.write(filepath.Join(more, "a.txt"), "zebra\n")
		params["additionalDirectories"] = []any{more}
		var st sessionState
		c.must(c.call("session/new", params), "session/new with an additional directory", &st)
		c.turn(st.SessionID, t.prompt(Read, "path", filepath.Join(more, "a.txt")))
		if cs := calls(c.updates(st.SessionID)); len(cs) == 0 || !strings.Contains(cs[len(cs)-1].everything(), "zebra") {
			t.failf("a file of the additional directory cannot be read")
		}
		if caps.LoadSession || caps.session("resume") {
			again, _ := t.open(start{home: c.away()})
			again.reopen(caps, st.SessionID, params["cwd"].(string))
		}
	}},
	{36, secSession, "modes and config options have valid current values, and agree", func(t *T) {
		c, _ := t.open(start{})
		st, _ := c.newSession("")
		if st.Modes == nil && len(st.ConfigOptions) == 0 {
			t.skipf("the agent has neither modes nor config options")
		}
		t.checkState(st)
	}},
}

// checkState looks at what session/new says of modes and options.
func (t *T) checkState(st sessionState) {
	var modes []string
	if st.Modes != nil {
		for _, m := range st.Modes.AvailableModes {
			if m.ID == "" || m.Name == "" {
				t.failf("a mode without id or name")
			}
			modes = append(modes, m.ID)
		}
		if !slices.Contains(modes, st.Modes.CurrentModeID) {
			t.failf("the current mode %q is not among %v", st.Modes.CurrentModeID, modes)
		}
	}
	for _, o := range st.ConfigOptions {
		if o.ID == "" || o.Name == "" {
			t.failf("an option without id or name")
		}
		if o.Type != "select" {
			continue
		}
		values := o.values()
		if !slices.Contains(values, o.current()) {
			t.failf("the option %q has the value %q, which is none of %v", o.ID, o.current(), values)
		}
		if st.Modes != nil && o.isModes(modes) && o.current() != st.Modes.CurrentModeID {
			t.failf("the option %q says %q, modes say %q", o.ID, o.current(), st.Modes.CurrentModeID)
		}
	}
}

// isModes reports whether an option is the other view of the modes: it offers
// the same values.
func (o configOption) isModes(modes []string) bool {
	values := o.values()
	slices.Sort(values)
	modes = slices.Sorted(slices.Values(modes))
	return slices.Equal(values, modes)
}

// away ends the process as an editor does and gives its home for the next one.
func (c *client) away() string {
	_ = c.in.Close()
	select {
	case <-c.exited:
	case <-time.After(c.t.within(4 * time.Second)):
		c.end() // its home must be nobody's when the next one gets it
	}
	return c.home
}

func openParams(session, cwd string) map[string]any {
	return map[string]any{"sessionId": session, "cwd": cwd, "mcpServers": []any{}}
}

// reopen loads or resumes a session, whatever the agent can.
func (c *client) reopen(caps capabilities, session, cwd string) {
	method := "session/resume"
	if caps.LoadSession {
		method = "session/load"
	}
	c.t.wantObject(c.call(method, openParams(session, cwd)), method)
}

// history is a session with something of everything in it, in an agent that is
// gone.
type history struct {
	home, session, cwd string
	caps               capabilities
	live               []update
}

// makeHistory plays some turns and ends the agent.
func (t *T) makeHistory() history {
	c, r := t.open(start{})
	s, dir := c.session("")
	c.turn(s, t.prompt(Hello))
	if t.profile.has(Think) {
		c.turn(s, t.prompt(Think, "text", "deep thought"))
	}
	if t.profile.has(Command) {
		c.turn(s, t.prompt(Command, "command", "echo from-the-command"))
	}
	if t.profile.has(Plan) {
		c.turn(s, t.prompt(Plan))
	}
	return history{home: c.away(), session: s, cwd: dir, caps: r.AgentCapabilities, live: c.updates(s)}
}

// shape is what must be the same when a session is shown again.
func shape(us []update) (message, thought string, states []string, plan string) {
	var b strings.Builder
	for _, u := range us {
		switch u.Kind {
		case "agent_thought_chunk":
			b.WriteString(u.text())
		case "plan":
			entries, _ := json.Marshal(u.Entries) // was JSON before
			plan = string(entries)
		}
	}
	for _, c := range calls(us) {
		states = append(states, c.id+" "+c.status())
	}
	return messageOf(us), b.String(), states, plan
}

var historyChecks = []Check{
	{37, secSession, "load shows the session again, in order, before the answer, which is an object", func(t *T) {
		h := t.makeHistory()
		if !h.caps.LoadSession {
			t.skipf("loadSession is not advertised")
		}
		c, _ := t.open(start{home: h.home})
		id := c.request("session/load", openParams(h.session, h.cwd))
		t.wantObject(c.wait(id), "session/load")
		time.Sleep(300 * time.Millisecond)
		answered, users := false, 0
		for _, f := range c.all() {
			u, _ := updateOf(f)
			switch {
			case answerTo(id)(f):
				answered = true
			case u.Kind == "user_message_chunk":
				users++
				fallthrough
			case strings.HasSuffix(u.Kind, "_chunk"), strings.HasPrefix(u.Kind, "tool_call"), u.Kind == "plan":
				if answered {
					t.failf("%s came after the answer", u.Kind)
				}
			}
		}
		if users == 0 {
			t.failf("the user's own messages are not shown")
		}
		m1, t1, s1, p1 := shape(h.live)
		m2, t2, s2, p2 := shape(c.updates(h.session))
		switch {
		case m1 != m2:
			t.failf("live the agent said %.80q, loaded %.80q", m1, m2)
		case t1 != t2:
			t.failf("live the agent thought %.80q, loaded %.80q", t1, t2)
		case !slices.Equal(s1, s2):
			t.failf("live the calls ended as %v, loaded as %v", s1, s2)
		case p1 != p2:
			t.failf("live the plan was %s, loaded %s", p1, p2)
		}
	}},
	{38, secSession, "load of an unknown session answers -32002; with another cwd it does not harm", func(t *T) {
		h := t.makeHistory()
		if !h.caps.LoadSession {
			t.skipf("loadSession is not advertised")
		}
		c, _ := t.open(start{home: h.home})
		t.wantError(c.call("session/load", openParams("11111111-2222-4333-8444-555555555555", h.cwd)), "load of an unknown session", -32002)
		if f := c.call("session/load", openParams(h.session, t.tempDir("elsewhere"))); f.Error != nil {
			t.wantObject(c.call("session/load", openParams(h.session, h.cwd)), "session/load after a refused one")
		}
	}},
	{39, secSession, "load of an open session leads to no doubled updates", func(t *T) {
		c, r := t.open(start{})
		if !r.AgentCapabilities.LoadSession {
			t.skipf("loadSession is not advertised")
		}
		s, dir := c.session("")
		c.turn(s, t.prompt(Hello))
		c.call("session/load", openParams(s, dir)) // refused or not: that is the agent's choice
		time.Sleep(200 * time.Millisecond)
		before := len(c.updates(s))
		c.turn(s, t.prompt(Echo, "text", "onceonly"))
		time.Sleep(200 * time.Millisecond)
		if n := strings.Count(messageOf(c.updates(s)[before:]), "onceonly"); n != 1 {
			t.failf("the answer was shown %d times", n)
		}
	}},
	{40, secSession, "resume shows nothing again, and the next prompt knows what was said", func(t *T) {
		first, r := t.open(start{})
		if !r.AgentCapabilities.session("resume") {
			t.skipf("resume is not advertised")
		}
		s, dir := first.session("")
		remember, recall := t.prompt(Hello), ""
		if t.profile.has(Remember) && t.profile.has(Recall) {
			remember, recall = t.prompt(Remember, "text", "platypus"), t.prompt(Recall)
		}
		first.turn(s, remember)
		c, _ := t.open(start{home: first.away()})
		id := c.request("session/resume", openParams(s, dir))
		t.wantObject(c.wait(id), "session/resume")
		time.Sleep(200 * time.Millisecond)
		for _, u := range c.updates(s) {
			if strings.HasSuffix(u.Kind, "_chunk") || strings.HasPrefix(u.Kind, "tool_call") {
				t.failf("%s was shown again", u.Kind)
			}
		}
		if recall != "" {
			c.turn(s, recall)
			if m := c.message(s); !strings.Contains(m, "platypus") {
				t.failf("the agent does not know what was said before: %.80q", m)
			}
		}
	}},
	{41, secSession, "list: absolute cwds, a filter, pages to the end, a bad cursor answers -32602", func(t *T) {
		h := t.makeHistory()
		if !h.caps.session("list") {
			t.skipf("list is not advertised")
		}
		c, _ := t.open(start{home: h.home})
		other, _ := c.session("")
		c.turn(other, t.prompt(Hello))
		all := c.list(map[string]any{})
		if !all[h.session] {
			t.failf("a session that was used is not listed")
		}
		t.wantObject(c.call("session/list", nil), "session/list without params")
		if filtered := c.list(map[string]any{"cwd": h.cwd}); !filtered[h.session] || filtered[other] {
			t.failf("the filter by cwd does not do what it says")
		}
		if none := c.list(map[string]any{"cwd": t.tempDir("unused")}); len(none) != 0 {
			t.failf("a folder without sessions has %d", len(none))
		}
		t.wantError(c.call("session/list", map[string]any{"cursor": "conformance-bad-cursor"}), "a bad cursor", -32602)
	}},
	{42, secSession, "delete: {}, gone from the list, and {} again", func(t *T) {
		h := t.makeHistory()
		if !h.caps.session("delete") {
			t.skipf("delete is not advertised")
		}
		c, _ := t.open(start{home: h.home})
		t.wantObject(c.call("session/delete", map[string]any{"sessionId": h.session}), "session/delete")
		if h.caps.session("list") && c.list(map[string]any{})[h.session] {
			t.failf("a deleted session is still listed")
		}
		t.wantObject(c.call("session/delete", map[string]any{"sessionId": h.session}), "session/delete, again")
		if h.caps.LoadSession {
			t.wantError(c.call("session/load", openParams(h.session, h.cwd)), "load of a deleted session")
		}
	}},
	{43, secSession, "close in a turn: the prompt answers cancelled, close {}, a later prompt is an error", func(t *T) {
		c, r := t.open(start{})
		if !r.AgentCapabilities.session("close") {
			t.skipf("close is not advertised")
		}
		s, _ := c.session("")
		id := c.ask(s, t.prompt(Slow))
		c.busy(s)
		t.wantObject(c.call("session/close", map[string]any{"sessionId": s}), "session/close")
		if reason := c.stop(id); reason != "cancelled" {
			t.failf("the prompt ended with %q, not cancelled", reason)
		}
		t.wantError(c.wait(c.ask(s, t.prompt(Hello))), "a prompt to a closed session")
	}},
	{44, secSession, "sessions outlast the agent's process", func(t *T) {
		h := t.makeHistory()
		caps := h.caps
		if !caps.LoadSession && !caps.session("resume") && !caps.session("list") {
			t.skipf("nothing that concerns earlier sessions is advertised")
		}
		// The third process, so that one which only opened it lies between.
		for range 2 {
			c, _ := t.open(start{home: h.home})
			if caps.session("list") && !c.list(map[string]any{})[h.session] {
				t.failf("the session is not listed by a new process")
			}
			if caps.LoadSession || caps.session("resume") {
				c.reopen(caps, h.session, h.cwd)
				c.turn(h.session, t.prompt(Hello))
			}
			c.away()
		}
		if caps.session("delete") {
			c, _ := t.open(start{home: h.home})
			t.wantObject(c.call("session/delete", map[string]any{"sessionId": h.session}), "session/delete")
			c.away()
			c, _ = t.open(start{home: h.home})
			if caps.session("list") && c.list(map[string]any{})[h.session] {
				t.failf("a deleted session is back in a new process")
			}
		}
	}},
}

// list gives all pages.
func (c *client) list(params map[string]any) map[string]bool {
	out := map[string]bool{}
	for page := 0; ; page++ {
		var r struct {
			Sessions   []struct{ SessionID, Cwd string }
			NextCursor string
		}
		c.must(c.call("session/list", params), "session/list", &r)
		for _, s := range r.Sessions {
			if s.SessionID == "" || !filepath.IsAbs(s.Cwd) {
				c.t.failf("a listed session needs an id and an absolute cwd: %+v", s)
			}
			if out[s.SessionID] {
				c.t.failf("the session %s is listed twice", s.SessionID)
			}
			out[s.SessionID] = true
		}
		if r.NextCursor == "" {
			return out
		}
		if page > 1000 {
			c.t.failf("the list has no end")
		}
		next := map[string]any{"cursor": r.NextCursor}
		for k, v := range params {
			if k != "cursor" {
				next[k] = v
			}
		}
		params = next
	}
}
