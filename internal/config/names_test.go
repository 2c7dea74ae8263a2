package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is misspelled in a list of names has no effect, and says so.
func TestNamesThatAreNothingWarn(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"cache", "other"} {
		if err := os.Mkdir(filepath.Join(w.work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(filepath.Join(w.work, "file"), "")
	w.write(w.userFile, "sandbox:\n  writable:\n"+
		"    - "+w.work+"/cache\n"+
		"    - "+w.work+"/cahce\n"+
		"    - "+w.work+"/nothing-like-it\n"+
		"    - "+w.work+"/file\n"+
		"    - /\n"+
		"agents:\n  tools: [read, \"g*\", mcp__x__y, grpe, \"[rw]*\",\n    frobnicate]\n")
	c := w.load(Flags{})
	var got []string
	for _, x := range c.Warnings {
		got = append(got, strings.TrimPrefix(x.String(), w.userFile))
	}
	want := []string{
		":4: sandbox.writable: there is no folder " + w.work + "/cahce, so nothing becomes writable until there is; did you mean " + w.work + "/cache?",
		":5: sandbox.writable: there is no folder " + w.work + "/nothing-like-it, so nothing becomes writable until there is",
		":6: sandbox.writable: " + w.work + "/file is not a folder, so it does not become writable",
		":7: sandbox.writable: the whole file system does not become writable; name the folders that are needed",
		`:9: agents.tools: no tool is called "grpe"; did you mean "grep"?`,
		`:10: agents.tools: no tool of this program is called "frobnicate", so subagents do not get one by it; its tools are ` + strings.Join(ToolNames, ", "),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if len(c.Sandbox.Writable) != 5 || len(c.Agents.Tools) != 6 {
		t.Errorf("%q %q", c.Sandbox.Writable, c.Agents.Tools)
	}
}
