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

// askBash is a configuration whose every command is asked about, however it
// would be confined.
const askBash = "model:\n  provider: local\npermissions:\n  rules:\n    - {tool: bash, decision: ask}\n"

// permissionAsk is one permission request of the agent.
type permissionAsk struct {
	ID       json.RawMessage `json:"-"`
	ToolCall struct {
		ToolCallID, Title, Kind string
		RawInput                json.RawMessage
		Content                 json.RawMessage
		Locations               []struct{ Path string }
	}
	Options []struct{ OptionID, Name, Kind string }
}

func (a permissionAsk) names() string {
	var out []string
	for _, o := range a.Options {
		out = append(out, o.Kind+"="+o.Name)
	}
	return strings.Join(out, "; ")
}

// asks waits for n permission requests and gives all there are.
func (c *client) asks(n int) (all []permissionAsk) {
	c.t.Helper()
	c.wait(fmt.Sprintf("%d permission requests", n), func(fs []frame) bool {
		all = nil
		for _, f := range fs {
			if f.Method == "session/request_permission" {
				a := permissionAsk{ID: f.ID}
				if err := json.Unmarshal(f.Params, &a); err != nil {
					c.t.Error(err)
				}
				all = append(all, a)
			}
		}
		return len(all) >= n
	})
	return all
}

// choose answers a permission request with the option of an id.
func (c *client) choose(a permissionAsk, option string) {
	c.send(map[string]any{"jsonrpc": "2.0", "id": a.ID, "result": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": option}}})
}

// withdrawn gives the ids of requests that were withdrawn, once there are n.
func (c *client) withdrawn(n int) (ids []string) {
	c.t.Helper()
	c.wait(fmt.Sprintf("%d withdrawals", n), func(fs []frame) bool {
		ids = nil
		for _, f := range fs {
			var p struct{ RequestID json.RawMessage }
			if f.Method == "$/cancel_request" && json.Unmarshal(f.Params, &p) == nil {
				ids = append(ids, string(p.RequestID))
			}
		}
		return len(ids) >= n
	})
	slices.Sort(ids)
	return ids
}

func (c *client) has(name string) bool {
	_, err := os.Stat(filepath.Join(c.cwd, name))
	return err == nil
}

func bashCall(command string) string {
	return tool("bash", map[string]any{"command": command, "description": "x"})
}

func writeCall(name string) string {
	return tool("write", map[string]any{"file_path": name, "content": "new"})
}

// later is a client that answers permission requests when the test says so.
func later(t *testing.T, s setup) *client {
	c := start(t, s)
	c.permit = func(json.RawMessage) string { return "" }
	return c
}

func TestTheQuestionsOfAStepGoOutTogether(t *testing.T) {
	c := later(t, setup{config: askBash})
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, strings.Join([]string{
		tool("glob", map[string]any{"pattern": "*"}), bashCall("mkdir one"), writeCall("two"), bashCall("mkdir three"),
	}, "\n")))
	asks := c.asks(3)
	var order []string
	for _, a := range asks {
		order = append(order, a.ToolCall.Title)
	}
	if got := strings.Join(order, ", "); got != "mkdir one, Write two, mkdir three" {
		t.Errorf("asked about %s", got)
	}
	if c.has("one") || c.has("two") || c.has("three") {
		t.Error("something ran before it was allowed")
	}
	// Answered from the last to the first: they still run in their order.
	c.choose(asks[2], "allow-once")
	c.choose(asks[1], "reject-once")
	c.choose(asks[0], "allow-once")
	if stop := stopReason(c.reply(id)); stop != "end_turn" {
		t.Error(stop)
	}
	var ends []string
	for _, u := range c.updates(s) {
		if u.Status == "completed" || u.Status == "failed" {
			ends = append(ends, u.ToolCallID[strings.LastIndexByte(u.ToolCallID, '-')+1:]+" "+u.Status)
		}
	}
	if got := strings.Join(ends, ", "); got != "1 completed, 2 completed, 3 failed, 4 completed" {
		t.Errorf("ends %s", got)
	}
	if !c.has("one") || c.has("two") || !c.has("three") {
		t.Errorf("ran: one %v, two %v, three %v", c.has("one"), c.has("two"), c.has("three"))
	}
	if n := len(c.asks(3)); n != 3 {
		t.Errorf("%d questions for three calls", n)
	}
}

func TestAnAlwaysAnswersTheRestOfTheStep(t *testing.T) {
	for _, tt := range []struct {
		option, status string
		ran            bool
	}{
		{"allow-always-session", "completed", true},
		{"reject-always-session", "failed", false},
	} {
		t.Run(tt.option, func(t *testing.T) {
			c := later(t, setup{config: askBash})
			s := c.open(nil)
			id := c.request("session/prompt", textPrompt(s, strings.Join([]string{bashCall("mkdir a"), bashCall("touch other"), bashCall("mkdir b"), bashCall("mkdir c")}, "\n")))
			asks := c.asks(4)
			c.choose(asks[2], tt.option)
			want := []string{string(asks[0].ID), string(asks[3].ID)}
			slices.Sort(want)
			if got := c.withdrawn(2); !slices.Equal(got, want) {
				t.Errorf("withdrawn %v, want %v", got, want)
			}
			c.choose(asks[0], "reject-once") // too late: it has been withdrawn
			c.choose(asks[1], "allow-once")
			if stop := stopReason(c.reply(id)); stop != "end_turn" {
				t.Error(stop)
			}
			calls := c.calls(s)
			for _, i := range []int{0, 2, 3} {
				if calls[i].Status != tt.status {
					t.Errorf("%s: %s %s", calls[i].Title, calls[i].Status, calls[i].RawOutput)
				}
			}
			if c.has("a") != tt.ran || c.has("b") != tt.ran || c.has("c") != tt.ran || !c.has("other") {
				t.Error("what ran is not what was allowed")
			}
			if !tt.ran && !strings.Contains(string(calls[3].RawOutput), "reject it always in this session: mkdir") {
				t.Errorf("the model reads %s", calls[3].RawOutput)
			}
			// From now on nobody is asked.
			c.prompt(s, bashCall("mkdir d"))
			if n := len(c.asks(4)); n != 4 || c.has("d") != tt.ran {
				t.Errorf("%d questions, ran %v", n, c.has("d"))
			}
		})
	}
}

func TestACancelledTurnWithdrawsAllItsQuestions(t *testing.T) {
	c := later(t, setup{config: askBash})
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, strings.Join([]string{bashCall("mkdir a"), writeCall("b"), bashCall("mkdir c")}, "\n")))
	asks := c.asks(3)
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if got := len(c.withdrawn(3)); got != 3 {
		t.Errorf("%d withdrawn", got)
	}
	if stop := stopReason(c.reply(id)); stop != "cancelled" {
		t.Error(stop)
	}
	for _, a := range asks {
		c.choose(a, "allow-once")
	}
	c.prompt(s, "/say still there")
	if c.has("a") || c.has("b") || c.has("c") {
		t.Error("something ran")
	}
	for _, call := range c.calls(s) {
		if call.Status != "failed" {
			t.Errorf("%s is %s", call.Title, call.Status)
		}
	}
}

func TestNonsenseForAnAnswerIsSaidAndDoesNotHold(t *testing.T) {
	for name, result := range map[string]string{
		"null": `null`, "no outcome": `{}`, "outcome of another type": `{"outcome":"selected"}`, "no option": `{"outcome":{"outcome":"selected"}}`,
		"option of another type": `{"outcome":{"outcome":"selected","optionId":7}}`, "unknown outcome": `{"outcome":{"outcome":"maybe"}}`, "not offered": `{"outcome":{"outcome":"selected","optionId":"allow-always-project"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := later(t, setup{config: askBash})
			s := c.open(nil)
			id := c.request("session/prompt", textPrompt(s, bashCall("mkdir a")))
			c.send(map[string]any{"jsonrpc": "2.0", "id": c.asks(1)[0].ID, "result": json.RawMessage(result)})
			if stop := stopReason(c.reply(id)); stop != "end_turn" {
				t.Error(stop)
			}
			call := c.calls(s)[0]
			if call.Status != "failed" || !strings.Contains(string(call.RawOutput), "no usable answer") || c.has("a") {
				t.Errorf("%s %s", call.Status, call.RawOutput)
			}
			if !c.logged("not understood") {
				t.Error("it is not logged")
			}
		})
	}
}

// What an answer would be remembered for is offered by name, one option a kind;
// a client that tells them apart gets all.
func TestTheOptionsSayWhatTheyCover(t *testing.T) {
	for _, tt := range []struct {
		name, config string
		caps         map[string]any
		want         string
	}{
		{
			"as configured by default", askBash, nil,
			"allow_once=Allow once; allow_always=Allow always: git push (this session); reject_once=Reject; reject_always=Reject always: git push (this session)",
		},
		{
			"for the project", strings.Replace(askBash, "permissions:\n", "permissions:\n  remember: project\n", 1), nil,
			"allow_once=Allow once; allow_always=Allow always: git push (this project); reject_once=Reject; reject_always=Reject always: git push (this session)",
		},
		{
			"a client that tells them apart", askBash,
			map[string]any{"_meta": map[string]any{"permission_scopes": true}},
			"allow_once=Allow once; allow_always=Allow always: git push (this session); allow_always=Allow always: git push (this project); reject_once=Reject; reject_always=Reject always: git push (this session)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := later(t, setup{config: tt.config})
			s := c.open(tt.caps)
			id := c.request("session/prompt", textPrompt(s, bashCall("git push origin")))
			a := c.asks(1)[0]
			if got := a.names(); got != tt.want {
				t.Errorf("offered %s\nwant    %s", got, tt.want)
			}
			c.choose(a, "reject-once")
			c.reply(id)
			id = c.request("session/prompt", textPrompt(s, bashCall("git push > log")))
			a = c.asks(2)[1]
			if got, want := a.names(), "allow_once=Allow once; reject_once=Reject; reject_always=Reject always: exactly git push > log (this session)"; got != want {
				t.Errorf("offered %s\nwant    %s", got, want)
			}
			c.choose(a, "reject-once")
			c.reply(id)
		})
	}
}

// What is allowed for the project holds in its other sessions and after a
// restart, and nowhere else.
func TestAProjectGrantLasts(t *testing.T) {
	state, cwd := t.TempDir(), t.TempDir()
	config := strings.Replace(askBash, "permissions:\n", "permissions:\n  remember: project\n", 1) + fmt.Sprintf("sessions:\n  dir: %q\n", state)
	c := later(t, setup{config: config, cwd: cwd})
	s, other := c.open(nil), c.newSession()
	id := c.request("session/prompt", textPrompt(s, bashCall("mkdir a")))
	c.choose(c.asks(1)[0], "allow-always-project")
	c.reply(id)
	c.prompt(other, bashCall("mkdir b"))
	if entries, err := os.ReadDir(cwd); err != nil || len(entries) != 2 {
		t.Errorf("the workspace has %v (%v), wanted only the two folders", entries, err)
	}

	again := later(t, setup{config: config, cwd: cwd})
	s = again.open(nil)
	again.prompt(s, bashCall("mkdir c"))
	if !again.has("a") || !again.has("b") || !again.has("c") {
		t.Error("something did not run")
	}
	again.prompt(s, "/permissions")
	if got := again.message(s); !strings.Contains(got, "- 1: allowed `mkdir`: this project, ") || !strings.Contains(got, state) {
		t.Errorf("/permissions says %s", got)
	}
	again.prompt(s, "/permissions revoke 1")
	id = again.request("session/prompt", textPrompt(s, bashCall("mkdir d")))
	again.choose(again.asks(1)[0], "reject-once")
	again.reply(id)
	// The other process hears of it too.
	id = c.request("session/prompt", textPrompt(other, bashCall("mkdir e")))
	c.choose(c.asks(2)[1], "reject-once")
	c.reply(id)

	elsewhere := later(t, setup{config: config})
	s = elsewhere.open(nil)
	id = elsewhere.request("session/prompt", textPrompt(s, bashCall("mkdir f")))
	elsewhere.choose(elsewhere.asks(1)[0], "reject-once")
	elsewhere.reply(id)
}

// What was answered for the session is there again when it is loaded.
func TestTheSessionsAnswersAreLoadedWithIt(t *testing.T) {
	state, cwd := t.TempDir(), t.TempDir()
	config := askBash + fmt.Sprintf("sessions:\n  dir: %q\n", state)
	c := later(t, setup{config: config, cwd: cwd})
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, strings.Join([]string{bashCall("mkdir a"), bashCall("touch b"), bashCall("git push")}, "\n")))
	asks := c.asks(3)
	c.choose(asks[0], "allow-always-session")
	c.choose(asks[1], "reject-always-session")
	c.choose(asks[2], "allow-always-session")
	c.reply(id)
	c.prompt(s, "/permissions")
	for line := range strings.Lines(c.message(s)) {
		if n, rest, _ := strings.Cut(line, ": "); strings.HasPrefix(rest, "allowed `git push`") {
			c.prompt(s, "/permissions revoke "+strings.TrimPrefix(n, "- "))
		}
	}
	c.closeInput()

	again := later(t, setup{config: config, cwd: cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	if f := again.call("session/load", map[string]any{"sessionId": s, "cwd": cwd, "mcpServers": []any{}}); f.Error != nil {
		t.Fatalf("%+v", f.Error)
	}
	again.prompt(s, bashCall("mkdir c")+"\n"+bashCall("touch d"))
	if !again.has("c") || again.has("d") {
		t.Errorf("ran: mkdir %v, touch %v", again.has("c"), again.has("d"))
	}
	before := len(again.message(s))
	again.prompt(s, "/permissions")
	got := again.message(s)[before:]
	if !strings.Contains(got, ": allowed `mkdir`: this session, ") || !strings.Contains(got, ": rejected `touch`: this session, ") || strings.Contains(got, "git push") || !strings.Contains(got, "- `ask bash, from ") {
		t.Errorf("/permissions says %s", got)
	}
}

func TestPermissionsAreKeptAndRevoked(t *testing.T) {
	c := later(t, setup{config: askBash})
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, bashCall("mkdir a")+"\n"+bashCall("touch b")))
	asks := c.asks(2)
	c.choose(asks[0], "allow-always-session")
	c.choose(asks[1], "reject-always-session")
	c.reply(id)
	said := ""
	command := func(text, want string) string {
		t.Helper()
		if len(c.message(s)) > len(said) {
			said = c.message(s)
		}
		c.prompt(s, text)
		got := strings.TrimPrefix(c.message(s), said)
		said = c.message(s)
		if !strings.Contains(got, want) {
			t.Errorf("%s says %q, want %q", text, got, want)
		}
		return got
	}
	if got := command("/permissions", ": allowed `mkdir`: this session"); !strings.Contains(got, "keep N") {
		t.Errorf("it does not say how to keep an answer: %s", got)
	}
	for _, n := range []string{"1", "2"} { // what was rejected cannot be kept
		if strings.Contains(said, "- "+n+": rejected") {
			command("/permissions keep "+n, "Not done: `touch`")
		}
	}
	command("/permissions keep all", "Kept for this project: `mkdir`")
	command("/permissions revoke 7", "no remembered answer `7`")
	command("/permissions revoke", "/permissions revoke N")
	command("/permissions nonsense", "/permissions knows no `nonsense`")
	if got := command("/permissions", ": rejected `touch`: this session"); strings.Contains(got, "keep N") {
		t.Errorf("it offers to keep what cannot be kept: %s", got)
	}
	other := c.newSession()
	c.prompt(other, bashCall("mkdir c"))
	if !c.has("c") {
		t.Error("what was kept does not hold in another session")
	}
	command("/permissions revoke all", "Revoked: `mkdir`")
	command("/permissions", "No answer is remembered.")
	id = c.request("session/prompt", textPrompt(s, bashCall("touch d")))
	c.choose(c.asks(3)[2], "allow-once")
	c.reply(id)
	if !c.has("d") {
		t.Error("what was rejected cannot be allowed again")
	}
}
