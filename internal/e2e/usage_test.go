package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func usages(c *client, session string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, f := range c.frames {
		if u, id := updateOf(f); id == session && u.SessionUpdate == "usage_update" {
			out = append(out, string(f.Params))
		}
	}
	return out
}

func TestUsageAndCost(t *testing.T) {
	dir := t.TempDir()
	m := newModelServer(t)
	config := m.config(dir, "images: no, context_window: 8000, currency: EUR, prices: {seer: {input: 1, cached: 0.1, output: 2}}")
	c := start(t, setup{config: config, env: []string{"TEST_KEY=k"}})
	s := c.open(nil)
	c.prompt(s, "one")
	c.prompt(s, "two")
	got := usages(c, s)
	c.prompt(s, "/status")
	if said := c.message(s); !strings.Contains(said, "- Context: 1230 of 8000 tokens (15 %)\n- Cost so far: 0.0007 EUR\n") {
		t.Error(said)
	}
	if len(got) != 2 || !strings.Contains(got[0], `"used":1230,"size":8000,"cost":{"amount":0.00036,"currency":"EUR"}`) || !strings.Contains(got[1], `"used":1230,"size":8000,"cost":{"amount":0.00072,"currency":"EUR"}`) {
		t.Errorf("%s", got)
	}
	c.closeInput()

	// A session that is opened again says so once.
	for _, method := range []string{"session/load", "session/resume"} {
		again := start(t, setup{config: config, env: []string{"TEST_KEY=k"}, cwd: c.cwd})
		again.call("initialize", map[string]any{"protocolVersion": 1})
		again.call(method, map[string]any{"sessionId": s, "cwd": c.cwd, "mcpServers": []any{}})
		again.wait("the usage", func([]frame) bool { return strings.Contains(dump(again.frames), "usage_update") })
		if got := usages(again, s); len(got) != 1 || !strings.Contains(got[0], `"amount":0.00072`) {
			t.Errorf("%s: %s", method, got)
		}
		again.closeInput()
	}
	out, err := exec.Command(bin, "replay", filepath.Join(dir, s, "events.jsonl")).Output()
	if err != nil || strings.Count(string(out), "usage_update") != 1 {
		t.Errorf("dsh-acp replay: %v\n%s", err, out)
	}
}

func TestNoUsageWithoutAKnownSize(t *testing.T) {
	m := newModelServer(t)
	c := start(t, setup{config: m.config(t.TempDir(), "images: no"), env: []string{"TEST_KEY=k"}})
	s := c.open(nil)
	c.prompt(s, "one")
	if got := usages(c, s); len(got) != 0 {
		t.Errorf("%s", got)
	}
}
