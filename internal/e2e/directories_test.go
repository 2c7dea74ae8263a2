package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAdditionalDirectories(t *testing.T) {
	dir, lib := t.TempDir(), t.TempDir()
	write(t, filepath.Join(lib, "AGENTS.md"), "Rules of the library.")
	c := start(t, setup{config: withSessions(dir)})
	f := c.call("initialize", map[string]any{"protocolVersion": 1})
	if !strings.Contains(string(f.Result), `"additionalDirectories":{}`) {
		t.Errorf("not advertised: %s", f.Result)
	}
	for name, bad := range map[string]any{
		"relative": []any{"lib"}, "missing": []any{filepath.Join(lib, "gone")}, "a file": []any{filepath.Join(lib, "AGENTS.md")}, "not a list": "x",
	} {
		if f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": nil, "additionalDirectories": bad}); f.Error == nil || f.Error.Code != -32602 || !strings.Contains(f.Error.Message, "additionalDirectories") {
			t.Errorf("%s: %+v %s", name, f.Error, f.Result)
		}
	}
	if f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": nil, "additionalDirectories": nil}); f.Error != nil {
		t.Errorf("null: %+v", f.Error)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(lib, link); err != nil {
		t.Fatal(err)
	}
	f = c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": []any{}, "additionalDirectories": []any{lib + "/", link, c.cwd}})
	var made struct{ SessionID string }
	if f.Error != nil || json.Unmarshal(f.Result, &made) != nil {
		t.Fatalf("%+v", f.Error)
	}
	listed := func() []string {
		t.Helper()
		f := c.call("session/list", map[string]any{"cwd": c.cwd})
		var r struct {
			Sessions []struct {
				SessionID             string
				AdditionalDirectories []string
			}
		}
		if f.Error != nil || json.Unmarshal(f.Result, &r) != nil {
			t.Fatalf("%+v", f.Error)
		}
		for _, s := range r.Sessions {
			if s.SessionID == made.SessionID {
				return s.AdditionalDirectories
			}
		}
		t.Fatalf("not listed: %s", f.Result)
		return nil
	}
	c.prompt(made.SessionID, tool("read", map[string]any{"file_path": filepath.Join(lib, "AGENTS.md")}))
	if got := listed(); !slices.Equal(got, []string{lib}) {
		t.Errorf("listed with %q", got)
	}
	log, err := os.ReadFile(filepath.Join(dir, made.SessionID, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "Rules of the library.") || !strings.Contains(string(log), "Also part of the workspace") {
		t.Error("the model was not told of the additional directory")
	}
	// A loaded session has the directories that the request names, and no others.
	c.call("session/close", map[string]any{"sessionId": made.SessionID})
	if got := listed(); !slices.Equal(got, []string{lib}) {
		t.Errorf("stored with %q", got)
	}
	c.load(made.SessionID)
	if got := listed(); len(got) != 0 {
		t.Errorf("loaded without, listed with %q", got)
	}
}
