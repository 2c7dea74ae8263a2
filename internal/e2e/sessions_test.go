package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shown is what a session's updates show, without the commands and, unless
// wanted, without the user's own words.
func (c *client) shown(session string, users bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	live := map[string]string{} // what terminals were sent ahead of the end
	for _, f := range c.frames {
		u, id := updateOf(f)
		if id != session || u.SessionUpdate == "available_commands_update" || u.SessionUpdate == "usage_update" || (u.SessionUpdate == "user_message_chunk" && !users) {
			continue
		}
		if text, preview := previewOf(u); preview {
			live[u.ToolCallID] += text
			continue
		}
		text := string(f.Params)
		if u.SessionUpdate == "tool_call_update" && u.Status != "in_progress" {
			text = withLive(f.Params, live[u.ToolCallID])
		}
		out = append(out, text)
	}
	return out
}

// previewOf tells live output, which no log has, from what is shown for good.
func previewOf(u update) (terminal string, preview bool) {
	var meta struct {
		Output *struct{ Data string } `json:"terminal_output"`
	}
	_ = json.Unmarshal(u.Meta, &meta)
	switch {
	case u.SessionUpdate != "tool_call_update" || u.Status != "":
		return "", false
	case meta.Output != nil:
		return meta.Output.Data, true
	}
	return "", strings.Contains(string(u.Content), "```console")
}

// withLive is an update as it is without live output: the end of a call has all
// of what its terminal was sent.
func withLive(params json.RawMessage, live string) string {
	var p map[string]any
	_ = json.Unmarshal(params, &p)
	u := p["update"].(map[string]any)
	if meta, _ := u["_meta"].(map[string]any); meta != nil && live != "" {
		end, _ := meta["terminal_output"].(map[string]any)
		if end == nil {
			end = map[string]any{"terminal_id": u["toolCallId"], "data": ""}
		}
		end["data"] = live + end["data"].(string)
		meta["terminal_output"] = end
	}
	whole, _ := json.Marshal(p)
	return string(whole)
}

func withSessions(dir string) string { return fullAccess + fmt.Sprintf("sessions: {dir: %q}\n", dir) }

func (c *client) load(session string) frame {
	return c.call("session/load", map[string]any{"sessionId": session, "cwd": c.cwd, "mcpServers": []any{}})
}

func TestALoadedSessionShowsWhatWasShownLive(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	write(t, filepath.Join(cwd, "a.txt"), "alpha\nbeta\n")
	c := start(t, setup{config: withSessions(dir), cwd: cwd})
	s := c.open(nil)
	c.prompt(s, tool("read", map[string]any{"file_path": "a.txt"})+"\n"+tool("bash", map[string]any{"command": "echo '```'; false", "description": "Fence"}))
	c.prompt(s, tool("edit", map[string]any{"file_path": "a.txt", "old_string": "beta", "new_string": "gamma"}))
	live := c.shown(s, false)
	c.closeInput()

	again := start(t, setup{config: withSessions(dir), cwd: cwd})
	if f := again.call("initialize", map[string]any{"protocolVersion": 1}); !strings.Contains(string(f.Result), `"loadSession":true`) {
		t.Errorf("session/load is not advertised: %s", f.Result)
	}
	id := again.request("session/load", map[string]any{"sessionId": s, "cwd": cwd, "mcpServers": []any{}})
	if f := again.reply(id); f.Error != nil {
		t.Fatalf("%+v", f.Error)
	}
	if got, want := strings.Join(again.shown(s, false), "\n"), strings.Join(live, "\n"); got != want {
		t.Errorf("loaded:\n%s\nlive:\n%s", got, want)
	}
	if users := again.shown(s, true); !strings.Contains(users[0], "user_message_chunk") || !strings.Contains(users[0], "/tool read") {
		t.Errorf("the replay begins with %s", users[0])
	}
	// Everything shown again came before the answer.
	again.mu.Lock()
	answered := false
	for _, f := range again.frames {
		if string(f.ID) == itoa(id) && f.Method == "" {
			answered = true
		} else if u, _ := updateOf(f); answered && u.SessionUpdate != "" && u.SessionUpdate != "available_commands_update" && u.SessionUpdate != "usage_update" {
			t.Errorf("shown after the answer: %s", f.Params)
		}
	}
	again.mu.Unlock()
	if stop := again.prompt(s, tool("read", map[string]any{"file_path": "a.txt"})); stop != "end_turn" {
		t.Errorf("the loaded session does not work: %q", stop)
	}
}

func TestLoadErrors(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	c := start(t, setup{config: withSessions(dir), cwd: cwd})
	s := c.open(nil)
	c.prompt(s, "/say hello")
	if f := c.load(s); f.Error == nil || !strings.Contains(f.Error.Message, "already open") {
		t.Errorf("loading a session that is open here: %+v", f.Error)
	}
	other := start(t, setup{config: withSessions(dir), cwd: cwd})
	other.call("initialize", map[string]any{"protocolVersion": 1})
	if f := other.load(s); f.Error == nil || !strings.Contains(f.Error.Message, "open elsewhere") {
		t.Errorf("loading a session that another process has open: %+v", f.Error)
	}
	for _, id := range []string{"nope", "../x", ""} {
		if f := other.load(id); f.Error == nil || (id != "" && f.Error.Code != -32002) {
			t.Errorf("loading %q: %+v", id, f.Error)
		}
	}
	c.closeInput()
	f := other.call("session/load", map[string]any{"sessionId": s, "cwd": t.TempDir(), "mcpServers": []any{}})
	if f.Error == nil || f.Error.Code != -32602 || !strings.Contains(f.Error.Message, cwd) {
		t.Errorf("loading with another cwd: %+v", f.Error)
	}
	if f := other.load(s); f.Error != nil {
		t.Errorf("after the errors it must still load: %+v", f.Error)
	}
}

func TestResumeShowsNothingAndKnowsTheContext(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	c := start(t, setup{config: withSessions(dir), cwd: cwd})
	s := c.open(nil)
	c.prompt(s, "/say hello")
	c.closeInput()
	again := start(t, setup{config: withSessions(dir), cwd: cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1})
	if f := again.call("session/resume", map[string]any{"sessionId": s, "cwd": cwd}); f.Error != nil {
		t.Fatalf("%+v", f.Error)
	}
	if shown := again.shown(s, true); len(shown) != 0 {
		t.Errorf("shown: %v", shown)
	}
	if stop := again.prompt(s, "/say more"); stop != "end_turn" {
		t.Error(stop)
	}
	log, err := os.ReadFile(filepath.Join(dir, s, "events.jsonl"))
	if err != nil || strings.Count(string(log), `{"type":"turn/start"`) != 2 {
		t.Errorf("the session's log does not go on: %v\n%s", err, log)
	}
}

type listed struct {
	Sessions []struct {
		SessionID, Cwd, Title, UpdatedAt string
	}
	NextCursor string
}

func (c *client) list(params map[string]any) listed {
	c.t.Helper()
	f := c.call("session/list", params)
	var l listed
	if f.Error != nil || json.Unmarshal(f.Result, &l) != nil {
		c.t.Fatalf("%+v %s", f.Error, f.Result)
	}
	return l
}

func TestListIsPagedNewestFirstAndFilteredByDirectory(t *testing.T) {
	cwd := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(cwd, link); err != nil {
		t.Fatal(err)
	}
	c := start(t, setup{config: withSessions(t.TempDir()), cwd: cwd})
	c.call("initialize", map[string]any{"protocolVersion": 1})
	if l := c.list(nil); len(l.Sessions) != 0 {
		t.Errorf("%+v", l)
	}
	var ids []string
	for i := range 53 {
		s := c.newSession()
		c.prompt(s, fmt.Sprintf("/say number %d", i))
		ids = append(ids, s)
	}
	elsewhere := c.call("session/new", map[string]any{"cwd": t.TempDir(), "mcpServers": []any{}})
	if elsewhere.Error != nil {
		t.Fatal(elsewhere.Error)
	}
	slices.Sort(ids)
	for _, dir := range []string{cwd, cwd + "/.", link} {
		var got, times []string
		params := map[string]any{"cwd": dir}
		for {
			l := c.list(params)
			for _, s := range l.Sessions {
				got = append(got, s.SessionID)
				times = append(times, s.UpdatedAt)
				if !strings.HasPrefix(s.Title, "/say number") || s.UpdatedAt == "" || s.Cwd != cwd {
					t.Errorf("%+v", s)
				}
			}
			if l.NextCursor == "" {
				break
			}
			params["cursor"] = l.NextCursor
		}
		if !slices.IsSortedFunc(times, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("filtered by %s: not newest first: %v", dir, times)
		}
		if slices.Sort(got); !slices.Equal(got, ids) {
			t.Errorf("filtered by %s: %d sessions, other ones than the %d made", dir, len(got), len(ids))
		}
	}
	if l := c.list(map[string]any{"cwd": nil, "cursor": nil}); len(l.Sessions) != 50 {
		t.Errorf("a page holds %d", len(l.Sessions))
	}
	for _, bad := range []string{"x", "e30", "bm90IGpzb24"} {
		if f := c.call("session/list", map[string]any{"cursor": bad}); f.Error == nil || f.Error.Code != -32602 {
			t.Errorf("cursor %q: %+v", bad, f.Error)
		}
	}
}

func TestCloseAndDelete(t *testing.T) {
	c := start(t, setup{config: withSessions(t.TempDir())})
	s := c.open(nil)
	c.prompt(s, tool("bash", map[string]any{"command": "sleep 605 & echo $! > child", "description": "Leave a child"}))
	pid := waitForFile(t, filepath.Join(c.cwd, "child"))
	running := c.request("session/prompt", textPrompt(s, slowPrompt))
	waiting := c.request("session/prompt", textPrompt(s, "/say never"))
	if f := c.call("session/close", map[string]any{"sessionId": s}); f.Error != nil || string(f.Result) != "{}" {
		t.Errorf("%+v %s", f.Error, f.Result)
	}
	for _, id := range []int{running, waiting} {
		if stop := stopReason(c.reply(id)); stop != "cancelled" {
			t.Errorf("prompt %d of the closed session: %q", id, stop)
		}
	}
	wantGone(t, pid, "a command of the closed session")
	if f := c.call("session/prompt", textPrompt(s, "/say x")); f.Error == nil || f.Error.Code != -32002 {
		t.Errorf("a prompt after the close: %+v", f.Error)
	}
	if f := c.load(s); f.Error != nil {
		t.Errorf("a closed session must load: %+v", f.Error)
	}
	for range 2 { // the second time it is gone already
		if f := c.call("session/delete", map[string]any{"sessionId": s}); f.Error != nil || string(f.Result) != "{}" {
			t.Errorf("%+v %s", f.Error, f.Result)
		}
	}
	if l := c.list(nil); len(l.Sessions) != 0 {
		t.Errorf("%+v", l)
	}
	if f := c.load(s); f.Error == nil || f.Error.Code != -32002 {
		t.Errorf("loading a deleted session: %+v", f.Error)
	}
}
