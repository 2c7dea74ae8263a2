package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

var clientChecks = []Check{
	{76, secClient, "without a capability its methods are not called", func(t *T) {
		var asked []frame
		c, _ := t.open(start{handle: answeringAlike(choose("allow_once"), &asked)})
		if t.profile.has(Command) || t.profile.has(Read) {
			t.someTools(c)
		} else {
			s, _ := c.session("")
			c.turn(s, t.prompt(Hello))
		}
		c.onlyBaseline()
	}},
	{77, secClient, "files are read and written through a client that offers it, and a client's error does not end the turn", func(t *T) {
		ed := &editor{}
		fsCaps := map[string]any{"fs": map[string]any{"readTextFile": true, "writeTextFile": true}}
		c, _ := t.open(start{caps: fsCaps, handle: ed.handlers()})
		s, dir := c.session("")
		path := filepath.Join(dir, "a.txt")
		t.write(path, "saved\n")
		ed.set(path, "unsaved\n")
		c.turn(s, t.prompt(Read, "path", path))
		reads, _ := ed.counts()
		if reads == 0 {
			t.skipf("the agent does not use the client's files")
		}
		t.checkFileCalls(c, s)
		if cs := calls(c.updates(s)); !strings.Contains(cs[len(cs)-1].everything(), "unsaved") {
			t.failf("the unsaved text of the client was asked for and is not what the tool shows")
		}
		if t.profile.has(Edit) {
			c.turn(s, t.prompt(Edit, "path", path, "old", "unsaved", "new", "edited"))
			if got := ed.text(path); got != "edited\n" {
				t.failf("after an edit the client's text is %q", got)
			}
			t.checkFileCalls(c, s)
		}
		ed.fail()
		other := filepath.Join(dir, "b.txt")
		t.write(other, "on disk\n")
		if f := c.wait(c.ask(s, t.prompt(Read, "path", other))); f.Error != nil {
			t.failf("a client's error fails the turn: %s", f.Error.Message)
		}
	}},
	{78, secClient, "a client's terminal is created, embedded, awaited and released, also when cancelled", func(t *T) {
		terms := &terminals{exit: make(chan struct{})}
		c, _ := t.open(start{caps: map[string]any{"terminal": true}, handle: terms.handlers()})
		s, _ := c.session("")
		close(terms.exit)
		c.turn(s, t.prompt(Command, "command", "echo in-the-terminal"))
		if len(terms.ids()) == 0 {
			t.skipf("the agent does not use the client's terminals")
		}
		if !slices.ContainsFunc(c.updates(s), func(u update) bool {
			return strings.HasPrefix(u.Kind, "tool_call") && strings.Contains(string(u.Content), `"terminalId"`)
		}) {
			t.failf("the terminal is not shown in its call's content")
		}
		if left := terms.unreleased(); left != "" {
			t.failf("the terminal %s was not released", left)
		}
		terms.mu.Lock()
		terms.exit = make(chan struct{}) // the next command goes on
		terms.mu.Unlock()
		before := len(terms.ids())
		id := c.ask(s, t.prompt(Command, "command", "sleep 60"))
		for end := time.Now().Add(t.timeout()); len(terms.ids()) == before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.failf("the second command was not started in a terminal")
			}
		}
		c.cancel(s)
		c.stop(id)
		for end := time.Now().Add(t.within(2 * time.Second)); terms.unreleased() != ""; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.failf("the terminal of a cancelled call was not released")
			}
		}
	}},
	{79, secClient, "a plan is complete each time, with content, priority and status", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		c.turn(s, t.prompt(Plan))
		n := 0
		for _, u := range c.updates(s) {
			if u.Kind != "plan" {
				continue
			}
			if len(u.Entries) < n {
				t.failf("a later plan has %d entries, an earlier one %d", len(u.Entries), n)
			}
			n = len(u.Entries)
			for _, e := range u.Entries {
				for _, name := range []string{"content", "priority", "status"} {
					if text, _ := e[name].(string); text == "" {
						t.failf("a plan's entry has no %s", name)
					}
				}
			}
		}
		if n == 0 {
			t.failf("no plan was shown")
		}
	}},
	{80, secClient, "commands are announced after session/new and load, run, and unknown ones go to the model", func(t *T) {
		c, r := t.open(start{})
		s, dir := c.session("")
		commands := c.commands(s)
		if len(commands) == 0 {
			t.skipf("the agent announces no commands")
		}
		for _, name := range commands {
			if name == "" || strings.HasPrefix(name, "/") {
				t.failf("the command %q is announced with a slash or without a name", name)
			}
		}
		c.must(c.wait(c.ask(s, "/"+commands[0])), "the command /"+commands[0], nil)
		said := len(c.message(s))
		c.must(c.wait(c.ask(s, "/conformance-unknown hello\n"+t.prompt(Hello))), "an unknown command", nil)
		if len(c.message(s)) == said {
			t.failf("an unknown command was met with silence")
		}
		if !r.AgentCapabilities.LoadSession {
			return
		}
		again, _ := t.open(start{home: c.away()})
		t.wantObject(again.call("session/load", openParams(s, dir)), "session/load")
		if len(again.commands(s)) == 0 {
			t.failf("no commands are announced after load")
		}
	}},
}

// commands waits for the announcement and gives the names.
func (c *client) commands(session string) []string {
	f, ok := c.findWithin(c.t.within(2*time.Second), func(f frame) bool {
		u, id := updateOf(f)
		return id == session && u.Kind == "available_commands_update"
	})
	if !ok {
		return nil
	}
	u, _ := updateOf(f)
	var names []string
	for _, cmd := range u.AvailableCommands {
		names = append(names, cmd.Name)
	}
	return names
}

// checkFileCalls fails the check over a wrong request for a file.
func (t *T) checkFileCalls(c *client, session string) {
	for _, f := range c.all() {
		if !strings.HasPrefix(f.Method, "fs/") {
			continue
		}
		var p struct {
			SessionID, Path string
			Line            *int
		}
		_ = json.Unmarshal(f.Params, &p)
		switch {
		case p.SessionID != session:
			t.failf("%s names the session %q", f.Method, p.SessionID)
		case !filepath.IsAbs(p.Path):
			t.failf("%s names the path %q, which is not absolute", f.Method, p.Path)
		case p.Line != nil && *p.Line < 1:
			t.failf("%s asks for the line %d", f.Method, *p.Line)
		}
	}
}

// editor is a client's files: unsaved texts, and what was asked.
type editor struct {
	mu            sync.Mutex
	open          map[string]string
	reads, writes int
	failing       bool
}

func (e *editor) set(path, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		e.open = map[string]string{}
	}
	e.open[path] = text
}

func (e *editor) text(path string) string { e.mu.Lock(); defer e.mu.Unlock(); return e.open[path] }

func (e *editor) fail() { e.mu.Lock(); defer e.mu.Unlock(); e.failing = true }

func (e *editor) counts() (reads, writes int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reads, e.writes
}

func (e *editor) handlers() map[string]handler {
	type params struct {
		Path, Content string
		Line, Limit   *int
	}
	serve := func(do func(p params) any) handler {
		return func(_ *client, f frame) (any, *rpcError, bool) {
			var p params
			_ = json.Unmarshal(f.Params, &p)
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.failing {
				return nil, &rpcError{Code: -32603, Message: "the editor fails"}, true
			}
			return do(p), nil, true
		}
	}
	return map[string]handler{
		"fs/read_text_file": serve(func(p params) any {
			e.reads++
			text, ok := e.open[p.Path]
			if !ok {
				data, _ := os.ReadFile(p.Path) // a file that is not there is empty, as in some editors
				text = string(data)
			}
			return map[string]any{"content": window(text, p.Line, p.Limit)}
		}),
		"fs/write_text_file": serve(func(p params) any {
			e.writes++
			if e.open == nil {
				e.open = map[string]string{}
			}
			e.open[p.Path] = p.Content
			if err := os.WriteFile(p.Path, []byte(p.Content), 0o644); err != nil {
				return map[string]any{"error": err.Error()}
			}
			return map[string]any{}
		}),
	}
}

// window cuts the lines that were asked for out of a text.
func window(text string, line, limit *int) string {
	lines := strings.SplitAfter(text, "\n")
	if line != nil && *line > 0 {
		lines = lines[min(*line-1, len(lines)):]
	}
	if limit != nil && *limit >= 0 {
		lines = lines[:min(*limit, len(lines))]
	}
	return strings.Join(lines, "")
}

// terminals are a client's terminals, whose commands end when exit is closed.
type terminals struct {
	mu       sync.Mutex
	exit     chan struct{}
	created  []string
	released []string
}

func (s *terminals) ids() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.created) }

func (s *terminals) unreleased() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.created {
		if !slices.Contains(s.released, id) {
			return id
		}
	}
	return ""
}

func (s *terminals) handlers() map[string]handler {
	terminalOf := func(f frame) string {
		var p struct{ TerminalID string }
		_ = json.Unmarshal(f.Params, &p)
		return p.TerminalID
	}
	ok := func(v any) (any, *rpcError, bool) { return v, nil, true }
	return map[string]handler{
		"terminal/create": func(*client, frame) (any, *rpcError, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			id := "terminal-" + string(rune('a'+len(s.created)))
			s.created = append(s.created, id)
			return ok(map[string]any{"terminalId": id})
		},
		"terminal/output": func(*client, frame) (any, *rpcError, bool) {
			return ok(map[string]any{"output": "in-the-terminal\n", "truncated": false})
		},
		"terminal/wait_for_exit": func(c *client, f frame) (any, *rpcError, bool) {
			s.mu.Lock()
			exit := s.exit
			s.mu.Unlock()
			select {
			case <-exit:
				return ok(map[string]any{"exitCode": 0})
			default:
				return nil, nil, false // it goes on until it is killed
			}
		},
		"terminal/kill": func(*client, frame) (any, *rpcError, bool) { return ok(map[string]any{}) },
		"terminal/release": func(_ *client, f frame) (any, *rpcError, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.released = append(s.released, terminalOf(f))
			return ok(map[string]any{})
		},
	}
}

var stateChecks = []Check{
	{81, secClient, "modes and options: unknown ones answer -32602, the full list comes back, both views agree, in a turn too", func(t *T) {
		c, _ := t.open(start{})
		st, _ := c.newSession("")
		if st.Modes == nil && len(st.ConfigOptions) == 0 {
			t.skipf("the agent has neither modes nor config options")
		}
		c.switching(st)
		if t.profile.has(Slow) {
			id := c.ask(st.SessionID, t.prompt(Slow))
			c.busy(st.SessionID)
			c.switching(st)
			c.cancel(st.SessionID)
			c.wait(id)
		}
	}},
	{82, secClient, "without session.configOptions.boolean no boolean option is sent", func(t *T) {
		c, _ := t.open(start{})
		st, _ := c.newSession("")
		c.turn(st.SessionID, t.prompt(Hello))
		all := st.ConfigOptions
		for _, u := range c.updates(st.SessionID) {
			all = append(all, u.ConfigOptions...)
		}
		for _, o := range all {
			if o.Type == "boolean" {
				t.failf("the option %q is boolean", o.ID)
			}
		}
	}},
	{83, secClient, "without session.notices and session.compaction none is sent", func(t *T) {
		c, _ := t.open(start{})
		f := c.call("session/new", map[string]any{"cwd": t.tempDir("work"), "mcpServers": []any{
			map[string]any{"name": "broken", "command": filepath.Join(t.dir, "no-such-program"), "args": []any{}, "env": []any{}},
		}})
		var st sessionState
		c.must(f, "session/new", &st)
		c.turn(st.SessionID, t.prompt(Hello))
		if slices.Contains(c.commands(st.SessionID), "compact") {
			c.wait(c.ask(st.SessionID, "/compact"))
		}
		for _, u := range c.updates(st.SessionID) {
			if u.Kind == "notice" || strings.HasPrefix(u.Kind, "compaction_") {
				t.failf("%s was sent", u.Kind)
			}
		}
	}},
}

// switching tries every mode and option of a session.
func (c *client) switching(st sessionState) {
	s := st.SessionID
	if st.Modes != nil {
		c.t.wantError(c.call("session/set_mode", map[string]any{"sessionId": s, "modeId": "conformance-unknown"}), "an unknown mode", -32602)
		for _, m := range st.Modes.AvailableModes {
			c.t.wantObject(c.call("session/set_mode", map[string]any{"sessionId": s, "modeId": m.ID}), "session/set_mode "+m.ID)
		}
		c.t.wantObject(c.call("session/set_mode", map[string]any{"sessionId": s, "modeId": st.Modes.CurrentModeID}), "session/set_mode back")
	}
	if len(st.ConfigOptions) == 0 {
		return
	}
	set := func(id, value string) frame {
		return c.call("session/set_config_option", map[string]any{"sessionId": s, "configId": id, "value": value})
	}
	c.t.wantError(set("conformance-unknown", "x"), "an unknown option", -32602)
	for _, o := range st.ConfigOptions {
		if o.Type != "select" {
			continue
		}
		c.t.wantError(set(o.ID, "conformance-unknown"), "an unknown value of "+o.ID, -32602)
		for _, v := range append(o.values(), o.current()) {
			var r struct{ ConfigOptions []configOption }
			c.must(set(o.ID, v), "session/set_config_option "+o.ID, &r)
			if len(r.ConfigOptions) < len(st.ConfigOptions) {
				c.t.failf("setting %s gives back %d of %d options", o.ID, len(r.ConfigOptions), len(st.ConfigOptions))
			}
			for _, now := range r.ConfigOptions {
				if now.ID == o.ID && now.current() != v {
					c.t.failf("%s was set to %q and is %q", o.ID, v, now.current())
				}
			}
		}
		c.bothViews(st, o)
	}
}

// bothViews sets the option that is the other view of the modes and waits for
// the mode to follow.
func (c *client) bothViews(st sessionState, o configOption) {
	if st.Modes == nil {
		return
	}
	var modes []string
	for _, m := range st.Modes.AvailableModes {
		modes = append(modes, m.ID)
	}
	if !o.isModes(modes) || len(modes) < 2 {
		return
	}
	target := modes[0]
	if target == st.Modes.CurrentModeID {
		target = modes[1]
	}
	before := len(c.all())
	c.wait(c.request("session/set_config_option", map[string]any{"sessionId": st.SessionID, "configId": o.ID, "value": target}))
	seen := 0
	if _, ok := c.findWithin(c.t.within(2*time.Second), func(f frame) bool {
		seen++
		u, id := updateOf(f)
		return seen > before && id == st.SessionID && u.Kind == "current_mode_update" && u.CurrentModeID == target
	}); !ok {
		c.t.failf("the option %s was set to %q and no current_mode_update followed", o.ID, target)
	}
	c.wait(c.request("session/set_mode", map[string]any{"sessionId": st.SessionID, "modeId": st.Modes.CurrentModeID}))
	seen = 0
	if _, ok := c.findWithin(c.t.within(2*time.Second), func(f frame) bool {
		seen++
		u, id := updateOf(f)
		return seen > before && id == st.SessionID && u.Kind == "config_option_update" && slices.ContainsFunc(u.ConfigOptions, func(n configOption) bool {
			return n.ID == o.ID && n.current() == st.Modes.CurrentModeID
		})
	}); !ok {
		c.t.failf("session/set_mode was called and no config_option_update followed")
	}
}
