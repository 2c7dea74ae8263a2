package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// errorsWithNullID counts the error answers that belong to no request.
func (c *client) errorsWithNullID() (codes []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.frames {
		if f.Error != nil && string(f.ID) == "null" {
			codes = append(codes, f.Error.Code)
		}
	}
	return codes
}

func TestBadLinesAreAnsweredAndTheConnectionGoesOn(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		code       int
	}{
		{"not JSON", `{bad`, -32700},
		{"cut off", `{"jsonrpc":"2.0","id":1,"method":"initialize"`, -32700},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}]`, -32600},
		{"scalar", `42`, -32600},
		{"no method", `{"jsonrpc":"2.0"}`, -32600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, setup{})
			c.raw(tt.line + "\n")
			c.open(nil)
			if codes := c.errorsWithNullID(); len(codes) != 1 || codes[0] != tt.code {
				t.Errorf("answered with %v, wanted [%d]", codes, tt.code)
			}
		})
	}
}

func TestALineOverTheCeilingIsSkipped(t *testing.T) {
	c := start(t, setup{config: "model: {provider: local}\nlimits: {max_line_bytes: 1MiB}\n"})
	s := c.open(nil)
	before := c.rss()
	big := strings.Repeat("x", 1<<20)
	for range 64 {
		c.raw(big)
	}
	c.raw("\n")
	if stop := c.prompt(s, "/say after"); stop != "end_turn" {
		t.Errorf("stop %q", stop)
	}
	if codes := c.errorsWithNullID(); len(codes) != 1 {
		t.Errorf("the long line was answered with %v, wanted one error", codes)
	}
	if after := c.rss(); before > 0 && after > before+24<<10 {
		t.Errorf("skipping 64 MiB cost memory: %d KiB before, %d KiB after", before, after)
	}
}

// rss is the agent's resident memory in KiB, 0 where that cannot be read.
func (c *client) rss() int { return residentKiB(c.cmd.Process.Pid) }

func TestATenMegabytePromptAndAnswerPass(t *testing.T) {
	long := strings.Repeat("long ", 2<<20)
	c := start(t, setup{config: replayOf(t, []chunk{{"type": "text-delta", "index": 0, "text": long}}, "stop")})
	s := c.open(nil)
	if stop := c.prompt(s, long); stop != "end_turn" {
		t.Errorf("stop %q", stop)
	}
	if c.message(s) != long {
		t.Errorf("%d bytes came back, wanted %d", len(c.message(s)), len(long))
	}
}

func TestBadParametersNameTheField(t *testing.T) {
	c := start(t, setup{})
	if f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": []any{}}); f.Error == nil || f.Error.Code != -32600 {
		t.Errorf("session/new before initialize: %+v", f.Error)
	}
	s := c.open(nil)
	file := filepath.Join(c.cwd, "file")
	write(t, file, "")
	prompt := func(blocks any) map[string]any { return map[string]any{"sessionId": s, "prompt": blocks} }
	for _, tt := range []struct {
		name, method string
		params       any
		code         int
		mention      string
	}{
		{"version is text", "initialize", map[string]any{"protocolVersion": "1.0"}, -32602, "protocolVersion"},
		{"no params", "session/new", nil, -32602, "cwd"},
		{"params are a list", "session/new", []any{1}, -32602, "object"},
		{"relative cwd", "session/new", map[string]any{"cwd": "rel", "mcpServers": []any{}}, -32602, "cwd"},
		{"null cwd", "session/new", map[string]any{"cwd": nil, "mcpServers": []any{}}, -32602, "cwd"},
		{"missing cwd", "session/new", map[string]any{"cwd": filepath.Join(c.cwd, "gone"), "mcpServers": []any{}}, -32602, "does not exist"},
		{"cwd is a file", "session/new", map[string]any{"cwd": file, "mcpServers": []any{}}, -32602, "not a directory"},
		{"unknown session", "session/prompt", textPrompt("nope", "x"), -32002, "nope"},
		{"session is a number", "session/prompt", map[string]any{"sessionId": 7, "prompt": []any{}}, -32602, "sessionId"},
		{"prompt is text", "session/prompt", prompt("x"), -32602, "prompt"},
		{"prompt is empty", "session/prompt", prompt([]any{}), -32602, "prompt"},
		{"prompt is blank", "session/prompt", prompt([]any{map[string]any{"type": "text", "text": "  \n"}}), -32602, "prompt"},
		{"unknown block", "session/prompt", prompt([]any{map[string]any{"type": "hologram"}}), -32602, "prompt[0].type"},
		{"block is no object", "session/prompt", prompt([]any{1}), -32602, "prompt[0]"},
		{"text without text", "session/prompt", prompt([]any{map[string]any{"type": "text"}}), -32602, "prompt[0].text"},
		{"image", "session/prompt", prompt([]any{map[string]any{"type": "image", "data": "AA==", "mimeType": "image/png"}}), -32602, "image"},
		{"audio", "session/prompt", prompt([]any{map[string]any{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}}), -32602, "audio"},
		{"blob", "session/prompt", prompt([]any{map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///x", "blob": "*"}}}), -32602, "prompt[0].resource.blob"},
		{"unknown auth method", "authenticate", map[string]any{"methodId": "magic"}, -32602, "magic"},
		{"not built", "session/archive", map[string]any{"sessionId": s}, -32601, "session/archive"},
		{"unknown method", "session/teleport", map[string]any{}, -32601, "session/teleport"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.t = t
			f := c.call(tt.method, tt.params)
			if f.Error == nil || f.Error.Code != tt.code {
				t.Fatalf("got %+v %s, wanted code %d", f.Error, f.Result, tt.code)
			}
			if !strings.Contains(f.Error.Message+string(f.Error.Data), tt.mention) {
				t.Errorf("the error does not mention %q: %s %s", tt.mention, f.Error.Message, f.Error.Data)
			}
		})
	}
	c.t = t
	for _, u := range c.updates(s) {
		if u.SessionUpdate != "available_commands_update" {
			t.Errorf("a refused prompt was logged: %+v", u)
		}
	}
	if stop := c.prompt(s, "hello"); stop != "end_turn" {
		t.Errorf("the session does not work any more: %q", stop)
	}
}

func TestCallsThatAModelGetsWrongFailAndTheTurnGoesOn(t *testing.T) {
	for _, tt := range []struct{ name, tool, args, text string }{
		{"unknown tool", "teleport", `{}`, `unknown tool "teleport"`},
		{"arguments are no JSON", "read", `{"file_path": `, `invalid arguments: "arguments" must be an object`},
		{"arguments are a list", "read", `[1]`, `invalid arguments: "arguments" must be an object`},
		{"missing argument", "bash", `{"command":"ls"}`, `missing required property "description"`},
		{"two violations", "read", `{"file_path":5,"limit":"x"}`, `"file_path" must be a string; "limit" must be a number`},
		{"duplicate keys", "read", `{"file_path":"a","file_path":"b"}`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, setup{config: replayOf(t, callChunks(tt.tool, tt.args), "tool-calls", textChunks("and on it goes"), "stop")})
			s := c.open(nil)
			if stop := c.prompt(s, "go"); stop != "end_turn" {
				t.Fatalf("stop %q", stop)
			}
			calls := c.calls(s)
			if len(calls) != 1 || calls[0].Status != "failed" {
				t.Fatalf("%+v", calls)
			}
			var out string
			_ = json.Unmarshal(calls[0].RawOutput, &out)
			if !strings.Contains(out, tt.text) || !strings.HasPrefix(out, "Error: ") {
				t.Errorf("the model is told %q, wanted it to hold %q", out, tt.text)
			}
			if !strings.Contains(c.message(s), "and on it goes") {
				t.Error("the turn did not go on")
			}
		})
	}
}

func TestAFileThatChangedSinceItWasReadIsNotEdited(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	path := filepath.Join(c.cwd, "a.txt")
	write(t, path, "one\n")
	s := c.open(nil)
	c.prompt(s, tool("read", map[string]any{"file_path": "a.txt"}))
	write(t, path, "one changed by somebody else\n")
	c.prompt(s, tool("edit", map[string]any{"file_path": "a.txt", "old_string": "one", "new_string": "1"}))
	calls := c.calls(s)
	last := calls[len(calls)-1]
	if last.Status != "failed" || !strings.Contains(string(last.RawOutput), "file changed since it was read") {
		t.Errorf("%+v", last)
	}
	if data, _ := os.ReadFile(path); string(data) != "one changed by somebody else\n" {
		t.Errorf("on disk: %q", data)
	}
}

func TestASessionFolderThatCannotBeWrittenIsAClearError(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "blocked")
	write(t, blocked, "a file where a folder should be")
	c := start(t, setup{config: fmt.Sprintf("model: {provider: local}\nsessions: {dir: %q}\n", blocked)})
	c.call("initialize", map[string]any{"protocolVersion": 1})
	f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": []any{}})
	if f.Error == nil || !strings.Contains(f.Error.Message, "could not be created") {
		t.Errorf("%+v %s", f.Error, f.Result)
	}
}

func TestConfigurationMistakes(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	write(t, bad, "model:\n  provider: local\npermisions:\n  preset: read-only\n")
	out, code := runProgram(t, "--config", bad)
	if code != 1 || !strings.Contains(out, "bad.yaml:3") || !strings.Contains(out, "permissions") {
		t.Errorf("code %d: %s", code, out)
	}
	out, code = runProgram(t, "--config", filepath.Join(dir, "absent.yaml"))
	if code != 1 || !strings.Contains(out, "absent.yaml") {
		t.Errorf("code %d: %s", code, out)
	}
	out, code = runProgram(t, "--no-such-flag")
	if code != 2 || !strings.Contains(out, "no-such-flag") {
		t.Errorf("code %d: %s", code, out)
	}
	out, code = runProgram(t, "fly")
	if code != 2 || !strings.Contains(out, `"fly"`) {
		t.Errorf("code %d: %s", code, out)
	}
}

// A call whose path is unusable is announced, asked about or refused, and ended
// like any other, and its log replays.
func TestAnEmptyPathIsAnErrorAndNotABrokenCard(t *testing.T) {
	for _, config := range []string{fullAccess, "model: {provider: local}\n"} {
		dir := t.TempDir()
		c := start(t, setup{config: config + fmt.Sprintf("sessions: {dir: %q}\n", dir)})
		s := c.open(nil)
		c.prompt(s, tool("write", map[string]any{"file_path": "", "content": "x"})+"\n"+tool("edit", map[string]any{"file_path": "", "old_string": "a", "new_string": "b"}))
		calls := c.calls(s)
		if len(calls) != 2 {
			t.Fatalf("%d calls were announced", len(calls))
		}
		for _, call := range calls {
			if call.Status != "failed" || !strings.Contains(string(call.RawOutput), "file_path must be a non-empty string") {
				t.Errorf("%+v", call)
			}
		}
		c.closeInput()
		if out, code := runProgram(t, "replay", filepath.Join(dir, s, "events.jsonl")); code != 0 || strings.Count(out, `"tool_call_update"`) < 2 {
			t.Errorf("code %d\n%s", code, out)
		}
	}
}

func TestAPermissionRequestAlwaysCarriesTheRawInput(t *testing.T) {
	c := start(t, setup{config: asking})
	var asked []string
	c.permit = func(p json.RawMessage) string { asked = append(asked, string(p)); return "reject_once" }
	s := c.open(nil)
	c.prompt(s, tool("write", map[string]any{"file_path": "a.txt", "content": "x"})+"\n"+bashPrompt)
	if len(asked) != 2 {
		t.Fatalf("asked %d times", len(asked))
	}
	for _, q := range asked {
		if !strings.Contains(q, `"rawInput":`) {
			t.Errorf("no rawInput: %s", q)
		}
	}
}

// A client that stopped reading does not keep the agent alive.
func TestEndOfInputWithAClientThatDoesNotRead(t *testing.T) {
	inTime(t, 3500*time.Millisecond, func() time.Duration {
		a := exec.Command(bin, "--model", "local")
		home := t.TempDir()
		a.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
		in, err := a.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := a.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Process.Kill() }()
		r := bufio.NewReader(out)
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n")
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", home)
		var session string
		for session == "" {
			line, err := r.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var f frame
			_ = json.Unmarshal(line, &f)
			var res struct{ SessionID string }
			if string(f.ID) == "2" && json.Unmarshal(f.Result, &res) == nil {
				session = res.SessionID
			}
		}
		params, err := json.Marshal(textPrompt(session, "/say "+strings.Repeat("more and more words ", 100_000)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":%s}`+"\n", params)
		time.Sleep(700 * time.Millisecond) // by then the pipe is full, or it fills while the agent leaves
		begin := time.Now()
		_ = in.Close()
		done := make(chan struct{})
		go func() { defer close(done); _, _ = a.Process.Wait() }()
		select {
		case <-done:
		case <-time.After(patience):
			t.Errorf("still there %v after the end of its input", patience)
		}
		return time.Since(begin)
	})
}
