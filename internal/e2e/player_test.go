package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The player of recorded scenarios: it does what the client of a recording did,
// and compares what a person would have seen.

type scenarioInput struct {
	Steps             []scenarioStep
	PermissionAnswers []struct{ Kind string }
	// ElicitationAnswers are kept as they are.
	ElicitationAnswers []struct{ Action, Choice, Custom string }
}

type scenarioStep struct {
	Op             string
	Text           string
	Content        json.RawMessage
	TerminalOutput bool
	Session        json.RawMessage
	AfterUpdate    string
	ConfigID       string
	Value          any
	ModeID         string
}

// playScenario plays a folder against the program and gives its frames.
func playScenario(t *testing.T, dir string) (frames []frame, cwd string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "input.json"))
	if err != nil {
		t.Fatal(err)
	}
	var in scenarioInput
	if err := json.Unmarshal(data, &in); err != nil {
		t.Fatal(err)
	}
	cwd = t.TempDir()
	if ws := filepath.Join(dir, "workspace"); exists(ws) {
		if err := os.CopyFS(cwd, os.DirFS(ws)); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf("model:\n  provider: replay\n  name: deepseek-v4-flash\n  replay:\n    script: %q\n    models: [deepseek-v4-flash, deepseek-v4-pro]\n", filepath.Join(dir, "session.jsonl"))
	if file := filepath.Join(dir, "replay.override.json"); exists(file) {
		config += fmt.Sprintf("    override: %q\n", file)
	}
	if children, _ := filepath.Glob(filepath.Join(dir, "session.[0-9]*.jsonl")); len(children) > 0 {
		list, _ := json.Marshal(children)
		config += "    children: " + string(list) + "\n"
	}
	c := start(t, setup{config: config + "permissions: {preset: danger-full-access}\n", cwd: cwd})
	c.permit = func(json.RawMessage) string {
		if len(in.PermissionAnswers) == 0 {
			return "cancelled"
		}
		kind := in.PermissionAnswers[0].Kind
		in.PermissionAnswers = in.PermissionAnswers[1:]
		return kind
	}
	session := ""
	prompt := func(s scenarioStep) map[string]any {
		if s.Content != nil {
			return map[string]any{"sessionId": session, "prompt": s.Content}
		}
		return textPrompt(session, s.Text)
	}
	pending := 0
	for _, s := range in.Steps {
		wantError := strings.HasSuffix(s.Op, "ExpectError")
		var f frame
		switch strings.TrimSuffix(s.Op, "ExpectError") {
		case "initialize":
			caps := map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
			if s.TerminalOutput {
				caps["_meta"] = map[string]any{"terminal_output": true}
			}
			if s.Session != nil {
				caps["session"] = s.Session
			}
			f = c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps})
		case "newSession":
			session = c.newSession()
		case "prompt", "promptContent":
			f = c.call("session/prompt", prompt(s))
		case "promptAndCancel":
			c.mu.Lock()
			before := len(c.frames)
			c.mu.Unlock()
			pending = c.request("session/prompt", prompt(s))
			if s.AfterUpdate != "" {
				c.wait("the update after which the prompt is cancelled", func(fs []frame) bool {
					return slices.ContainsFunc(fs[before:], func(f frame) bool { u, _ := updateOf(f); return u.SessionUpdate == s.AfterUpdate })
				})
			}
			c.notify("session/cancel", map[string]any{"sessionId": session})
		case "waitForTurnEnd":
			c.wait("the end of the cancelled turn", func(fs []frame) bool {
				return slices.ContainsFunc(fs, func(f frame) bool { return string(f.ID) == itoa(pending) && f.Method == "" })
			})
		case "cancel":
			c.notify("session/cancel", map[string]any{"sessionId": session})
		case "setConfigOption":
			f = c.call("session/set_config_option", map[string]any{"sessionId": session, "configId": s.ConfigID, "value": s.Value})
		case "setMode":
			f = c.call("session/set_mode", map[string]any{"sessionId": session, "modeId": s.ModeID})
		default:
			t.Fatalf("unknown step %q", s.Op)
		}
		if (f.Error != nil) != wantError {
			t.Errorf("%s: %+v", s.Op, f.Error)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.frames), cwd
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// seen is one thing that a person notices of a wire.
type seen struct {
	What string
	ID   string
	Text string
	Data any
}

var anyUUID = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// noticed reduces frames to that: texts joined, each call as announced and as it
// ended, plans, questions, how prompts ended, compactions.
func noticed(frames []frame, cwd string) []seen {
	var out []seen
	calls := map[string]map[string]any{}
	say := func(what, text string) {
		if n := len(out); n > 0 && out[n-1].What == what {
			out[n-1].Text += text
			return
		}
		out = append(out, seen{What: what, Text: text})
	}
	for _, f := range frames {
		switch {
		case f.Method == "session/update":
			var p struct{ Update map[string]any }
			_ = json.Unmarshal([]byte(neutral(string(f.Params), cwd)), &p)
			u := p.Update
			id, _ := u["toolCallId"].(string)
			switch kind := u["sessionUpdate"]; kind {
			case "agent_message_chunk", "agent_thought_chunk":
				content, _ := u["content"].(map[string]any)
				text, _ := content["text"].(string)
				if text != "" {
					say(kind.(string), text)
				}
			case "plan":
				out = append(out, seen{What: "plan", Data: u["entries"]})
			case "compaction_update", "compaction_summary_chunk":
				out = append(out, seen{What: "compaction", Data: u})
			case "tool_call":
				calls[id] = u
				out = append(out, seen{What: "call", ID: id, Data: pick(u, "title", "kind", "rawInput", "locations", "content")})
			case "tool_call_update":
				c := calls[id]
				if c == nil {
					c = map[string]any{}
					calls[id] = c
				}
				for k, v := range u {
					c[k] = v
				}
				if s := u["status"]; s == "completed" || s == "failed" {
					out = append(out, seen{What: "end", ID: id, Data: pick(c, "title", "status", "kind", "rawInput", "locations", "content")})
				}
			}
		case f.Method == "session/request_permission":
			var p struct {
				ToolCall struct{ ToolCallID string }
				Options  []struct{ Kind string }
			}
			_ = json.Unmarshal(f.Params, &p)
			out = append(out, seen{What: "question", ID: p.ToolCall.ToolCallID, Data: p.Options})
		case f.Method == "" && f.Error != nil:
			out = append(out, seen{What: "failed"})
		case f.Method == "":
			if s := stopReason(f); s != "" {
				out = append(out, seen{What: "stop", Text: s})
			}
		}
	}
	return out
}

func pick(m map[string]any, keys ...string) map[string]any {
	out := map[string]any{}
	for _, k := range keys {
		if v, ok := m[k]; ok && v != nil {
			out[k] = v
		}
	}
	return out
}

// neutral takes what differs from run to run out of a text.
func neutral(s, cwd string) string {
	if real, err := filepath.EvalSymlinks(cwd); err == nil && cwd != "" {
		s = strings.ReplaceAll(s, real, "{{cwd}}")
	}
	if cwd != "" {
		s = strings.ReplaceAll(s, cwd, "{{cwd}}")
	}
	return anyUUID.ReplaceAllString(s, "{{sessionId}}")
}

// compareScenario plays a folder and compares with its expected wire.
func compareScenario(t *testing.T, dir string) {
	t.Helper()
	frames, cwd := playScenario(t, dir)
	data, err := os.ReadFile(filepath.Join(dir, "stdout.expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var want []frame
	for line := range strings.Lines(string(data)) {
		var f frame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v in %.200s", err, line)
		}
		want = append(want, f)
	}
	got, expected := noticed(frames, cwd), noticed(want, "")
	for i := range max(len(got), len(expected)) {
		switch {
		case i >= len(got):
			t.Fatalf("event %d is missing: %+v\nframes: %s", i, expected[i], dump(frames))
		case i >= len(expected):
			t.Fatalf("event %d is too many: %+v", i, got[i])
		case !covers(expected[i], got[i]):
			t.Fatalf("event %d\nis     %+v\nwanted %+v", i, got[i], expected[i])
		}
	}
	if len(expected) == 0 {
		t.Fatal("the recording shows nothing")
	}
}

// covers reports whether a person was shown what was expected. A question may
// offer more than it did when it was recorded.
func covers(want, got seen) bool {
	if want.What != "question" || got.What != "question" || want.ID != got.ID {
		return reflect.DeepEqual(want, got)
	}
	offered := got.Data.([]struct{ Kind string })
	for _, o := range want.Data.([]struct{ Kind string }) {
		if !slices.Contains(offered, o) {
			return false
		}
	}
	return true
}

// TestOwnScenarios plays the recorded scenarios of the repository.
func TestOwnScenarios(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(repoRoot(t), "testdata", "transcripts", "*"))
	played := 0
	for _, dir := range dirs {
		if !exists(filepath.Join(dir, "stdout.expected.jsonl")) {
			continue
		}
		played++
		t.Run(filepath.Base(dir), func(t *testing.T) { compareScenario(t, dir) })
	}
	if played < 10 {
		t.Errorf("only %d scenarios", played)
	}
}
