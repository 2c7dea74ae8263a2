package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/fileuri"
)

// links are the files that a call's card links to, by name.
func links(t *testing.T, u update) map[string]string {
	t.Helper()
	var list []struct {
		Content struct{ Type, URI, Name string }
	}
	if err := json.Unmarshal(u.Content, &list); err != nil {
		t.Fatalf("%v: %s", err, u.Content)
	}
	out := map[string]string{}
	for _, c := range list {
		if c.Content.Type == "resource_link" {
			ref, ok := fileuri.Parse(c.Content.URI)
			if !ok {
				t.Errorf("no file: %s", c.Content.URI)
			}
			out[c.Content.Name] = ref.Path
		}
	}
	return out
}

// A long result is shown shortened, with links to the whole in the session's
// folder; an editor's terminal stays. The folder's name needs percent encoding.
func TestALongResultIsLinked(t *testing.T) {
	for name, caps := range map[string]map[string]any{"terminals": terminals, "content": nil} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "säve 100%#1")
			c := start(t, setup{config: fullAccess + fmt.Sprintf("sessions:\n  dir: %q\ntools:\n  max_inline_bytes: 2000\n", dir)})
			s := c.open(caps)
			c.prompt(s, tool("bash", map[string]any{"command": "seq 30000; echo end >&2", "description": "Count"}))
			call := c.calls(s)[0]
			if strings.Contains(string(call.Content), `"type":"terminal"`) != (caps != nil) || !strings.Contains(string(call.Content), "/s%C3%A4ve%20100%25%231/") {
				t.Errorf("content %s", call.Content)
			}
			files := links(t, call)
			if len(files) != 2 {
				t.Fatalf("links %v", files)
			}
			whole, err := os.ReadFile(files["full stdout"])
			if err != nil || !strings.HasPrefix(string(whole), "1\n2\n") || !strings.HasSuffix(string(whole), "\n29999\n30000\n") || len(whole) != 168894 {
				t.Errorf("%d bytes, %v", len(whole), err)
			}
			formatted, err := os.ReadFile(files["full result"])
			if err != nil || !strings.HasSuffix(string(formatted), "[stderr]\nend\n") {
				t.Errorf("%d bytes, %v", len(formatted), err)
			}
			for name, path := range files {
				if !strings.HasPrefix(path, filepath.Join(dir, s)+string(filepath.Separator)) {
					t.Errorf("%s is not in the session's folder: %s", name, path)
				}
			}
			if len(call.RawOutput) > 3000 {
				t.Errorf("rawOutput has %d bytes", len(call.RawOutput))
			}
		})
	}
}

// The handed recording of a shortened result. It was made under a limit of 800
// bytes, of which the path takes a part: a longer path gets as much more.
func TestTheRecordedSpill(t *testing.T) {
	dir := needMaterial(t, "transcripts/bash-spill")
	recorded, err := os.ReadFile(filepath.Join(dir, "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("the recorded command needs node")
	}
	want := regexp.MustCompile(`SPILL_START-x+-SPILL_END\\n\\n\(Omitted [0-9]+ bytes\. [^)]*\)`).FindString(string(recorded))
	path := regexp.MustCompile(`stored at: (/\S+-bash\.txt)`).FindStringSubmatch(want)
	if path == nil {
		t.Fatal("the recording has no notice")
	}
	sessions := t.TempDir()
	const session = 36
	limit := 800 + len(sessions) + len("/") + session + len("/results/123456789012-bash.txt") - len(path[1])
	c := start(t, setup{config: fmt.Sprintf("model:\n  provider: replay\n  replay:\n    script: %q\npermissions:\n  preset: danger-full-access\ntools:\n  max_inline_bytes: %d\nsessions:\n  dir: %q\n",
		filepath.Join(dir, "session.jsonl"), limit, sessions)})
	s := c.open(nil)
	c.prompt(s, "Use the bash tool to print a large deterministic output, then reply DONE.")
	call := c.calls(s)[0]
	ours := links(t, call)["full result"]
	got := string(call.RawOutput)
	if strings.ReplaceAll(got, ours, path[1]) != `"`+want+`"` {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
