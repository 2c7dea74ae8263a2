package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runProgram runs the program with a closed stdin and returns everything it
// printed and its exit code.
func runProgram(t *testing.T, args ...string) (string, int) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(bin, args...)
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "TMPDIR=" + os.TempDir()}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {"demo", "--help"}, {"replay", "--help"}, {"tools", "--help"}} {
		if out, code := runProgram(t, args...); code != 0 || !strings.Contains(out, "usage:") {
			t.Errorf("%v: code %d\n%s", args, code, out)
		}
	}
	if out, code := runProgram(t, "--version"); code != 0 || !strings.HasPrefix(out, "dsh-acp ") {
		t.Errorf("code %d\n%s", code, out)
	}
}

func TestDemoShowsAWholeTurn(t *testing.T) {
	for _, args := range [][]string{{"demo", "--yes"}, {"demo", "--yes", "--terminal=false"}} {
		out, code := runProgram(t, args...)
		if code != 0 {
			t.Fatalf("%v: code %d\n%s", args, code, out)
		}
		for _, want := range []string{
			"mode = debug", "Let me look at the settings first.", "[read] Read settings.ini", "[edit] Edit settings.ini",
			"- mode = debug", "+ mode = release", "[execute] grep -n", "the agent asks to run: grep -n", "answered: Allow once",
			"2:mode = release", "turn ended: end_turn", "| mode = release",
			"[execute] Parse the settings and look for overrides", "called by the program: [read] Read settings.ini",
			"called by the program: [read] Read overrides.ini", "no overrides", `"workers": "4"`,
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", args, want, out)
			}
		}
		if args[len(args)-1] == "--yes" && !strings.Contains(out, "exit status 0") {
			t.Errorf("the terminal card shows no exit status:\n%s", out)
		}
	}
}

func TestDemoTakesNoForAnAnswer(t *testing.T) {
	home := t.TempDir()
	cmd := exec.Command(bin, "demo")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir()}
	cmd.Stdin = strings.NewReader("maybe\nn\n")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "answered: Reject") || !strings.Contains(string(out), "the user rejected tool") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestToolsCatalogue(t *testing.T) {
	out, code := runProgram(t, "tools", "--json")
	var list []struct {
		Name, Description string
		Parameters        struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	names := map[string]bool{}
	for _, tl := range list {
		names[tl.Name] = true
		if tl.Description == "" || tl.Parameters.Type != "object" || tl.Parameters.Properties == nil {
			t.Errorf("%+v", tl)
		}
	}
	text, _ := runProgram(t, "tools")
	for _, want := range []string{"bash", "read", "write", "edit"} {
		if !names[want] || !strings.Contains(text, want+"\n") {
			t.Errorf("no tool %s", want)
		}
	}
}

// A replay of a session shows what was shown live, plus the user's own words.
func TestReplayShowsWhatWasShownLive(t *testing.T) {
	sessions := t.TempDir()
	c := start(t, setup{config: fullAccess + "sessions: {dir: " + sessions + "}\n"})
	write(t, filepath.Join(c.cwd, "a.txt"), "alpha\nbeta\n")
	s := c.open(nil)
	c.prompt(s, "/think hm\n"+tool("read", map[string]any{"file_path": "a.txt"})+"\n"+tool("bash", map[string]any{"command": "echo '```'; false", "description": "Fence"}))
	c.prompt(s, tool("edit", map[string]any{"file_path": "a.txt", "old_string": "beta", "new_string": "gamma"}))
	c.prompt(s, tool("edit", map[string]any{"file_path": "a.txt", "old_string": "nowhere", "new_string": "x"}))
	var live []string
	c.mu.Lock()
	for _, f := range c.frames {
		if u, id := updateOf(f); id == s && u.SessionUpdate != "available_commands_update" && u.SessionUpdate != "usage_update" {
			live = append(live, string(f.Params))
		}
	}
	c.mu.Unlock()
	c.closeInput()
	logs, err := filepath.Glob(filepath.Join(sessions, "*", "events.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v %v", logs, err)
	}
	out, code := runProgram(t, "replay", logs[0])
	if code != 0 {
		t.Fatalf("code %d\n%s", code, out)
	}
	var replayed []string
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var f frame
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if u, _ := updateOf(f); u.SessionUpdate != "user_message_chunk" && u.SessionUpdate != "usage_update" {
			replayed = append(replayed, string(f.Params))
		}
	}
	if got, want := strings.Join(replayed, "\n"), strings.Join(live, "\n"); got != want {
		t.Errorf("replayed:\n%s\nlive:\n%s", got, want)
	}
}

func TestRecordedLogsReplay(t *testing.T) {
	dir := needMaterial(t, "transcripts")
	logs, err := filepath.Glob(filepath.Join(dir, "*", "session*.jsonl"))
	if err != nil || len(logs) == 0 {
		t.Fatal("no logs", err)
	}
	for _, log := range logs {
		if out, code := runProgram(t, "replay", log); code != 0 {
			t.Errorf("%s: code %d\n%s", log, code, out)
		}
	}
}

func TestToolsUnderCodeModeAreDeclared(t *testing.T) {
	out, code := runProgram(t, "tools", "--mode", "code")
	if code != 0 || !strings.HasPrefix(out, "run_code\n") || !strings.Contains(out, "declare const tools:") || strings.Contains(out, "\nbash\n") {
		t.Errorf("code %d\n%.2000s", code, out)
	}
	out, _ = runProgram(t, "tools", "--mode", "both")
	if !strings.Contains(out, "bash\n") || !strings.Contains(out, "declare const tools:") {
		t.Errorf("%.2000s", out)
	}
}
