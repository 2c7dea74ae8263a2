package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// logged is an event of a session log, as far as these tests look at it.
type logged struct {
	Type string
	Data struct {
		Header struct{ System string }
		Source struct{ Plugin string }
		Meta   struct {
			Changes []struct{ Path string }
			Count   int
		}
		Content []struct{ Text string }
	}
}

// logOf reads the log of a session in a folder of sessions.
func logOf(t *testing.T, dir, session string) []logged {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, session, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []logged
	for line := range bytes.Lines(data) {
		var e logged
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		out = append(out, e)
	}
	return out
}

// prompts are the system prompts that the model was sent, each time one differed.
func prompts(events []logged) (out []string) {
	for _, e := range events {
		if e.Type == "request/header" {
			out = append(out, e.Data.Header.System)
		}
	}
	return out
}

// announced are the instruction files that were put before the model later.
func announced(events []logged) (out []string) {
	for _, e := range events {
		for _, c := range e.Data.Meta.Changes {
			out = append(out, c.Path)
		}
	}
	return out
}

func readCall(path string) string { return tool("read", map[string]any{"file_path": path}) }

func TestTheModelIsToldOfTheProject(t *testing.T) {
	sessions, cwd := t.TempDir(), t.TempDir()
	write(t, filepath.Join(cwd, ".git", "HEAD"), "ref: refs/heads/topic\n")
	write(t, filepath.Join(cwd, "AGENTS.md"), "Root: use {{tabs}}.\n")
	write(t, filepath.Join(cwd, "work", "CLAUDE.md"), "Inner: be brief.\n")
	write(t, filepath.Join(cwd, "work", "nested", "AGENTS.md"), "Nested: no globals.\n")
	write(t, filepath.Join(cwd, "work", "nested", "task.txt"), "task\n")
	write(t, filepath.Join(cwd, "work", ".dsh", "skills", "tidy", "SKILL.md"), "---\nname: tidy\ndescription: Tidy up.\n---\n\nSweep first.\n")
	work := filepath.Join(cwd, "work")

	c := start(t, setup{config: withSessions(sessions), cwd: work})
	s := c.open(nil)
	c.prompt(s, readCall("nested/task.txt"))
	c.prompt(s, readCall("nested/task.txt"))
	c.prompt(s, tool("write", map[string]any{"file_path": "nested/new.txt", "content": "x"}))
	c.prompt(s, tool("skill", map[string]any{"name": "tidy"}))

	events := logOf(t, sessions, s)
	system := prompts(events)
	// One header for four turns: the prompt was the same to the byte each time.
	if len(system) != 1 {
		t.Fatalf("the prompt changed %d times", len(system)-1)
	}
	at := -1
	for _, want := range []string{
		"Working directory: " + work, "Git when the session was opened: branch topic",
		"Instructions from: ../AGENTS.md\n\nRoot: use {{tabs}}.", "Instructions from: CLAUDE.md\n\nInner: be brief.", "- `tidy`: Tidy up.",
	} {
		i := strings.Index(system[0], want)
		if i <= at {
			t.Errorf("%q is at %d, after %d, in\n%s", want, i, at, system[0])
		}
		at = i
	}
	if strings.Contains(system[0], "Nested:") || strings.Contains(system[0], "Sweep") {
		t.Errorf("told too early:\n%s", system[0])
	}
	if got := announced(events); !slices.Equal(got, []string{"nested/AGENTS.md"}) {
		t.Errorf("announced %q", got)
	}
	skill := c.calls(s)[3]
	if skill.Title != "Load skill tidy" || skill.Kind != "read" || string(skill.RawInput) != `"tidy"` ||
		!strings.Contains(string(skill.Content), `Base directory for this skill: `+work+`/.dsh/skills/tidy`) || !strings.Contains(string(skill.Content), "Sweep first.") {
		t.Errorf("%+v %s", skill, skill.Content)
	}
	c.closeInput()

	// Another process that opens the session knows what was said.
	again := start(t, setup{config: withSessions(sessions), cwd: work})
	again.call("initialize", map[string]any{"protocolVersion": 1})
	if f := again.load(s); f.Error != nil {
		t.Fatalf("%+v", f.Error)
	}
	again.prompt(s, readCall("nested/task.txt"))
	if got := announced(logOf(t, sessions, s)); !slices.Equal(got, []string{"nested/AGENTS.md"}) {
		t.Errorf("after loading: announced %q", got)
	}
	// What changes is told, and only then.
	write(t, filepath.Join(work, "CLAUDE.md"), "Inner: be very brief.\n")
	again.prompt(s, readCall("nested/task.txt"))
	system = prompts(logOf(t, sessions, s))
	if last := system[len(system)-1]; !strings.Contains(last, "be very brief") {
		t.Errorf("an edited file is not told:\n%s", last)
	}
}

func TestAProgramsCallsDiscoverInstructions(t *testing.T) {
	sessions := t.TempDir()
	c := start(t, setup{config: withSessions(sessions) + "tools: {mode: code}\n"})
	write(t, filepath.Join(c.cwd, "nested", "AGENTS.md"), "Nested.\n")
	write(t, filepath.Join(c.cwd, "nested", "task.txt"), "task\n")
	s := c.open(nil)
	c.prompt(s, fenced(`for (const _ of [1, 2, 3, 4]) await tools.read({ file_path: "nested/task.txt" }); return "read"`))
	events := logOf(t, sessions, s)
	if got := announced(events); !slices.Equal(got, []string{"nested/AGENTS.md"}) {
		t.Errorf("announced %q", got)
	}
	for _, e := range events {
		if e.Data.Source.Plugin == "repeat-guard" {
			t.Error("a program's loop was taken for a stuck model")
		}
	}
}

// A file that cannot be read is told as such, and holds nothing up.
func TestUnreadableInstructions(t *testing.T) {
	sessions := t.TempDir()
	c := start(t, setup{config: withSessions(sessions)})
	if err := syscall.Mkfifo(filepath.Join(c.cwd, "AGENTS.md"), 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	if err := os.Symlink("CLAUDE.md", filepath.Join(c.cwd, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	s := c.open(nil)
	if got := c.prompt(s, readCall("none.txt")); got != "end_turn" {
		t.Errorf("the turn ended with %s", got)
	}
	system := prompts(logOf(t, sessions, s))[0]
	if n := strings.Count(system, "[This file could not be read: "); n != 2 || !c.logged("an instruction file could not be read") {
		t.Errorf("%d reported in\n%s\nstderr: %s", n, system, c.stderr)
	}
}

func TestARepeatedCallIsNoticed(t *testing.T) {
	var answers []any
	for range 5 {
		answers = append(answers, callChunks("todo_write", `{"todos":[{"content":"Wait","status":"pending"}]}`), "tool-calls")
	}
	answers = append(answers, textChunks("DONE"), "stop")
	sessions := t.TempDir()
	c := start(t, setup{config: replayOf(t, answers...) + fmt.Sprintf("sessions: {dir: %q}\n", sessions)})
	s := c.open(nil)
	c.prompt(s, "Make a list")
	var counts []int
	for _, e := range logOf(t, sessions, s) {
		if e.Data.Source.Plugin == "repeat-guard" {
			counts = append(counts, e.Data.Meta.Count)
		}
	}
	if !slices.Equal(counts, []int{3, 5}) {
		t.Errorf("noticed at %v", counts)
	}
	for _, u := range c.calls(s) {
		if u.Status != "completed" {
			t.Errorf("the guard stopped a call: %+v", u)
		}
	}
}

var stored = regexp.MustCompile(`\(Omitted \d+ bytes\. Full formatted result stored at: ([^\s]+)\. Use read with offset/limit, or grep this path to search within it\.\)`)

func TestALongResultIsKeptInAFile(t *testing.T) {
	sessions := t.TempDir()
	c := start(t, setup{config: withSessions(sessions) + "tools: {max_inline_bytes: 800}\n"})
	s := c.open(nil)
	c.prompt(s, tool("bash", map[string]any{"command": "seq 1 2000", "description": "Count"}))
	var text string
	for _, e := range logOf(t, sessions, s) {
		if e.Type == "tool/result" {
			text = e.Data.Content[0].Text
		}
	}
	m := stored.FindStringSubmatch(text)
	if m == nil || len(text) > 800 || !strings.HasPrefix(text, "1\n2\n") {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
	if whole, err := os.ReadFile(m[1]); err != nil || !strings.Contains(string(whole), "\n1000\n") || !strings.HasPrefix(m[1], filepath.Join(sessions, s)) {
		t.Errorf("%s: %v", m[1], err)
	}
	// The notice says how to get at the rest, and that works.
	c.prompt(s, tool("read", map[string]any{"file_path": m[1], "offset": 1000, "limit": 2}))
	calls := c.calls(s)
	if got := calls[len(calls)-1]; got.Status != "completed" || !strings.Contains(string(got.Content), "1001: 1001") {
		t.Errorf("%+v %s", got, got.Content)
	}
	c.call("session/close", map[string]any{"sessionId": s})
	if f := c.call("session/delete", map[string]any{"sessionId": s}); f.Error != nil {
		t.Fatalf("%+v", f.Error)
	}
	if _, err := os.Stat(m[1]); !os.IsNotExist(err) {
		t.Errorf("a deleted session leaves its results: %v", err)
	}
}

func TestShortResultsAreLeftAlone(t *testing.T) {
	sessions := t.TempDir()
	c := start(t, setup{config: withSessions(sessions)})
	s := c.open(nil)
	c.prompt(s, tool("bash", map[string]any{"command": "seq 1 2000", "description": "Count"}))
	if _, err := os.Stat(filepath.Join(sessions, s, "results")); !os.IsNotExist(err) {
		t.Errorf("there is a folder of results: %v", err)
	}
}
