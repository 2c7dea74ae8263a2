package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// buffers is an editor with unsaved changes that saves what an agent writes.
type buffers struct {
	mu    sync.Mutex
	open  map[string]string
	calls []string
	fail  error
}

func (b *buffers) answer(method string, params json.RawMessage) any {
	var p struct{ SessionID, Path, Content string }
	_ = json.Unmarshal(params, &p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, method+" "+filepath.Base(p.Path))
	if b.fail != nil {
		return b.fail
	}
	if method == "fs/write_text_file" {
		delete(b.open, p.Path)
		if err := os.WriteFile(p.Path, []byte(p.Content), 0o644); err != nil {
			return err
		}
		return map[string]any{}
	}
	if text, ok := b.open[p.Path]; ok {
		return map[string]any{"content": text}
	}
	data, _ := os.ReadFile(p.Path)
	return map[string]any{"content": string(data)}
}

func (b *buffers) log() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.calls, ", ")
}

func withFiles(read, write bool) map[string]any {
	return map[string]any{"fs": map[string]any{"readTextFile": read, "writeTextFile": write}}
}

func editOf(old, new string) map[string]any {
	return map[string]any{"file_path": "a.txt", "old_string": old, "new_string": new}
}

var readA = tool("read", map[string]any{"file_path": "a.txt"})

// Native calls and those of a program read and change what the editor shows.
func TestEditorBuffersCount(t *testing.T) {
	c := start(t, setup{config: fullAccess + "tools: {mode: both}\n"})
	path := filepath.Join(c.cwd, "a.txt")
	write(t, path, "saved\n")
	ed := &buffers{open: map[string]string{path: "typed\n"}}
	c.files = ed.answer
	s := c.open(withFiles(true, true))
	c.prompt(s, readA+"\n/then\n"+tool("edit", editOf("typed", "typed and edited")))
	calls := c.calls(s)
	if got := string(calls[0].RawOutput); !strings.Contains(got, "1: typed") || !strings.Contains(got, "which has unsaved changes") {
		t.Errorf("read: %s", got)
	}
	if data, _ := os.ReadFile(path); string(data) != "typed and edited\n" || calls[1].Status != "completed" {
		t.Errorf("file %q, edit %s %s", data, calls[1].Status, calls[1].RawOutput)
	}
	if got := ed.log(); got != "fs/read_text_file a.txt, fs/read_text_file a.txt, fs/write_text_file a.txt" {
		t.Errorf("the editor was asked: %s", got)
	}

	ed.mu.Lock()
	ed.open[path] = "typed again\n"
	ed.mu.Unlock()
	c.prompt(s, "```ts\nconst r = await tools.read({ file_path: \"a.txt\" });\nawait tools.edit({ file_path: \"a.txt\", old_string: \"again\", new_string: \"by a program\" });\nreturn r.note;\n```")
	calls = c.calls(s)
	if data, _ := os.ReadFile(path); string(data) != "typed by a program\n" {
		t.Errorf("file %q", data)
	}
	if got := string(calls[2].RawOutput); !strings.Contains(got, "which has unsaved changes") {
		t.Errorf("the program was not told: %s", got)
	}
}

// A client that offers only one half, or nothing, is asked only for what is
// safe, and never for what it did not offer.
func TestEditorFilesByCapability(t *testing.T) {
	for _, c := range []struct {
		name        string
		read, write bool
		disk, calls string
	}{
		{"read only", true, false, "saved\n", "fs/read_text_file a.txt, fs/read_text_file a.txt"},
		{"write only", false, true, "changed\n", ""},
		{"none", false, false, "changed\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := start(t, setup{config: fullAccess})
			path := filepath.Join(cl.cwd, "a.txt")
			write(t, path, "saved\n")
			ed := &buffers{open: map[string]string{path: "saved, typed\n"}}
			cl.files = ed.answer
			s := cl.open(withFiles(c.read, c.write))
			cl.prompt(s, readA+"\n/then\n"+tool("edit", editOf("saved", "changed")))
			if data, _ := os.ReadFile(path); string(data) != c.disk || ed.log() != c.calls {
				t.Errorf("file %q, calls %q, edit: %s", data, ed.log(), cl.calls(s)[1].RawOutput)
			}
		})
	}
}

func TestEditorThatAnswersWithErrors(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	path := filepath.Join(c.cwd, "a.txt")
	write(t, path, "saved\n")
	ed := &buffers{fail: errors.New("not today")}
	c.files = ed.answer
	s := c.open(withFiles(true, true))
	c.prompt(s, readA+"\n/then\n"+tool("edit", editOf("saved", "changed")))
	calls := c.calls(s)
	if data, _ := os.ReadFile(path); string(data) != "changed\n" {
		t.Errorf("file %q", data)
	}
	for _, call := range calls {
		if call.Status != "completed" || !strings.Contains(string(call.RawOutput), "it answered: not today") {
			t.Errorf("%s %s", call.Status, call.RawOutput)
		}
	}
}

// A turn that is cancelled while the editor is being asked ends at once, and
// withdraws the question.
func TestCancelWhileTheEditorIsAsked(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	write(t, filepath.Join(c.cwd, "a.txt"), "saved\n")
	c.files = func(string, json.RawMessage) any { return nil }
	s := c.open(withFiles(true, true))
	id := c.request("session/prompt", textPrompt(s, readA))
	c.wait("the question", func(fs []frame) bool {
		for _, f := range fs {
			if f.Method == "fs/read_text_file" {
				return true
			}
		}
		return false
	})
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if stop := stopReason(c.reply(id)); stop != "cancelled" {
		t.Errorf("stop reason %q", stop)
	}
	withdrawn := false
	c.mu.Lock()
	for _, f := range c.frames {
		withdrawn = withdrawn || f.Method == "$/cancel_request"
	}
	c.mu.Unlock()
	if calls := c.calls(s); !withdrawn || calls[0].Status != "failed" {
		t.Errorf("withdrawn %v, call %s", withdrawn, calls[0].Status)
	}
}

// A subagent reads and changes what the editor shows, in the name of the session
// that the editor knows.
func TestASubagentUsesTheEditorsFiles(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	path := filepath.Join(c.cwd, "a.txt")
	write(t, path, "saved\n")
	ed := &buffers{open: map[string]string{path: "typed\n"}}
	sessions := map[string]bool{}
	c.files = func(method string, params json.RawMessage) any {
		var p struct{ SessionID string }
		_ = json.Unmarshal(params, &p)
		ed.mu.Lock()
		sessions[p.SessionID] = true
		ed.mu.Unlock()
		return ed.answer(method, params)
	}
	s := c.open(withFiles(true, true))
	c.prompt(s, delegated(readA+"\n/then\n"+tool("edit", editOf("typed", "edited"))))
	if data, _ := os.ReadFile(path); string(data) != "edited\n" {
		t.Errorf("file %q, calls %+v", data, c.calls(s))
	}
	if len(sessions) != 1 || !sessions[s] {
		t.Errorf("asked in the name of %v", sessions)
	}
}
