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

const codeModeConfig = "model: {provider: local}\ntools: {mode: both}\n"

// nesting is what an editor that links cards says it can.
var nesting = map[string]any{"_meta": map[string]any{"terminal_output": true}}

func fenced(program string) string { return "```ts\n" + program + "\n```" }

// parentOf is the call that a card is linked to, by both keys.
func parentOf(t *testing.T, u update) string {
	t.Helper()
	var m struct {
		Parent string `json:"parentToolCallId"`
		Claude struct {
			Parent string `json:"parentToolUseId"`
		} `json:"claudeCode"`
	}
	if len(u.Meta) > 0 {
		if err := json.Unmarshal(u.Meta, &m); err != nil {
			t.Fatal(err)
		}
	}
	if m.Parent != m.Claude.Parent {
		t.Errorf("the links differ: %s", u.Meta)
	}
	return m.Parent
}

func TestProgramShowsItsCallsAsLinkedCards(t *testing.T) {
	c := start(t, setup{config: codeModeConfig + "permissions: {preset: danger-full-access}\n"})
	write(t, filepath.Join(c.cwd, "a.txt"), "alpha\nbeta\n")
	s := c.open(nesting)
	c.prompt(s, fenced(`const { lines } = await tools.read({ file_path: "a.txt" });
await tools.edit({ file_path: "a.txt", old_string: "beta", new_string: "gamma" });
const { stdout } = await tools.bash({ command: "cat a.txt", description: "Show the file" });
try { await tools.read({ file_path: "none.txt" }) } catch (e) { console.log(e.toolName, "failed") }
return stdout.text;`))
	calls := c.calls(s)
	if len(calls) != 5 {
		t.Fatalf("%d cards: %+v", len(calls), calls)
	}
	outer := calls[0]
	if outer.Kind != "execute" || outer.Status != "completed" || !strings.Contains(string(outer.RawInput), "tools.edit") {
		t.Errorf("%+v", outer)
	}
	if text := string(outer.Content); !strings.Contains(text, `read failed\nalpha\ngamma`) {
		t.Errorf("the result is %s", text)
	}
	for i, want := range []struct{ title, kind, status string }{
		{"Read a.txt", "read", "completed"},
		{"Edit a.txt", "edit", "completed"},
		{"cat a.txt", "execute", "completed"},
		{"Read none.txt", "read", "failed"},
	} {
		got := calls[i+1]
		if got.Title != want.title || got.Kind != want.kind || got.Status != want.status {
			t.Errorf("card %d: %+v, want %+v", i+1, got, want)
		}
		if id := fmt.Sprintf("%s:code:%d", outer.ToolCallID, i+1); got.ToolCallID != id {
			t.Errorf("card %d is %s", i+1, got.ToolCallID)
		}
		if parent := parentOf(t, got); parent != outer.ToolCallID {
			t.Errorf("card %d is linked to %q", i+1, parent)
		}
	}
	if diff := string(calls[2].Content); !strings.Contains(diff, `"type":"diff"`) {
		t.Errorf("the edit shows %s", diff)
	}
	// Every update of a nested card carries the link, and states only advance.
	for _, u := range c.updates(s) {
		if strings.Contains(u.ToolCallID, ":code:") && parentOf(t, u) != outer.ToolCallID {
			t.Errorf("an update without its link: %+v", u)
		}
	}
}

func TestEditorWithoutLinksGetsProgressInTheProgramsCard(t *testing.T) {
	c := start(t, setup{config: codeModeConfig + "permissions: {preset: danger-full-access}\n"})
	s := c.open(nil)
	c.prompt(s, fenced(`for (const n of [1, 2]) await tools.bash({ command: "echo " + n, description: "Say" });`))
	if calls := c.calls(s); len(calls) != 1 || calls[0].Status != "completed" {
		t.Fatalf("%+v", calls)
	}
	told := false
	for _, u := range c.updates(s) {
		told = told || u.SessionUpdate == "tool_call_update" && strings.Contains(string(u.Content), `Calls made: 2\n- completed: echo 1\n- running: echo 2`)
	}
	if !told {
		t.Error("nothing tells of the second call")
	}
}

func TestCallOfAProgramAsksWithItsLine(t *testing.T) {
	for _, caps := range []map[string]any{nesting, nil} {
		for _, choice := range []string{"allow_once", "reject_once"} {
			c := start(t, setup{config: codeModeConfig + "sandbox: {mechanism: none}\n"})
			var asked []json.RawMessage
			c.permit = func(p json.RawMessage) string { asked = append(asked, p); return choice }
			s := c.open(caps)
			c.prompt(s, fenced("// look around\ntry {\n  const r = await tools.bash({ command: \"touch made\", description: \"Make it\" });\n  return r.exitCode ?? 'ran';\n} catch (e) { return e.message }"))
			if len(asked) != 1 {
				t.Fatalf("%d questions", len(asked))
			}
			var p struct{ ToolCall update }
			if err := json.Unmarshal(asked[0], &p); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(p.ToolCall.ToolCallID, ":code:1") || !strings.Contains(string(p.ToolCall.Content), "Asked by line 3 of the program: const r = await tools.bash(") {
				t.Errorf("the question is %s", asked[0])
			}
			calls := c.calls(s) // fails on a call that was updated without being announced
			if len(calls) != 2 || calls[1].ToolCallID != p.ToolCall.ToolCallID {
				t.Fatalf("%+v", calls)
			}
			_, err := os.Stat(filepath.Join(c.cwd, "made"))
			if ran := err == nil; ran != (choice == "allow_once") {
				t.Errorf("%s: ran is %v", choice, ran)
			}
			if choice == "reject_once" && !strings.Contains(string(calls[0].Content), `the user rejected tool`) {
				t.Errorf("the program was told %s", calls[0].Content)
			}
		}
	}
}

func TestCancelReachesAProgram(t *testing.T) {
	for name, program := range map[string]string{
		"computing":        "for (;;) {}",
		"in a native loop": "console.log(1); const a = new Array(1e8).fill(0); for (;;) a.fill(1)",
		"waiting":          "await new Promise(r => setTimeout(r, 600000))",
		"in a call":        `await tools.bash({ command: "sleep 600", description: "Sleep" })`,
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, setup{config: codeModeConfig + "permissions: {preset: danger-full-access}\ncode_mode: {compute: 10m, wall: 20m}\n"})
			s := c.open(nesting)
			id := c.request("session/prompt", textPrompt(s, fenced(program)))
			waitRunning(c, s, strings.Contains(program, "tools."))
			time.Sleep(50 * time.Millisecond) // by then it is likely to do what its name says
			begin := time.Now()
			c.notify("session/cancel", map[string]any{"sessionId": s})
			if reason := stopReason(c.reply(id)); reason != "cancelled" {
				t.Errorf("stop reason %q", reason)
			}
			took := time.Since(begin)
			t.Logf("cancelled in %v", took)
			// 100 ms is the goal, and what an idle machine shows; here it matters
			// that nothing waits for the program.
			if took > soon {
				t.Errorf("it took %v", took)
			}
			for _, call := range c.calls(s) {
				if call.Status != "failed" {
					t.Errorf("%s ended as %s", call.ToolCallID, call.Status)
				}
			}
			if reason := c.prompt(s, fenced("return 1 + 1")); reason != "end_turn" {
				t.Errorf("the next prompt ended with %q", reason)
			}
		})
	}
}

// waitRunning waits until a call of the session, or one nested in it, runs.
func waitRunning(c *client, session string, nested bool) {
	c.wait("a running call", func(fs []frame) bool {
		for _, f := range fs {
			u, id := updateOf(f)
			if id == session && u.Status == "in_progress" && strings.Contains(u.ToolCallID, ":code:") == nested {
				return true
			}
		}
		return false
	})
}

func TestHostileProgramsLeaveTheAgentWorking(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs to their limits")
	}
	type hostile struct{ program, want string }
	// Those that have no end meet a limit of time, the others one of their own,
	// however slow the machine.
	for limits, programs := range map[string][]hostile{"compute: 400ms, wall: 3s": {
		{"for (;;) {}", "timeout"},
		{"return /^(a+)+$/.test('a'.repeat(40) + 'b')", ""},
		{"await new Promise(() => {})", "timeout"},
		{"const next = () => Promise.resolve().then(next); await next()", "timeout"},
		{"let v = []; for (let i = 0; i < 1e5; i++) v = [v]; return v", ""},
		{"for (let i = 0; i < 1e6; i++) setTimeout(() => {}, 1e6); return 1", ""},
		{"let s = '1'; for (let i = 0; i < 2000; i++) s = 'eval(' + JSON.stringify(s) + ')'; return eval(s)", ""},
	}, "compute: 1m, wall: 2m": {
		{"return 'x'.repeat(2 ** 40)", "code run failed"},
		{"return new Uint8Array(2 ** 40)", "code run failed"},
		{"const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)", "code run failed"},
		{"const f = () => f(); f()", "exception"},
		{"for (;;) console.log('flood')", "output-limit"},
		{"for (let i = 0; i < 1000; i++) tools.bash({ command: 'sleep 9', description: 'x' })", ""},
		{"globalThis.Promise = undefined; Object.prototype.then = 1; return await tools.bash({ command: 'true', description: 'x' })", ""},
	}} {
		t.Run(limits, func(t *testing.T) {
			c := start(t, setup{config: codeModeConfig + "permissions: {preset: danger-full-access}\ncode_mode: {" + limits + ", memory: 64MiB, max_output_bytes: 100000}\n"})
			s := c.open(nesting)
			run := func(program string) string {
				before := len(c.calls(s))
				if reason := c.prompt(s, fenced(program)); reason != "end_turn" {
					t.Errorf("%s: %q", program, reason)
				}
				return string(c.calls(s)[before].Content)
			}
			for _, tt := range programs {
				text := run(tt.program)
				if !strings.Contains(text, tt.want) {
					t.Errorf("%s: no %q in %.300s", tt.program, tt.want, text)
				}
				text = ""
				for range 10 { // a busy machine may need longer than the limit
					if text = run("return 6 * 7"); !strings.Contains(text, "(timeout)") {
						break
					}
				}
				if !strings.Contains(text, `"42"`) {
					t.Fatalf("after %s: %s", tt.program, text)
				}
			}
			if code, took := c.closeInput(); code != 0 || took > soon {
				t.Errorf("left with %d after %v", code, took)
			}
		})
	}
}

func TestProgramsReplayAsTheyWereShown(t *testing.T) {
	sessions := t.TempDir()
	c := start(t, setup{config: codeModeConfig + "permissions: {preset: danger-full-access}\nsessions: {dir: " + sessions + "}\n"})
	write(t, filepath.Join(c.cwd, "a.txt"), "alpha\n")
	s := c.open(nil)
	c.prompt(s, fenced(`await tools.read({ file_path: "a.txt" }); await tools.bash({ command: "exit 3", description: "Fail" }).catch(() => 0); return 1`))
	var live []string
	c.mu.Lock()
	for _, f := range c.frames {
		if u, id := updateOf(f); id == s && strings.HasPrefix(u.SessionUpdate, "tool_call") {
			live = append(live, string(f.Params))
		}
	}
	c.mu.Unlock()
	c.closeInput()
	logs, err := filepath.Glob(filepath.Join(sessions, "*", "events.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v %v", logs, err)
	}
	replay := func(args ...string) (out []string, nested int) {
		text, code := runProgram(t, append(append([]string{"replay"}, args...), logs[0])...)
		if code != 0 {
			t.Fatalf("code %d\n%s", code, text)
		}
		lines := bufio.NewScanner(strings.NewReader(text))
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var f frame
			if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
				t.Fatal(err)
			}
			if u, _ := updateOf(f); strings.HasPrefix(u.SessionUpdate, "tool_call") {
				out = append(out, string(f.Params))
				if u.SessionUpdate == "tool_call" && parentOf(t, u) != "" {
					nested++
				}
			}
		}
		return out, nested
	}
	replayed, _ := replay("--nested=false")
	if got, want := strings.Join(replayed, "\n"), strings.Join(live, "\n"); got != want {
		t.Errorf("replayed:\n%s\nlive:\n%s", got, want)
	}
	if _, nested := replay(); nested != 2 {
		t.Errorf("%d nested cards", nested)
	}
}

// runFile runs dsh-acp run with a program in a folder of its own.
func runFile(t *testing.T, program, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "p.ts"), program)
	cmd := exec.Command(bin, append([]string{"run"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir()}
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestRunCommand(t *testing.T) {
	t.Run("json", func(t *testing.T) {
		out, _, code := runFile(t, "console.log('hi'); return { n: 1 }", "", "p.ts", "--json")
		if want := `{"ok":true,"value":{"n":1},"logs":["hi"]}` + "\n"; code != 0 || out != want {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("failure", func(t *testing.T) {
		out, errs, code := runFile(t, "console.log('hi');\nconst x: number = null!;\nx.y.z", "", "--json", "p.ts")
		var o struct {
			OK    bool
			Logs  []string
			Error struct {
				Kind, Message string
				Line, Column  int
			}
		}
		if err := json.Unmarshal([]byte(out), &o); err != nil || code != 1 || o.OK || len(o.Logs) != 1 || o.Error.Kind != "exception" || o.Error.Line != 3 || o.Error.Column == 0 {
			t.Errorf("%d %s", code, out)
		}
		if !strings.Contains(errs, "the program failed (exception): line 3: TypeError") {
			t.Errorf("stderr: %s", errs)
		}
	})
	t.Run("syntax", func(t *testing.T) {
		out, _, code := runFile(t, "const a = 1;\nreturn (1", "", "p.ts", "--json")
		if code != 1 || !strings.Contains(out, `"kind":"exception"`) || !strings.Contains(out, `"line":2`) {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("stdin", func(t *testing.T) {
		if out, _, code := runFile(t, "", "return 'from stdin'", "-", "--json"); code != 0 || !strings.Contains(out, "from stdin") {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("cards", func(t *testing.T) {
		out, _, code := runFile(t, "return (await tools.bash({ command: 'echo hello', description: 'Greet' })).stdout.text", "", "p.ts", "--allow", "b?sh")
		for _, want := range []string{"[execute] Run p.ts", "called by the program: [execute] echo hello", "| hello", "exit status 0", "completed"} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("%d, no %q in\n%s", code, want, out)
			}
		}
	})
	t.Run("nobody to ask", func(t *testing.T) {
		out, errs, code := runFile(t, "await tools.write({ file_path: 'made', content: 'x' })", "", "p.ts", "--json", "--allow", "read")
		if code != 1 || !strings.Contains(out, "requires approval") || !strings.Contains(errs, "--allow write allows it") {
			t.Errorf("%d %s %s", code, out, errs)
		}
	})
	t.Run("usage", func(t *testing.T) {
		for _, args := range [][]string{{}, {"a.ts", "b.ts"}, {"p.ts", "--allow", "["}, {"--nonsense", "p.ts"}} {
			if _, errs, code := runFile(t, "", "", args...); code != 2 || errs == "" {
				t.Errorf("%v: %d %s", args, code, errs)
			}
		}
		if _, errs, code := runFile(t, "", "", "absent.ts"); code != 1 || !strings.Contains(errs, "absent.ts") {
			t.Errorf("%d %s", code, errs)
		}
	})
}

// docPrograms are the programs of docs/code-mode.md, by the comment in their
// first line: "// name" and, after "prints:", the text that the run must end with.
func TestDocumentedPrograms(t *testing.T) {
	text, err := os.ReadFile("../../docs/code-mode.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	parts := strings.Split(string(text), "```ts\n")
	for _, part := range parts[1:] {
		program, rest, ok := strings.Cut(part, "\n```\n")
		if !ok || !strings.HasPrefix(program, "// ") {
			continue
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(program, "// "), "\n")
		_, rest, ok = strings.Cut(rest, "```text\n")
		want, _, _ := strings.Cut(rest, "\n```")
		if !ok {
			t.Errorf("%s: the page does not say what comes out", title)
			continue
		}
		n++
		t.Run(title, func(t *testing.T) {
			c := start(t, setup{config: codeModeConfig + "permissions: {preset: danger-full-access}\ncode_mode: {max_parallel_calls: 4}\n"})
			for name, content := range map[string]string{
				"src/a.go":     "package a\n\n// TODO: name this\nfunc A() {}\n",
				"src/b.go":     "package a\n\nfunc B() {} // TODO: and this\n// TODO: test\n",
				"settings.ini": "mode = debug\nlevel = info\n",
				"data.csv":     "city,count\nOslo,3\nBergen,5\nOslo,4\n",
			} {
				write(t, filepath.Join(c.cwd, name), content)
			}
			s := c.open(nesting)
			c.prompt(s, fenced(program))
			var got []struct{ Content struct{ Text string } }
			if err := json.Unmarshal(c.calls(s)[0].Content, &got); err != nil || len(got) != 1 {
				t.Fatalf("%v %s", err, c.calls(s)[0].Content)
			}
			if got[0].Content.Text != want {
				t.Errorf("got:\n%s\nwant:\n%s", got[0].Content.Text, want)
			}
		})
	}
	if n < 5 {
		t.Errorf("%d programs", n)
	}
}

func TestRunTakesWhatIsNoProgramWithoutPanicking(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "latin.ts"), "const a = 1;\n// \xe9\nreturn a")
	out, code := runProgram(t, "run", filepath.Join(dir, "latin.ts"), "--json")
	if code != 1 && code != 2 || !strings.Contains(out, "UTF-8") || strings.Contains(out, "goroutine") {
		t.Errorf("code %d\n%.500s", code, out)
	}
	write(t, filepath.Join(dir, "deep.ts"), "let d: any = {}; let q = d; for (let i = 0; i < 12000; i++) { q.a = {}; q = q.a }\nreturn d")
	out, code = runProgram(t, "run", "--json", filepath.Join(dir, "deep.ts"))
	if code != 0 || !strings.HasPrefix(out, `{"ok":true,"value":{"a":{"a":`) {
		t.Errorf("code %d\n%.200s", code, out)
	}
	write(t, filepath.Join(dir, "text.ts"), `const m: any = Object.groupBy(["a", "b"], (x) => x); return "v " + m`)
	out, _ = runProgram(t, "run", "--json", filepath.Join(dir, "text.ts"))
	if strings.Contains(out, "&{Object") || !strings.Contains(out, "Cannot convert object to primitive value") {
		t.Errorf("%.500s", out)
	}
}
