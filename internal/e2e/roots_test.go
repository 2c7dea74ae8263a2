package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder of the workspace that the client names by a symbolic link, as every
// temporary folder is on some systems, is inside the workspace by that name and by
// its own; what a link inside of it leads to elsewhere is not.
func TestAFolderNamedByALinkIsInsideTheWorkspace(t *testing.T) {
	base := t.TempDir()
	real, link, other := filepath.Join(base, "real"), filepath.Join(base, "link"), filepath.Join(base, "other")
	for _, dir := range []string{real, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{link: real, filepath.Join(real, "out"): other} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	c := start(t, setup{config: "model: {provider: local}\n"})
	c.call("initialize", map[string]any{"protocolVersion": 1})
	f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": nil, "additionalDirectories": []string{link}})
	var opened struct{ SessionID string }
	if json.Unmarshal(f.Result, &opened) != nil || opened.SessionID == "" {
		t.Fatalf("session/new: %+v", f.Error)
	}
	asked := make(chan string, 8)
	c.permit = func(p json.RawMessage) string { asked <- string(p); return "reject_once" }
	for path, inside := range map[string]bool{
		filepath.Join(link, "a"):        true,
		filepath.Join(real, "b"):        true,
		filepath.Join(link, "out", "c"): false,
		filepath.Join(other, "d"):       false,
	} {
		c.prompt(opened.SessionID, tool("write", map[string]any{"file_path": path, "content": "x"}))
		question := <-asked
		if got := strings.Contains(question, "in this workspace"); got != inside {
			t.Errorf("%s: in the workspace %v, want %v: %s", path, got, inside, question)
		}
	}
}
