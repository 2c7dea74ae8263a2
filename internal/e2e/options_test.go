package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// settings is what a client knows of a session's modes and options.
type settings struct {
	Modes struct {
		CurrentModeID  string
		AvailableModes []struct{ ID, Name string }
	}
	ConfigOptions []struct {
		ID, Name, Category, Type, CurrentValue string
		Options                                []struct{ Value, Name string }
	}
}

func (s settings) value(id string) string {
	for _, o := range s.ConfigOptions {
		if o.ID == id {
			return o.CurrentValue
		}
	}
	return "(no option " + id + ")"
}

func settingsOf(t *testing.T, raw json.RawMessage) settings {
	t.Helper()
	var s settings
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	for _, o := range s.ConfigOptions {
		if o.Type != "select" {
			t.Errorf("option %s is of type %q, which this client did not say it knows", o.ID, o.Type)
		}
		if !slices.ContainsFunc(o.Options, func(v struct{ Value, Name string }) bool { return v.Value == o.CurrentValue }) {
			t.Errorf("option %s has the value %q, which is not offered", o.ID, o.CurrentValue)
		}
	}
	return s
}

// openWith initializes, makes a session and gives what its answer says.
func openWith(c *client, caps map[string]any) (string, settings) {
	c.t.Helper()
	c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps})
	f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": []any{}})
	var r struct{ SessionID string }
	if err := json.Unmarshal(f.Result, &r); err != nil {
		c.t.Fatal(err)
	}
	return r.SessionID, settingsOf(c.t.(*testing.T), f.Result)
}

func (c *client) setOption(session, id string, value any) frame {
	c.t.Helper()
	return c.call("session/set_config_option", map[string]any{"sessionId": session, "configId": id, "value": value})
}

func (c *client) setMode(session, id string) frame {
	c.t.Helper()
	return c.call("session/set_mode", map[string]any{"sessionId": session, "modeId": id})
}

// views lists how the session's mode was told, answers among it, in the order of
// the frames: "mode:plan", "options:plan", "answer".
func (c *client) views(session string, answer int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, f := range c.frames {
		var p struct {
			SessionID string
			Update    struct {
				SessionUpdate, CurrentModeID string
				settings
			}
		}
		if f.Method == "" && string(f.ID) == fmt.Sprint(answer) {
			out = append(out, "answer")
		}
		if f.Method != "session/update" || json.Unmarshal(f.Params, &p) != nil || p.SessionID != session {
			continue
		}
		switch p.Update.SessionUpdate {
		case "current_mode_update":
			out = append(out, "mode:"+p.Update.CurrentModeID)
		case "config_option_update":
			out = append(out, "options:"+p.Update.value("mode"))
		}
	}
	return out
}

const twoModels = "model:\n  provider: replay\n  replay:\n    script: /nowhere\n    models: [deepseek-v4-flash, deepseek-v4-pro]\n"

func TestOptionsAndModesAreOffered(t *testing.T) {
	c := start(t, setup{config: twoModels})
	_, s := openWith(c, nil)
	var ids []string
	for _, o := range s.ConfigOptions {
		ids = append(ids, o.ID+"/"+o.Category+"="+o.CurrentValue)
	}
	want := `model/model=["deepseek","deepseek-v4-flash"] mode/mode=default permission/mode=workspace-write tools/=native`
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("options %s, want %s", got, want)
	}
	if s.Modes.CurrentModeID != "default" || len(s.Modes.AvailableModes) != 2 || s.Modes.AvailableModes[1].ID != "plan" {
		t.Errorf("modes %+v", s.Modes)
	}
}

func TestBothViewsOfTheModeSayTheSame(t *testing.T) {
	c := start(t, setup{})
	s, _ := openWith(c, nil)
	if f := c.setMode(s, "plan"); string(f.Result) != "{}" {
		t.Errorf("%s %+v", f.Result, f.Error)
	}
	got := c.views(s, c.nextID)
	if want := []string{"mode:plan", "options:plan", "answer"}; !slices.Equal(got, want) {
		t.Errorf("set_mode: %v, want %v", got, want)
	}
	f := c.setOption(s, "mode", "default")
	if v := settingsOf(t, f.Result).value("mode"); v != "default" {
		t.Errorf("the answer says %s", v)
	}
	got = c.views(s, c.nextID)[2:]
	if want := []string{"mode:default", "answer"}; !slices.Equal(got, want) {
		t.Errorf("set_config_option: %v, want %v", got, want)
	}
	c.setMode(s, "default") // echoed although nothing changes
	if got := c.views(s, c.nextID); !slices.Equal(got[len(got)-3:], []string{"mode:default", "options:default", "answer"}) {
		t.Errorf("%v", got)
	}
}

func TestEveryAnswerHasAllOptions(t *testing.T) {
	c := start(t, setup{config: twoModels})
	s, at := openWith(c, nil)
	for _, step := range []struct{ id, value string }{
		{"permission", "danger-full-access"}, {"model", `["deepseek","deepseek-v4-pro"]`}, {"mode", "plan"}, {"tools", "both"}, {"permission", "read-only"},
	} {
		f := c.setOption(s, step.id, step.value)
		now := settingsOf(t, f.Result)
		if len(now.ConfigOptions) != len(at.ConfigOptions) {
			t.Errorf("%d options after %v, want %d", len(now.ConfigOptions), step, len(at.ConfigOptions))
		}
		for i, o := range now.ConfigOptions {
			want := at.ConfigOptions[i].CurrentValue
			if o.ID == step.id {
				want = step.value
			}
			if o.CurrentValue != want {
				t.Errorf("after %v: %s is %s, want %s", step, o.ID, o.CurrentValue, want)
			}
		}
		at = now
	}
}

func TestChoicesThatAreNotOfferedAreRefused(t *testing.T) {
	c := start(t, setup{config: twoModels})
	s, _ := openWith(c, nil)
	option := func(id string, value any) func() frame { return func() frame { return c.setOption(s, id, value) } }
	for name, tt := range map[string]struct {
		do   func() frame
		code int
		want string
	}{
		"mode":         {func() frame { return c.setMode(s, "yolo") }, -32602, `unknown session mode "yolo" — available modes: default, plan`},
		"preset":       {option("permission", "plan"), -32602, `unknown permission value "plan"`},
		"model":        {option("model", `["deepseek","gpt"]`), -32602, `unknown model value "[\"deepseek\",\"gpt\"]"`},
		"model's form": {option("model", "deepseek-v4-pro"), -32602, `unknown model value "deepseek-v4-pro"`},
		"mode option":  {option("mode", "ask"), -32602, `unknown mode value "ask"`},
		"tool mode":    {option("tools", ""), -32602, `unknown tools value ""`},
		"option":       {option("reasoning-effort", "max"), -32602, `unknown config option "reasoning-effort"`},
		"thought":      {option("thought_level", "high"), -32602, `unknown config option "thought_level"`},
		"boolean": {func() frame {
			return c.call("session/set_config_option", map[string]any{"sessionId": s, "configId": "permission", "type": "boolean", "value": true})
		}, -32602, "config option permission is a select; boolean values are not accepted"},
		"no text":           {option("permission", 7), -32602, "value"},
		"session":           {func() frame { return c.setMode("nowhere", "plan") }, -32002, "nowhere"},
		"option of nothing": {func() frame { return c.setOption("nowhere", "mode", "plan") }, -32002, "nowhere"},
	} {
		if f := tt.do(); f.Error == nil || f.Error.Code != tt.code || !strings.Contains(f.Error.Message+string(f.Error.Data), tt.want) && !strings.Contains(f.Error.Message, tt.want) {
			t.Errorf("%s: %+v %s, want %d %s", name, f.Error, f.Result, tt.code, tt.want)
		}
	}
	if got := c.views(s, -1); len(got) != 0 {
		t.Errorf("refused choices were shown: %v", got)
	}
}

// While a turn runs, choices are taken and hold from its next step.
func TestChoicesDuringATurn(t *testing.T) {
	c := start(t, setup{config: asking})
	s, _ := openWith(c, nil)
	asked, chosen := 0, 0
	c.permit = func(json.RawMessage) string {
		// The question of the first step is open: choose now.
		if asked++; asked == 1 {
			chosen = c.request("session/set_config_option", map[string]any{"sessionId": s, "configId": "permission", "value": "danger-full-access"})
		}
		return "allow_once"
	}
	script := bashPrompt + "\n/then\n" + tool("bash", map[string]any{"command": "touch second", "description": "Leave a mark"})
	if stop := c.prompt(s, script); stop != "end_turn" {
		t.Fatal(stop)
	}
	if v := settingsOf(t, c.reply(chosen).Result).value("permission"); v != "danger-full-access" {
		t.Errorf("the answer says %s", v)
	}
	calls := c.calls(s)
	for _, call := range calls {
		if call.Status != "completed" {
			t.Errorf("%+v", call)
		}
	}
	if _, err := os.Stat(filepath.Join(c.cwd, "second")); err != nil {
		t.Error(err)
	}
	if asked != 1 {
		t.Errorf("asked %d times: the next step is under the preset that never asks", asked)
	}
}

func TestAPlanIsReviewedByForm(t *testing.T) {
	dir := t.TempDir()
	c := start(t, setup{config: fmt.Sprintf("%ssessions: {dir: %q}\n", fullAccess, dir)})
	write(t, filepath.Join(c.cwd, "a.txt"), "x\n")
	s, _ := openWith(c, map[string]any{"elicitation": map[string]any{"form": map[string]any{}}})
	var forms []string
	answer := any(map[string]any{"action": "accept", "content": map[string]any{"custom": "smaller steps"}})
	c.elicit = func(p json.RawMessage) any { forms = append(forms, string(p)); return answer }
	present := tool("exit_plan_mode", map[string]any{"plan": "# The plan\n1. touch b"})
	touch := tool("bash", map[string]any{"command": "touch b", "description": "Make a file"})

	c.setMode(s, "plan")
	c.prompt(s, touch)
	c.prompt(s, present)
	calls := c.calls(s)
	if !strings.Contains(string(calls[0].RawOutput), "plan mode allows no command") {
		t.Errorf("planning: %s", calls[0].RawOutput)
	}
	if calls[1].Status != "failed" || !strings.Contains(string(calls[1].RawOutput), "their feedback: smaller steps") || calls[1].Title != "The plan" {
		t.Errorf("feedback: %+v", calls[1])
	}
	for _, want := range []string{`"mode":"form"`, `"title":"Plan review"`, `"const":"Approve"`, `"custom":{`, `"message":"Approve this plan and leave plan mode?\n\n# The plan`, `"toolCallId":`} {
		if len(forms) != 1 || !strings.Contains(forms[0], want) {
			t.Errorf("no %s in the form %s", want, forms)
		}
	}
	answer = map[string]any{"action": "accept", "content": map[string]any{"choice": "Approve"}}
	c.prompt(s, present)
	if got := c.views(s, -1); !slices.Equal(got[len(got)-2:], []string{"mode:default", "options:default"}) {
		t.Errorf("after the approval: %v", got)
	}
	c.prompt(s, touch)
	if _, err := os.Stat(filepath.Join(c.cwd, "b")); err != nil {
		t.Error("the plan was not carried out")
	}
	c.closeInput()

	// In another process the session is where it was, and shows no mode changes
	// of the past.
	again := start(t, setup{config: fmt.Sprintf("%ssessions: {dir: %q}\n", fullAccess, dir), cwd: c.cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1})
	f := again.call("session/load", map[string]any{"sessionId": s, "cwd": c.cwd, "mcpServers": []any{}})
	if got := settingsOf(t, f.Result); got.Modes.CurrentModeID != "default" {
		t.Errorf("%+v", got)
	}
	if got := again.views(s, -1); len(got) != 0 {
		t.Errorf("replayed %v", got)
	}
}

func TestChoicesOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	config := fmt.Sprintf("model: {provider: local}\nsessions: {dir: %q}\n", dir)
	c := start(t, setup{config: config})
	s, _ := openWith(c, nil)
	c.setMode(s, "plan")
	c.setOption(s, "permission", "danger-full-access")
	c.setOption(s, "tools", "both")
	c.prompt(s, "/say hello")
	c.closeInput()
	for _, method := range []string{"session/load", "session/resume"} {
		again := start(t, setup{config: config, cwd: c.cwd})
		again.call("initialize", map[string]any{"protocolVersion": 1})
		f := again.call(method, map[string]any{"sessionId": s, "cwd": c.cwd, "mcpServers": []any{}})
		got := settingsOf(t, f.Result)
		if got.Modes.CurrentModeID != "plan" || got.value("mode") != "plan" || got.value("permission") != "danger-full-access" || got.value("tools") != "both" {
			t.Errorf("%s: %s", method, f.Result)
		}
		// They hold, too.
		again.prompt(s, tool("bash", map[string]any{"command": "touch x", "description": "Try"}))
		calls := again.calls(s)
		if out := string(calls[len(calls)-1].RawOutput); !strings.Contains(out, "plan mode allows no command") {
			t.Errorf("%s: %s", method, out)
		}
		again.closeInput()
	}
}

func TestQuestions(t *testing.T) {
	form := map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
	choice := tool("ask_user_question", map[string]any{"questions": []any{map[string]any{
		"id": "q", "question": "Which?", "options": []any{map[string]any{"label": "A", "description": "first"}, map[string]any{"label": "B"}},
	}}})
	open := tool("ask_user_question", map[string]any{"questions": []any{map[string]any{"id": "q", "question": "What is it called?"}}})
	accept := func(content map[string]any) any { return map[string]any{"action": "accept", "content": content} }
	for _, tt := range []struct {
		name, prompt string
		caps         map[string]any
		answer       any // of a form
		option       string
		want, status string
	}{
		{"form", choice, form, accept(map[string]any{"choice": "B"}), "", `{\"answers\":[{\"id\":\"q\",\"selected\":[\"B\"]}]}`, "completed"},
		{"own words win", choice, form, accept(map[string]any{"choice": "B", "custom": " neither "}), "", `\"selected\":[],\"custom\":\"neither\"`, "completed"},
		{"open question", open, form, accept(map[string]any{"custom": "Fred"}), "", `\"custom\":\"Fred\"`, "completed"},
		{"no choice", choice, form, accept(map[string]any{"choice": 7}), "", "ask_user_question returned no answer", "failed"},
		{"declined", choice, form, map[string]any{"action": "decline"}, "", "ask_user_question was cancelled by the user", "failed"},
		{"client fails", choice, form, nil, "", "ACP elicitation request failed", "failed"},
		{"nonsense", choice, form, map[string]any{"action": 5}, "", "", "failed"},
		{"without forms", choice, nil, nil, "answer-2", `\"selected\":[\"B\"]`, "completed"},
		{"without forms, dismissed", choice, nil, nil, "cancelled", "ask_user_question was cancelled by the user", "failed"},
		{"without forms, an error", choice, nil, nil, "error", "ACP elicitation request failed", "failed"},
		{"without forms, open", open, nil, nil, "answer-1", "cannot show this question", "failed"},
		{"forms that are null", open, map[string]any{"elicitation": map[string]any{"form": nil}}, nil, "", "cannot show this question", "failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, setup{})
			c.elicit = func(json.RawMessage) any { return tt.answer }
			var asked string
			c.permit = func(p json.RawMessage) string { asked = string(p); return tt.option }
			s, _ := openWith(c, tt.caps)
			if stop := c.prompt(s, tt.prompt); stop != "end_turn" {
				t.Fatal(stop)
			}
			call := c.calls(s)[0]
			if call.Status != tt.status || !strings.Contains(string(call.RawOutput), tt.want) {
				t.Errorf("%s %s", call.Status, call.RawOutput)
			}
			if tt.option == "answer-2" && (!strings.Contains(asked, `"title":"Which?"`) || !strings.Contains(asked, `A: first`) || !strings.Contains(asked, `"name":"B"`)) {
				t.Errorf("asked %s", asked)
			}
		})
	}
}

// A question waits as long as the person takes; cancelling the turn withdraws it.
func TestACancelledTurnWithdrawsTheQuestion(t *testing.T) {
	c := start(t, setup{})
	asked := make(chan string, 1)
	s, _ := openWith(c, map[string]any{"elicitation": map[string]any{"form": map[string]any{}}})
	block := make(chan struct{})
	t.Cleanup(func() { close(block) })
	c.elicit = func(p json.RawMessage) any { asked <- string(p); <-block; return map[string]any{"action": "cancel"} }
	id := c.request("session/prompt", textPrompt(s, tool("ask_user_question", map[string]any{"questions": []any{map[string]any{"id": "q", "question": "Well?"}}})))
	<-asked
	c.notify("session/cancel", map[string]any{"sessionId": s})
	// The client's reader is busy with the form: what follows is read after it.
	block <- struct{}{}
	if got := stopReason(c.reply(id)); got != "cancelled" {
		t.Error(got)
	}
	c.wait("the withdrawal", func(fs []frame) bool {
		return slices.ContainsFunc(fs, func(f frame) bool { return f.Method == "$/cancel_request" })
	})
	if call := c.calls(s)[0]; call.Status != "failed" {
		t.Errorf("%+v", call)
	}
}

// A client that says it shows forms and never answers one holds nobody up.
func TestAQuestionThatNobodyAnswersIsWithdrawn(t *testing.T) {
	c := start(t, setup{config: "model:\n  provider: local\nlimits:\n  question_timeout: 100ms\n"})
	s, _ := openWith(c, map[string]any{"elicitation": map[string]any{"form": map[string]any{}}})
	c.elicit = func(json.RawMessage) any { return silence }
	id := c.request("session/prompt", textPrompt(s, tool("ask_user_question", map[string]any{"questions": []any{map[string]any{"id": "q", "question": "Well?"}}})))
	if got := stopReason(c.reply(id)); got != "end_turn" {
		t.Error(got)
	}
	c.withdrawn(1)
	if call := c.calls(s)[0]; call.Status != "failed" || !strings.Contains(string(call.RawOutput), "nobody answered the question in time") {
		t.Errorf("%s %s", call.Status, call.RawOutput)
	}
}

func TestThePlanCommand(t *testing.T) {
	c := start(t, setup{})
	s, _ := openWith(c, nil)
	c.wait("the commands", func(fs []frame) bool {
		return slices.ContainsFunc(fs, func(f frame) bool {
			return strings.Contains(string(f.Params), "available_commands_update") && strings.Contains(string(f.Params), `"name":"plan"`) && strings.Contains(string(f.Params), `"name":"tool"`)
		})
	})
	said := ""
	prompt := func(text, want string) {
		t.Helper()
		if stop := c.prompt(s, text); stop != "end_turn" {
			t.Errorf("%s: %s", text, stop)
		}
		all := c.message(s)
		if got := strings.TrimPrefix(all, said); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		said = all
	}
	prompt("/plan off", "Plan mode is already inactive.")
	prompt("/plan", "Entering plan mode (applies from the next step). Use /plan off to leave.")
	prompt("/plan\toff", "Plan mode entry cancelled.")
	prompt("/plan /say on we go", "Entering plan mode (applies from the next step). Use /plan off to leave.on we go")
	prompt("/plan off", "Leaving plan mode (applies from the next step).")
	want := []string{"mode:plan", "options:plan", "mode:default", "options:default", "mode:plan", "options:plan", "mode:default", "options:default"}
	if got := c.views(s, -1); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	// What is no command of the bridge is the model's, whatever it looks like.
	for _, text := range []string{"/say /plan", "/planning", "/unknown thing"} {
		before := len(c.views(s, -1))
		c.prompt(s, text)
		if len(c.views(s, -1)) != before {
			t.Errorf("%q changed the mode", text)
		}
	}
}

func TestATodoListIsThePlan(t *testing.T) {
	c := start(t, setup{})
	s, _ := openWith(c, nil)
	c.prompt(s, tool("todo_write", map[string]any{"todos": []any{
		map[string]any{"content": "read", "status": "completed"}, map[string]any{"content": "write", "status": "in_progress"},
	}}))
	c.prompt(s, tool("todo_write", map[string]any{"todos": []any{map[string]any{"content": "", "status": "pending"}}}))
	var order []string
	for _, u := range c.updates(s) {
		switch {
		case u.ToolCallID != "":
			order = append(order, u.Status)
		case u.SessionUpdate == "plan":
			order = append(order, "plan")
		}
	}
	if got, want := strings.Join(order, " "), "pending in_progress plan completed pending in_progress failed"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

func TestAnEscalationIsAskedOnce(t *testing.T) {
	for _, allow := range []bool{true, false} {
		c := start(t, setup{})
		var asked []string
		c.permit = func(p json.RawMessage) string {
			asked = append(asked, string(p))
			if allow {
				return "allow_once"
			}
			return "reject_once"
		}
		s, _ := openWith(c, nil)
		c.prompt(s, tool("bash", map[string]any{"command": "touch wide", "description": "Try", "sandbox_permissions": "danger-full-access", "justification": "the user asked"}))
		if len(asked) != 1 || strings.Contains(asked[0], "allow_always") {
			t.Fatalf("asked %q", asked)
		}
		_, err := os.Stat(filepath.Join(c.cwd, "wide"))
		if ran := err == nil; ran != allow {
			t.Errorf("allowed %v, ran %v", allow, ran)
		}
		if out := string(c.calls(s)[0].RawOutput); !allow && !strings.Contains(out, `the user rejected escalating this command to \"danger-full-access\"`) {
			t.Error(out)
		}
	}
}

// A slow list of models holds nobody up: it is shown when it comes.
func TestALateListOfModelsIsShown(t *testing.T) {
	let := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/models") {
			http.NotFound(w, r)
			return
		}
		<-let
		fmt.Fprint(w, `{"object":"list","data":[{"id":"first","object":"model"},{"id":"second","object":"model"}]}`)
	}))
	t.Cleanup(server.Close)
	c := start(t, setup{
		config: fmt.Sprintf("model: {provider: openai, name: first, base_url: %q, api_key_env: TEST_KEY}\n", server.URL), env: []string{"TEST_KEY=k"},
	})
	s, at := openWith(c, nil)
	if n := len(at.ConfigOptions[0].Options); n != 1 {
		t.Errorf("%d models before there is a list", n)
	}
	second := `["openai","second"]`
	if f := c.setOption(s, "model", second); f.Error == nil {
		t.Error("a model was chosen that is not known yet")
	}
	close(let)
	c.wait("the list of models", func(fs []frame) bool {
		return slices.ContainsFunc(fs, func(f frame) bool {
			return strings.Contains(string(f.Params), "config_option_update") && strings.Contains(string(f.Params), `"name":"second"`)
		})
	})
	if f := c.setOption(s, "model", second); settingsOf(t, f.Result).value("model") != second {
		t.Errorf("%s %+v", f.Result, f.Error)
	}
}
