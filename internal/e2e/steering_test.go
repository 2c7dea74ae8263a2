package e2e

import (
	"strings"
	"testing"
	"time"
)

func TestAPromptGoesIntoTheRunningTurn(t *testing.T) {
	dir := t.TempDir()
	m := newModelServer(t)
	m.hold = make(chan struct{})
	c := start(t, setup{config: m.config(dir, "images: no"), env: []string{"TEST_KEY=k"}})
	s := c.open(nil)
	first := c.request("session/prompt", textPrompt(s, "begin"))
	for m.requests() == 0 {
		time.Sleep(time.Millisecond)
	}
	steer := textPrompt(s, "and mind the gap")
	steer["_meta"] = map[string]any{"dsh/steer": true}
	second := c.request("session/prompt", steer)
	third := c.request("session/prompt", textPrompt(s, "and then"))
	c.call("session/list", map[string]any{}) // everything before it has been read
	m.hold <- struct{}{}
	m.hold <- struct{}{}
	for _, id := range []int{first, second} {
		if f := c.reply(id); stopReason(f) != "end_turn" {
			t.Errorf("%s %+v", f.Result, f.Error)
		}
	}
	if n := m.requests(); n < 2 {
		t.Errorf("%d requests to the model", n)
	}
	m.hold <- struct{}{}
	if f := c.reply(third); stopReason(f) != "end_turn" || m.requests() != 3 || !strings.Contains(m.last(), "and mind the gap") {
		t.Errorf("%s %+v", f.Result, f.Error)
	}
	c.closeInput()

	again := start(t, setup{config: m.config(dir, "images: no"), env: []string{"TEST_KEY=k"}, cwd: c.cwd})
	again.call("initialize", map[string]any{"protocolVersion": 1})
	again.load(s)
	var users []string
	for _, u := range again.updates(s) {
		if u.SessionUpdate == "user_message_chunk" {
			users = append(users, string(u.Content))
		}
	}
	if got := strings.Join(users, "|"); got != `{"type":"text","text":"begin"}|{"type":"text","text":"and mind the gap"}|{"type":"text","text":"and then"}` {
		t.Errorf("the replay shows %s", got)
	}
}
