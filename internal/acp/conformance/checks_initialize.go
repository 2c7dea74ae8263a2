package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
)

// version reads the version of an answer to initialize.
func (t *T) version(f frame, what string) int64 {
	if f.Error != nil {
		t.failf("%s: error %d %s", what, f.Error.Code, f.Error.Message)
	}
	var r struct{ ProtocolVersion json.Number }
	_ = json.Unmarshal(f.Result, &r) // no number is no version
	n, err := r.ProtocolVersion.Int64()
	if err != nil {
		t.failf("%s: protocolVersion is %q, not an integer", what, r.ProtocolVersion)
	}
	return n
}

var initializeChecks = []Check{
	{13, secInitialize, "version 1 is answered with 1", func(t *T) {
		c := t.launch(start{})
		f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
		if v := t.version(f, "initialize"); v != 1 {
			t.failf("protocolVersion is %d", v)
		}
	}},
	{14, secInitialize, "a future version is answered with the agent's latest", func(t *T) {
		c := t.launch(start{})
		f := c.call("initialize", map[string]any{"protocolVersion": 99, "clientCapabilities": map[string]any{}})
		if v := t.version(f, "initialize with version 99"); v < 1 || v >= 99 {
			t.failf("protocolVersion is %d", v)
		}
	}},
	{15, secInitialize, "a client of the draft version 2 is answered, not refused", func(t *T) {
		c := t.launch(start{})
		f := c.call("initialize", map[string]any{"protocolVersion": 2, "info": map[string]any{"name": "x", "version": "1"}, "capabilities": map[string]any{"session": map[string]any{}}})
		if v := t.version(f, "initialize with version 2"); v != 1 && v != 2 {
			t.failf("protocolVersion is %d", v)
		}
	}},
	{16, secInitialize, "a version that is no integer answers -32602", func(t *T) {
		c := t.launch(start{})
		t.wantError(c.call("initialize", map[string]any{"protocolVersion": "1.0", "clientCapabilities": map[string]any{}}), `protocolVersion "1.0"`, -32602)
	}},
	{17, secInitialize, "initialize with nothing but a version; then all client capabilities are off", func(t *T) {
		c := t.launch(start{})
		c.must(c.call("initialize", map[string]any{"protocolVersion": 1}), "initialize", nil)
		s, _ := c.session("")
		c.turn(s, t.prompt(Hello))
		c.onlyBaseline()
	}},
	{18, secInitialize, "unknown members and _meta are ignored everywhere", func(t *T) {
		c := t.launch(start{})
		extra := map[string]any{"traceparent": "x", "example.com/a": []any{1}}
		c.must(c.call("initialize", map[string]any{
			"protocolVersion": 1, "future": true, "_meta": extra,
			"clientCapabilities": map[string]any{"future": map[string]any{"a": 1}, "fs": map[string]any{"readTextFile": false, "x": 1, "_meta": extra}, "_meta": extra},
			"clientInfo":         map[string]any{"name": "x", "version": "1", "x": 1, "_meta": extra},
		}), "initialize with unknown members", nil)
		var st sessionState
		c.must(c.call("session/new", map[string]any{"cwd": t.tempDir("work"), "mcpServers": []any{}, "future": 1, "_meta": extra}), "session/new with unknown members", &st)
		f := c.call("session/prompt", map[string]any{
			"sessionId": st.SessionID, "future": 1, "_meta": extra,
			"prompt": []any{map[string]any{"type": "text", "text": t.prompt(Hello), "future": 1, "annotations": map[string]any{"priority": 1, "x": 2}, "_meta": extra}},
		})
		c.must(f, "session/prompt with unknown members", nil)
	}},
	{19, secInitialize, "the agent says its name and version", func(t *T) {
		_, r := t.open(start{})
		if r.AgentInfo == nil || r.AgentInfo.Name == "" || r.AgentInfo.Version == "" {
			t.failf("agentInfo needs a name and a version: %+v", r.AgentInfo)
		}
	}},
	{20, secInitialize, "what is advertised is served, and nothing else", func(t *T) {
		c, r := t.open(start{})
		caps := r.AgentCapabilities
		cwd := t.tempDir("work")
		known := map[string]any{"sessionId": "conformance-unknown", "cwd": cwd, "mcpServers": []any{}}
		for _, m := range []struct {
			method     string
			advertised bool
			params     map[string]any
		}{
			{"session/load", caps.LoadSession, known},
			{"session/resume", caps.session("resume"), known},
			{"session/list", caps.session("list"), map[string]any{}},
			{"session/delete", caps.session("delete"), known},
			{"session/close", caps.session("close"), known},
			{"session/fork", caps.session("fork"), known},
			{"session/set_title", caps.session("title"), map[string]any{"sessionId": "conformance-unknown", "title": "x"}},
			{"session/archive", caps.session("archive"), known},
			{"session/status", caps.session("status"), known},
			{"logout", present(caps.Auth.Logout), map[string]any{}},
		} {
			f := c.call(m.method, m.params)
			switch missing := f.Error != nil && f.Error.Code == -32601; {
			case m.advertised && missing:
				t.failf("%s is advertised and answers -32601", m.method)
			case !m.advertised && !missing:
				t.failf("%s is not advertised and is served (want -32601)", m.method)
			}
		}
	}},
	{21, secInitialize, "session/new before initialize is refused", func(t *T) {
		c := t.launch(start{})
		t.wantError(c.call("session/new", newParams(t.tempDir("work"))), "session/new before initialize")
	}},
	{22, secInitialize, "a second initialize is refused or answered alike, and harms nothing", func(t *T) {
		c, first := t.open(start{})
		s, _ := c.session("")
		f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
		if f.Error == nil && fmt.Sprint(t.version(f, "the second initialize")) != first.ProtocolVersion.String() {
			t.failf("the second initialize answers another version: %.120s", f.Result)
		}
		c.turn(s, t.prompt(Hello))
	}},
	{23, secInitialize, "a terminal login is offered only to clients that can run one", func(t *T) {
		offered := func(caps map[string]any) bool {
			_, r := t.open(start{variant: NoKey, caps: caps})
			for _, m := range r.AuthMethods {
				if m.Type == "terminal" {
					return true
				}
			}
			return false
		}
		if offered(map[string]any{}) || offered(map[string]any{"auth": map[string]any{"terminal": false}}) {
			t.failf("a method of type terminal is offered without auth.terminal")
		}
		if !offered(map[string]any{"auth": map[string]any{"terminal": true}}) {
			t.skipf("no method of type terminal is offered, with auth.terminal or without")
		}
	}},
}

// onlyBaseline fails the check when the agent used what the client did not
// offer.
func (c *client) onlyBaseline() {
	for _, f := range c.all() {
		for _, prefix := range []string{"fs/", "terminal/", "elicitation/create"} {
			if strings.HasPrefix(f.Method, prefix) {
				c.t.failf("%s was called, which the client did not offer", f.Method)
			}
		}
	}
}

var authChecks = []Check{
	{24, secAuth, "without a key session/new answers -32000, and initialize offers methods", func(t *T) {
		c, r := t.open(start{variant: NoKey})
		if len(r.AuthMethods) == 0 {
			t.failf("initialize offers no authMethods")
		}
		t.wantError(c.call("session/new", newParams(t.tempDir("work"))), "session/new without a key", -32000)
	}},
	{25, secAuth, "authenticate with an unknown method answers -32602", func(t *T) {
		c, _ := t.open(start{variant: NoKey})
		t.wantError(c.call("authenticate", map[string]any{"methodId": "conformance-unknown"}), "an unknown methodId", -32602)
	}},
	{26, secAuth, "after authenticate session/new works", func(t *T) {
		c := t.loggedIn()
		c.session("")
	}},
	{27, secAuth, "after logout session/new answers -32000", func(t *T) {
		_, r := t.open(start{variant: NoKey})
		if !present(r.AgentCapabilities.Auth.Logout) {
			t.skipf("logout is not advertised")
		}
		c := t.loggedIn()
		c.session("")
		t.wantObject(c.call("logout", map[string]any{}), "logout")
		t.wantError(c.call("session/new", newParams(t.tempDir("work"))), "session/new after logout", -32000)
	}},
}

// loggedIn starts an agent without a key, gives it one and authenticates.
func (t *T) loggedIn() *client {
	if t.profile.GiveKey == nil {
		t.skipf("the profile cannot give the agent a key")
	}
	c, _ := t.open(start{variant: NoKey})
	if err := t.profile.GiveKey(c.home); err != nil {
		t.brokenf("the profile cannot give the agent a key: %v", err)
	}
	t.wantObject(c.call("authenticate", map[string]any{"methodId": t.profile.AuthMethod}), "authenticate")
	return c
}
