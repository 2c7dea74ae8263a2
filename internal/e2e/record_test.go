package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var saveScenarios = flag.Bool("save-scenarios", false, "write the recorded scenarios into testdata/transcripts")

// chatServer answers chat completions in turn: each answer writes what it
// likes.
type chatServer struct {
	*httptest.Server
	mu      sync.Mutex
	answers []func(w http.ResponseWriter, r *http.Request)
	asked   int
	body    string
}

// lastBody is what was asked last.
func (s *chatServer) lastBody() string { s.mu.Lock(); defer s.mu.Unlock(); return s.body }

func newChatServer(t testing.TB, answers ...func(http.ResponseWriter, *http.Request)) *chatServer {
	s := &chatServer{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		n := s.asked
		s.body = string(body)
		s.asked++
		s.mu.Unlock()
		if n >= len(s.answers) {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		s.answers[n](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// event sends one event of a stream at once.
func event(w http.ResponseWriter, delta map[string]any, finish string) {
	choice := map[string]any{"index": 0, "delta": delta}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	data, _ := json.Marshal(map[string]any{"choices": []any{choice}})
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\n", data)
	w.(http.Flusher).Flush()
}

// words streams an answer in pieces; a finish of "" breaks it off.
func words(finish string, pieces ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, p := range pieces {
			if thought, ok := strings.CutPrefix(p, "think:"); ok {
				event(w, map[string]any{"reasoning_content": thought}, "")
			} else {
				event(w, map[string]any{"content": p}, "")
			}
		}
		if finish == "" {
			panic(http.ErrAbortHandler)
		}
		event(w, map[string]any{}, finish)
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

// toolCalls streams an answer with calls, given as name, arguments pairs.
func toolCalls(finish string, pairs ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			args := pairs[i+1]
			half := len(args) / 2
			call := func(id, name, part string) map[string]any {
				f := map[string]any{"arguments": part}
				c := map[string]any{"index": i / 2, "function": f}
				if id != "" {
					c["id"], f["name"] = id, name
				}
				return map[string]any{"tool_calls": []any{c}}
			}
			event(w, call(fmt.Sprintf("call_%d", i/2+1), pairs[i], args[:half]), "")
			event(w, call("", "", args[half:]), "")
		}
		event(w, map[string]any{}, finish)
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

// untilCancelled sends pieces and then nothing until the client is gone.
func untilCancelled(pieces ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, p := range pieces {
			event(w, map[string]any{"content": p}, "")
		}
		select {
		case <-r.Context().Done():
		case <-time.After(patience):
		}
	}
}

func refuses(status int, message, code string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"code":%q}}`, message, code)
	}
}

const readNotes = `{"file_path":"notes.txt"}`

// ownScenarios are recorded with a scripted server, each played again at once.
var ownScenarios = []struct {
	name      string
	files     map[string]string
	preset    string // danger-full-access when empty
	mode      string // native when empty
	caps      map[string]any
	permit    string
	answers   []func(http.ResponseWriter, *http.Request)
	prompts   []string
	cancel    bool // the first prompt, when its answer has begun
	wantError bool // of the last prompt
}{
	{name: "rec-hello", prompts: []string{"Say hello."}, answers: answers(words("stop", "Hel", "lo, ", "world — 你好."))},
	{name: "rec-reasoning", prompts: []string{"Think first."}, answers: answers(words("stop", "think:Let me ", "think:see.", "I have ", "seen."))},
	{
		name: "rec-read", prompts: []string{"What is in notes.txt?"}, files: map[string]string{"notes.txt": "alpha\nbeta\n"},
		answers: answers(toolCalls("tool_calls", "read", readNotes), words("stop", "Two letters of the Greek alphabet.")),
	},
	{
		name: "rec-edit", prompts: []string{"Make beta gamma."}, files: map[string]string{"notes.txt": "alpha\nbeta\n"},
		answers: answers(toolCalls("tool_calls", "read", readNotes), toolCalls("tool_calls", "edit", `{"file_path":"notes.txt","old_string":"beta","new_string":"gamma"}`), words("stop", "Done.")),
	},
	{
		name: "rec-edit-forbidden", preset: "read-only", prompts: []string{"Make beta gamma."}, files: map[string]string{"notes.txt": "alpha\nbeta\n"},
		answers: answers(toolCalls("tool_calls", "read", readNotes), toolCalls("tool_calls", "edit", `{"file_path":"notes.txt","old_string":"beta","new_string":"gamma"}`), words("stop", "It may not be changed.")),
	},
	{
		name: "rec-command-allowed", preset: "workspace-write", permit: "allow_once", prompts: []string{"Say hi from the shell."},
		answers: answers(toolCalls("tool_calls", "bash", `{"command":"echo hi","description":"Say hi","sandbox_permissions":"danger-full-access","justification":"the user asked for it"}`), words("stop", "It said hi.")),
	},
	{
		name: "rec-command-rejected", preset: "workspace-write", permit: "reject_once", prompts: []string{"Say hi from the shell."},
		answers: answers(toolCalls("tool_calls", "bash", `{"command":"echo hi","description":"Say hi","sandbox_permissions":"danger-full-access","justification":"the user asked for it"}`), words("stop", "You did not want that.")),
	},
	{name: "rec-cancelled", prompts: []string{"Count for ever.", "Say one."}, cancel: true, answers: answers(untilCancelled("Two, ", "three"), words("stop", "One."))},
	{
		name: "rec-cut-by-length", prompts: []string{"Write it all."},
		answers: answers(toolCalls("length", "write", `{"file_path":"all.txt","content":"begi`)),
	},
	{name: "rec-retry", prompts: []string{"Try."}, answers: answers(words("", "A begin"), words("stop", "It worked."))},
	{name: "rec-refused-key", prompts: []string{"Hello?"}, wantError: true, answers: answers(refuses(401, "no such key", "invalid_api_key"))},
	{
		name: "rec-parallel-reads", prompts: []string{"Read both."}, files: map[string]string{"a.txt": "A\n", "b.txt": "B\n"},
		answers: answers(toolCalls("tool_calls", "read", `{"file_path":"a.txt"}`, "read", `{"file_path":"b.txt"}`), words("stop", "A and B.")),
	},
	{
		name: "rec-todo", prompts: []string{"Plan it."},
		answers: answers(toolCalls("tool_calls", "todo_write", `{"todos":[{"content":"Look","status":"in_progress"},{"content":"Leap","status":"pending"}]}`), words("stop", "Planned.")),
	},
	{
		name: "rec-compact", caps: knowsCompaction, prompts: []string{"Tell me a long story.", "Go on.", "/compact keep the names", "Where were we?"},
		answers: answers(words("stop", strings.Repeat("Once upon a time there was a tool. ", 60)), words("stop", "And then."), words("stop", "# What the user wants\nA story about a tool."), words("stop", "At the tool.")),
	},
	{
		name: "rec-overflow", prompts: []string{"Tell me a long story.", "Go on."},
		answers: answers(words("stop", strings.Repeat("Once upon a time there was a tool. ", 60)), refuses(400, "This model's maximum context length is 10 tokens", "context_length_exceeded"),
			words("stop", "# What the user wants\nA story."), words("stop", "And so it went on.")),
	},
	{
		name: "rec-subagent", prompts: []string{"Have somebody look."}, files: map[string]string{"notes.txt": "alpha\nbeta\n"},
		answers: answers(toolCalls("tool_calls", "subagent", `{"description":"Look at the notes","prompt":"What is in notes.txt?"}`),
			toolCalls("tool_calls", "read", readNotes), words("stop", "Two letters."), words("stop", "There are two letters in it.")),
	},
	{
		name: "rec-program", mode: "code", prompts: []string{"How long is it?"}, files: map[string]string{"notes.txt": "alpha\nbeta\n"},
		answers: answers(toolCalls("tool_calls", "run_code", `{"code":"const f = await tools.read({file_path: 'notes.txt'});\nreturn typeof f;","description":"Read the notes"}`), words("stop", "Long enough.")),
	},
}

func answers(list ...func(http.ResponseWriter, *http.Request)) []func(http.ResponseWriter, *http.Request) {
	return list
}

// TestRecord records each scenario with --record and plays the recording.
func TestRecord(t *testing.T) {
	for _, s := range ownScenarios {
		t.Run(s.name, func(t *testing.T) {
			srv := newChatServer(t, s.answers...)
			out := t.TempDir()
			c := start(t, setup{
				cwd: workspace(t, s.files), args: []string{"--record", out},
				config: fmt.Sprintf("model: {provider: deepseek, name: deepseek-v4-flash, base_url: %q}\npermissions: {preset: %s}\ntools: {mode: %s}\n",
					srv.URL, or(s.preset, "danger-full-access"), or(s.mode, "native")),
			})
			c.permit = func(json.RawMessage) string { return s.permit }
			id := c.open(s.caps)
			for i, p := range s.prompts {
				last := i == len(s.prompts)-1
				n := c.request("session/prompt", textPrompt(id, p))
				if i == 0 && s.cancel {
					c.wait("the whole answer so far", func(fs []frame) bool { return strings.Contains(strings.Join(textsOf(fs), ""), "three") })
					c.notify("session/cancel", map[string]any{"sessionId": id})
				}
				if f := c.reply(n); (f.Error != nil) != (last && s.wantError) {
					t.Fatalf("%q: %+v", p, f.Error)
				}
			}
			if code, _ := c.closeInput(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			dirs := recordings(out)
			hidden, _ := filepath.Glob(filepath.Join(out, ".*"))
			if len(dirs) != 1 || len(hidden) > 0 {
				t.Fatalf("recorded %q, left %q", dirs, hidden)
			}
			if data, err := os.ReadFile(filepath.Join(dirs[0], "input.json")); err != nil || strings.Contains(string(data), "permissionAnswers") != (s.permit != "") {
				t.Errorf("a question was to be asked: %v; recorded: %s", s.permit != "", data)
			}
			checkRecording(t, dirs[0], c.cwd, map[bool]string{false: "complete", true: "failed"}[s.wantError])
			compareScenario(t, dirs[0])
			if *saveScenarios {
				to := filepath.Join(repoRoot(t), "testdata", "transcripts", s.name)
				if err := os.RemoveAll(to); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(to, os.DirFS(dirs[0])); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// recordings are the scenarios in a folder.
func recordings(dir string) (out []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// textsOf are the pieces of the agent's text.
func textsOf(frames []frame) (out []string) {
	for _, f := range frames {
		if u, _ := updateOf(f); u.SessionUpdate == "agent_message_chunk" {
			var b struct{ Text string }
			_ = json.Unmarshal(u.Content, &b)
			out = append(out, b.Text)
		}
	}
	return out
}

func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// checkRecording makes sure that nothing of this machine is in a recording.
func checkRecording(t *testing.T, dir, cwd, outcome string) {
	t.Helper()
	home, _ := os.UserHomeDir()
	host, _ := os.Hostname()
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, s := range map[string]string{"the working directory": cwd, "the temporary folder": os.TempDir() + "/", "the home": home + "/", "the host": host} {
			if len(s) > 3 && strings.Contains(string(data), s) {
				t.Errorf("%s holds %s", filepath.Base(path), what)
			}
		}
		return nil
	})
	var about struct{ Outcome string }
	data, err := os.ReadFile(filepath.Join(dir, "recording.json"))
	if err != nil || json.Unmarshal(data, &about) != nil || about.Outcome != outcome {
		t.Errorf("outcome %q, want %q: %v", about.Outcome, outcome, err)
	}
}

// A program that is killed leaves nothing that looks like a scenario; the next
// recording into the folder makes one of it that says so.
func TestARecordingThatWasKilled(t *testing.T) {
	srv := newChatServer(t, words("stop", "One."), untilCancelled("Two, ", "three"))
	out, sessions := t.TempDir(), t.TempDir()
	config := fmt.Sprintf("model: {provider: openai, name: m, base_url: %q}\nsessions: {dir: %q}\n", srv.URL, sessions)
	c := start(t, setup{config: config, args: []string{"--record", out}})
	id := c.open(nil)
	c.prompt(id, "first")
	c.request("session/prompt", textPrompt(id, "second"))
	c.wait("the second answer", func(fs []frame) bool { return strings.Contains(strings.Join(textsOf(fs), ""), "three") })
	c.kill()
	if dirs := recordings(out); len(dirs) > 0 {
		t.Fatalf("half a scenario: %q", dirs)
	}
	other := start(t, setup{config: config, args: []string{"--record", out}})
	other.call("initialize", map[string]any{"protocolVersion": 1})
	dirs := recordings(out)
	if len(dirs) != 1 {
		t.Fatalf("%q", dirs)
	}
	checkRecording(t, dirs[0], c.cwd, "killed")
	if data, _ := os.ReadFile(filepath.Join(dirs[0], "replay.override.json")); !strings.Contains(string(data), "One.") || !strings.Contains(string(data), `"hang"`) {
		t.Errorf("the model's part: %s", data)
	}
	other.closeInput()
	if hidden, _ := filepath.Glob(filepath.Join(out, ".*")); len(hidden) > 0 {
		t.Errorf("left behind: %q", hidden)
	}
}

// What must not be in a recording is not, also when it comes in pieces.
func TestARecordingKeepsNoSecrets(t *testing.T) {
	const key, token, own = "sk-0123456789abcdefghij", "tok-of-the-env-98765", "customer-4711"
	srv := newChatServer(t,
		toolCalls("tool_calls", "bash", `{"command":"cat config.txt; echo `+own+`","description":"Look"}`),
		words("stop", "The key is sk-01234", "56789abcdefghij and the token tok-of-", "the-env-98765 of ", own))
	out := t.TempDir()
	c := start(t, setup{
		cwd:  workspace(t, map[string]string{"config.txt": "key=" + key + "\nuser " + own + "\n", ".env": "A=b\n", ".git/HEAD": "ref: x\n", "big.bin": strings.Repeat("x", 300<<10)}),
		args: []string{"--record", out}, env: []string{"MY_TOKEN=" + token, "OPENAI_API_KEY=" + key},
		config: fmt.Sprintf("model: {provider: openai, name: m, base_url: %q}\npermissions: {preset: danger-full-access}\nrecord: {redact: ['customer-\\d+']}\n", srv.URL),
	})
	id := c.open(nil)
	c.prompt(id, "Use "+key+" for "+own+" in "+c.cwd)
	c.closeInput()
	dirs := recordings(out)
	if len(dirs) != 1 {
		t.Fatalf("%q", dirs)
	}
	checkRecording(t, dirs[0], c.cwd, "complete")
	all := ""
	_ = filepath.WalkDir(dirs[0], func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := os.ReadFile(path)
			all += string(data)
		}
		return err
	})
	for _, secret := range []string{key, token, own, "456789abcdefghij", "the-env-98765"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in the recording", secret)
		}
	}
	for _, want := range []string{"[redacted]", "{{cwd}}", "files of that name hold keys", "it is too large", "folders of that name are not recorded"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the recording", want)
		}
	}
	for _, gone := range []string{".env", "big.bin", ".git"} {
		if exists(filepath.Join(dirs[0], "workspace", gone)) {
			t.Errorf("%s was copied", gone)
		}
	}
}
