package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestATurnReadsEditsAsksAndRuns(t *testing.T) {
	c := start(t, setup{config: asking})
	path := filepath.Join(c.cwd, "notes.txt")
	write(t, path, "one\ntwo\nthree\n")
	var asked []json.RawMessage
	c.permit = func(p json.RawMessage) string { asked = append(asked, p); return "allow_once" }
	s := c.open(map[string]any{"_meta": map[string]any{"terminal_output": true}})
	if got := c.prompt(s, tool("read", map[string]any{"file_path": "notes.txt"})); got != "end_turn" {
		t.Fatal(got)
	}
	c.prompt(s, tool("edit", map[string]any{"file_path": "notes.txt", "old_string": "two", "new_string": "2"}))
	c.prompt(s, tool("bash", map[string]any{"command": "cat notes.txt; exit 3", "description": "Show the notes"}))
	calls := c.calls(s)
	if len(calls) != 3 {
		t.Fatalf("%d calls, wanted 3", len(calls))
	}
	for i, want := range []struct{ title, kind string }{{"Read notes.txt", "read"}, {"Edit notes.txt", "edit"}, {"cat notes.txt; exit 3", "execute"}} {
		if calls[i].Title != want.title || calls[i].Kind != want.kind || calls[i].Status != "completed" {
			t.Errorf("call %d is %q %s %s, wanted %q %s completed", i, calls[i].Title, calls[i].Kind, calls[i].Status, want.title, want.kind)
		}
	}
	if diff := string(calls[1].Content); !strings.Contains(diff, `"type":"diff"`) || !strings.Contains(diff, `"path":"`+path+`"`) || !strings.Contains(diff, `"oldText":"one\ntwo\nthree"`) {
		t.Errorf("the edit's diff: %s", diff)
	}
	if text, exit := terminalOf(t, c.updates(s), calls[2].ToolCallID); exit["exit_code"] != 3.0 || !strings.Contains(text, "one\n2\nthree") {
		t.Errorf("the terminal shows %q and ends with %v", text, exit)
	}
	if len(asked) != 2 {
		t.Fatalf("asked %d times, wanted 2 (edit and bash)", len(asked))
	}
	for _, want := range []string{`"title":"Edit notes.txt"`, `"kind":"edit"`, `"type":"diff"`, `"path":"` + path + `"`, `"allow_once"`, `"reject_once"`} {
		if !strings.Contains(string(asked[0]), want) {
			t.Errorf("the question about the edit lacks %s: %s", want, asked[0])
		}
	}
	if !strings.Contains(string(asked[1]), `"rawInput":"cat notes.txt; exit 3"`) {
		t.Errorf("the question about the command: %s", asked[1])
	}
	if data, _ := os.ReadFile(path); string(data) != "one\n2\nthree\n" {
		t.Errorf("on disk: %q", data)
	}
	if code, _ := c.closeInput(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestACallGoesThroughItsStatesInOrder(t *testing.T) {
	c := start(t, setup{config: asking})
	var atAsk []update
	s := c.open(nil)
	c.permit = func(json.RawMessage) string { atAsk = c.updates(s); return "allow_once" }
	c.prompt(s, bashPrompt)
	var states []string
	for _, u := range c.updates(s) {
		if u.ToolCallID != "" {
			states = append(states, u.SessionUpdate+":"+u.Status)
		}
	}
	want := "tool_call:pending tool_call_update:in_progress tool_call_update:completed"
	if got := strings.Join(states, " "); got != want {
		t.Errorf("states %s, wanted %s", got, want)
	}
	if n := len(atAsk); n == 0 || atAsk[n-1].SessionUpdate != "tool_call" {
		t.Error("the question came before the call was announced, or after it had started")
	}
}

// Each answer to a permission question has its own end.
func TestPermissionAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, answer, stop, status, text string
	}{
		{"allowed once", "allow_once", "end_turn", "completed", "from the shell"},
		{"rejected", "reject_once", "end_turn", "failed", `the user rejected tool "bash"`},
		{"dismissed stops the turn", "cancelled", "cancelled", "failed", "Error: "},
		{"an unknown option grants nothing", "no-such-option", "end_turn", "failed", `tool "bash" was not run: the permission request got no usable answer (`},
		{"the client cannot ask", "error", "end_turn", "failed", `tool "bash" requires approval, but no approval channel is available`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, setup{config: asking})
			c.permit = func(json.RawMessage) string { return tt.answer }
			s := c.open(nil)
			marker := filepath.Join(c.cwd, "ran")
			stop := c.prompt(s, tool("bash", map[string]any{"command": "touch ran; echo from the shell", "description": "Leave a mark"}))
			calls := c.calls(s)
			if stop != tt.stop || len(calls) != 1 || calls[0].Status != tt.status || !strings.Contains(string(calls[0].Content), strings.ReplaceAll(tt.text, `"`, `\"`)) {
				t.Errorf("stop %s, calls %+v", stop, calls)
			}
			_, err := os.Stat(marker)
			if ran := err == nil; ran != (tt.status == "completed") {
				t.Errorf("ran: %v", ran)
			}
			if next := c.prompt(s, "hello"); next != "end_turn" {
				t.Errorf("the next prompt ends with %s", next)
			}
		})
	}
}

func TestAlwaysAllowedIsNotAskedAgainInThisSession(t *testing.T) {
	c := start(t, setup{config: asking})
	asked := 0
	label := ""
	c.permit = func(p json.RawMessage) string {
		asked++
		var q struct{ Options []struct{ Name, Kind string } }
		_ = json.Unmarshal(p, &q)
		for _, o := range q.Options {
			if o.Kind == "allow_always" {
				label = o.Name
			}
		}
		return "allow_always"
	}
	s := c.open(nil)
	c.prompt(s, tool("bash", map[string]any{"command": "mkdir a", "description": "x"}))
	c.prompt(s, tool("bash", map[string]any{"command": "mkdir b", "description": "x"}))
	if asked != 1 {
		t.Errorf("asked %d times, wanted once", asked)
	}
	if !strings.Contains(label, "session") || !strings.Contains(label, "mkdir") {
		t.Errorf("the option must say what it covers and for how long: %q", label)
	}
	c.prompt(s, tool("bash", map[string]any{"command": "mkdir c > out.txt", "description": "x"}))
	if asked != 2 {
		t.Errorf("a redirection is not covered by the grant and must be asked about (asked %d times)", asked)
	}
	other := c.newSession()
	c.prompt(other, tool("bash", map[string]any{"command": "mkdir d", "description": "x"}))
	if asked != 3 {
		t.Errorf("the grant of one session counted in another (asked %d times)", asked)
	}
}

func TestCancelWhileAskedAsksNothingMoreAndALateAnswerChangesNothing(t *testing.T) {
	c := start(t, setup{config: asking})
	asked := make(chan json.RawMessage, 4)
	c.permit = func(p json.RawMessage) string { asked <- p; return "" }
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s,
		tool("write", map[string]any{"file_path": "one", "content": "x"})+"\n"+tool("write", map[string]any{"file_path": "two", "content": "x"})))
	<-asked
	<-asked // both go out together
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if stop := stopReason(c.reply(id)); stop != "cancelled" {
		t.Errorf("stop %q", stop)
	}
	// The late answer to the withdrawn question.
	c.mu.Lock()
	var question frame
	for _, f := range c.frames {
		if f.Method == "session/request_permission" {
			question = f
		}
	}
	c.mu.Unlock()
	c.send(map[string]any{"jsonrpc": "2.0", "id": question.ID, "result": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "allow-once"}}})
	c.prompt(s, "still there?")
	if len(asked) != 0 {
		t.Error("a question was asked after the cancellation")
	}
	for _, name := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join(c.cwd, name)); err == nil {
			t.Errorf("the call that made %s ran", name)
		}
	}
	for _, call := range c.calls(s) {
		if call.Status != "failed" {
			t.Errorf("%s is %s, wanted failed", call.ToolCallID, call.Status)
		}
	}
}

func TestCancelKillsTheCommandsWholeGroup(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	s := c.open(nil)
	id := c.request("session/prompt", textPrompt(s, tool("bash", map[string]any{
		"command": "sleep 601 & echo $! > child; sleep 602", "description": "Wait",
	})))
	pid := waitForFile(t, filepath.Join(c.cwd, "child"))
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if stop := stopReason(c.reply(id)); stop != "cancelled" {
		t.Errorf("stop %q", stop)
	}
	wantGone(t, pid, "the command's child")
	calls := c.calls(s)
	if len(calls) != 1 || calls[0].Status != "failed" || !strings.Contains(string(calls[0].Content), "command aborted") {
		t.Errorf("%+v", calls)
	}
}

func TestEndOfInputMidTurnLeavesNothingBehind(t *testing.T) {
	inTime(t, 3*time.Second, func() time.Duration {
		c := start(t, setup{config: fullAccess})
		s := c.open(nil)
		c.request("session/prompt", textPrompt(s, tool("bash", map[string]any{
			"command": "trap '' TERM; echo $$ > child; sleep 603; sleep 604", "description": "Ignore signals",
		})))
		pid := waitForFile(t, filepath.Join(c.cwd, "child"))
		code, took := c.closeInput()
		if code != 0 {
			t.Errorf("left with %d", code)
		}
		wantGone(t, pid, "the command")
		return took
	})
}

func TestASecondPromptWaitsForTheFirst(t *testing.T) {
	c := start(t, setup{})
	s := c.open(nil)
	first := c.request("session/prompt", textPrompt(s, "/slow 1"))
	second := c.request("session/prompt", textPrompt(s, "/say second"))
	if stop := stopReason(c.reply(second)); stop != "end_turn" {
		t.Errorf("second: %q", stop)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	firstAnswered := false
	for _, f := range c.frames {
		if string(f.ID) == itoa(first) && f.Method == "" {
			firstAnswered = true
		}
		if u, _ := updateOf(f); strings.Contains(string(u.Content), "second") && !firstAnswered && u.SessionUpdate == "agent_message_chunk" {
			t.Error("the turns were interleaved")
		}
	}
	if !firstAnswered {
		t.Error("the first prompt was not answered")
	}
}

func TestACallCutOffByTheTokenLimitNeverRuns(t *testing.T) {
	args := `{"command":"touch ran","description":"x"}`
	c := start(t, setup{config: replayOf(t, callChunks("bash", args), "max-tokens", textChunks("fine"), "stop")})
	s := c.open(nil)
	if stop := c.prompt(s, "go"); stop != "max_tokens" {
		t.Errorf("stop %q", stop)
	}
	calls := c.calls(s)
	if len(calls) != 1 || calls[0].Status != "failed" || !strings.Contains(string(calls[0].RawOutput), "not executed") {
		t.Errorf("%+v", calls)
	}
	if _, err := os.Stat(filepath.Join(c.cwd, "ran")); err == nil {
		t.Error("it ran")
	}
	if stop := c.prompt(s, "again"); stop != "end_turn" {
		t.Errorf("the next prompt: %q", stop)
	}
}

func TestTheStepLimitEndsTheTurn(t *testing.T) {
	args := `{"command":"true","description":"x"}`
	cfg := replayOf(t, callChunks("bash", args), "tool-calls", callChunks("bash", args), "tool-calls", callChunks("bash", args), "tool-calls")
	c := start(t, setup{config: cfg + "limits: {max_steps: 2}\n"})
	s := c.open(nil)
	if stop := c.prompt(s, "go"); stop != "max_turn_requests" {
		t.Errorf("stop %q", stop)
	}
	// The recorded model used one call id throughout; the editor gets unique ones.
	if calls := c.calls(s); len(calls) != 2 {
		t.Errorf("%d calls, wanted 2", len(calls))
	}
}

func TestRequestsAreServedWhileATurnRuns(t *testing.T) {
	c := start(t, setup{})
	s := c.open(nil)
	slow := c.request("session/prompt", textPrompt(s, slowPrompt))
	other := c.newSession()
	if stop := c.prompt(other, "/say quick"); stop != "end_turn" {
		t.Errorf("stop %q", stop)
	}
	c.notify("session/cancel", map[string]any{"sessionId": other}) // not ours
	c.notify("$/cancel_request", map[string]any{"requestId": slow})
	f := c.reply(slow)
	if stop := stopReason(f); stop != "cancelled" && (f.Error == nil || f.Error.Code != -32800) {
		t.Errorf("%q %+v", stop, f.Error)
	}
}
