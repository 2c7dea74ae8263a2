package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

func (c *client) fork(session, cwd string) string {
	c.t.Helper()
	f := c.call("session/fork", map[string]any{"sessionId": session, "cwd": cwd, "mcpServers": nil})
	var r struct {
		SessionID     string
		Modes         any
		ConfigOptions []any
	}
	if f.Error != nil || json.Unmarshal(f.Result, &r) != nil || r.SessionID == "" || r.Modes == nil || len(r.ConfigOptions) == 0 {
		c.t.Fatalf("session/fork: %+v %s", f.Error, f.Result)
	}
	return r.SessionID
}

// answers are the texts of the agent in a session, of which user words are left
// out.
func (c *client) words(session string) string {
	return strings.Join(c.shown(session, false), "\n")
}

func TestFork(t *testing.T) {
	dir := t.TempDir()
	c := start(t, setup{config: withSessions(dir)})
	if f := c.call("initialize", map[string]any{"protocolVersion": 1}); !strings.Contains(string(f.Result), `"fork":{}`) || !strings.Contains(string(f.Result), `"title":{}`) {
		t.Errorf("not advertised: %s", f.Result)
	}
	s := c.newSession()
	c.prompt(s, "/say the first answer")

	// Of an open session, while a turn of it runs: the copy has what was there, the
	// call that runs is closed in it, and the source goes on.
	run := c.request("session/prompt", textPrompt(s, tool("bash", map[string]any{"command": "sleep 600", "description": "Wait"})))
	c.wait("the call to run", func(fs []frame) bool {
		for _, f := range fs {
			if u, _ := updateOf(f); u.Status == "in_progress" {
				return true
			}
		}
		return false
	})
	other := t.TempDir()
	mid := c.fork(s, other)
	if stop := c.prompt(mid, "/say in the copy"); stop != "end_turn" {
		t.Errorf("the copy ended with %q", stop)
	}
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if got := stopReason(c.reply(run)); got != "cancelled" {
		t.Errorf("the source's turn ended with %q", got)
	}
	if got := c.words(mid); !strings.Contains(got, "in the copy") || strings.Contains(got, "the first answer") {
		t.Errorf("the copy shows what was shown before: %s", got)
	}
	c.prompt(s, "/say only in the source")

	// Of a stored session.
	c.call("session/close", map[string]any{"sessionId": s})
	late := c.fork(s, c.cwd)
	c.closeInput()

	again := start(t, setup{config: withSessions(dir), cwd: c.cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1})
	load := func(id, cwd string) string {
		t.Helper()
		if f := again.call("session/load", map[string]any{"sessionId": id, "cwd": cwd, "mcpServers": nil}); f.Error != nil {
			t.Fatalf("%+v", f.Error)
		}
		return again.words(id)
	}
	got := load(mid, other)
	for _, want := range []string{"the first answer", "in the copy", `"status":"failed"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the copy lacks %q: %s", want, got)
		}
	}
	if strings.Contains(got, "only in the source") {
		t.Error("the copy has what the source said later")
	}
	if got := load(late, c.cwd); !strings.Contains(got, "only in the source") || strings.Contains(got, "in the copy") {
		t.Errorf("the late copy shows %s", got)
	}
	if f := again.call("session/fork", map[string]any{"sessionId": "nobody", "cwd": c.cwd}); f.Error == nil || f.Error.Code != -32002 {
		t.Errorf("%+v", f.Error)
	}
	if f := again.call("session/fork", map[string]any{"sessionId": s, "cwd": "rel"}); f.Error == nil || f.Error.Code != -32602 {
		t.Errorf("%+v", f.Error)
	}
}

func TestSetTitle(t *testing.T) {
	dir := t.TempDir()
	c := start(t, setup{config: withSessions(dir)})
	s := c.open(nil)
	set := func(id, title string) frame {
		return c.call("session/set_title", map[string]any{"sessionId": id, "title": title})
	}
	if f := set(s, " My\n\ttitle "); string(f.Result) != `{"title":"My title"}` {
		t.Errorf("%s %+v", f.Result, f.Error)
	}
	c.prompt(s, "/say hello there")
	titles := 0
	for _, u := range c.shown(s, false) {
		if strings.Contains(u, "session_info_update") {
			titles++
			if !strings.Contains(u, "My title") || !strings.Contains(u, `"updatedAt":"20`) {
				t.Error(u)
			}
		}
	}
	if titles != 1 {
		t.Errorf("%d titles", titles)
	}
	for _, bad := range []struct {
		id, title string
		code      int
	}{{s, " \n", -32602}, {"nobody", "x", -32002}} {
		if f := set(bad.id, bad.title); f.Error == nil || f.Error.Code != bad.code {
			t.Errorf("%q: %+v", bad.title, f.Error)
		}
	}
	c.call("session/close", map[string]any{"sessionId": s})
	long := strings.Repeat("ü", 300)
	if f := set(s, long); string(f.Result) != `{"title":"`+strings.Repeat("ü", 100)+`"}` {
		t.Errorf("%s %+v", f.Result, f.Error)
	}
	if f := c.call("session/list", map[string]any{}); !strings.Contains(string(f.Result), `"title":"üüü`) {
		t.Errorf("%s", f.Result)
	}
}
