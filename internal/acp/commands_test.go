package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

func (h *harness) prompt(session, text string) map[string]json.RawMessage {
	h.t.Helper()
	return h.call("session/prompt", promptOf(session, text))
}

func promptOf(session, text string) string {
	b, _ := json.Marshal(map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}})
	return string(b)
}

// said is the text of the agent's messages so far, message by message.
func (h *harness) said() []string {
	var out []string
	last := ""
	for _, u := range h.updates("agent_message_chunk") {
		var c struct {
			MessageID string
			Content   struct{ Text string }
		}
		_ = json.Unmarshal([]byte(u), &c)
		if c.MessageID != last || len(out) == 0 {
			out = append(out, "")
		}
		last = c.MessageID
		out[len(out)-1] += c.Content.Text
	}
	return out
}

type withCommands struct{ *backend }

func (withCommands) SessionCommands(*agent.Session) []Command {
	return []Command{
		{model.Command{Name: "own", Description: "d"}, func(_ context.Context, _ *agent.Session, args string) (CommandAnswer, error) {
			return CommandAnswer{Text: "own" + args}, nil
		}},
		{model.Command{Name: "fails", Description: "d"}, func(context.Context, *agent.Session, string) (CommandAnswer, error) {
			return CommandAnswer{}, errors.New("it is broken: mend it")
		}},
		{model.Command{Name: "waits", Description: "d"}, func(ctx context.Context, _ *agent.Session, _ string) (CommandAnswer, error) {
			<-ctx.Done()
			return CommandAnswer{}, ctx.Err()
		}},
		{model.Command{Name: "plan", Description: "not this one"}, nil},
	}
}

func TestCommandsOfTheBackend(t *testing.T) {
	h := newHarness(t, `{}`)
	h.server.opt.Backend = withCommands{h.backend}
	h.backend.commands = []model.Command{{Name: "own", Description: "of the model"}, {Name: "say", Description: "of the model"}}
	s := h.open()
	h.wait("the commands", func() bool { return len(h.updatesLocked("available_commands_update")) == 1 })
	var list struct {
		AvailableCommands []struct{ Name, Description string }
	}
	_ = json.Unmarshal([]byte(h.updates("available_commands_update")[0]), &list)
	var names []string
	for _, c := range list.AvailableCommands {
		names = append(names, c.Name)
		if (c.Name == "own" && c.Description != "d") || (c.Name == "plan" && c.Description == "not this one") {
			t.Errorf("the wrong %s counts", c.Name)
		}
	}
	if want := []string{"plan", "permissions", "model", "tools", "status", "compact", "own", "fails", "waits", "say"}; !slices.Equal(names, want) {
		t.Errorf("advertised %q", names)
	}
	for prompt, want := range map[string]string{
		"/own  x y": "own  x y", "/fails": "Error: it is broken: mend it", "/unknown": "ok", "/owned": "ok", "say /own": "ok",
	} {
		if f := h.prompt(s, prompt); string(f["result"]) != `{"stopReason":"end_turn"}` {
			t.Errorf("%s: %s %s", prompt, f["result"], f["error"])
		}
		if got := h.said(); got[len(got)-1] != want {
			t.Errorf("%s says %q", prompt, got)
		}
	}
	id := h.request("session/prompt", promptOf(s, "/waits"))
	h.notify("session/cancel", `{"sessionId":"`+s+`"}`)
	if f := h.reply(id); string(f["result"]) != `{"stopReason":"cancelled"}` {
		t.Errorf("a cancelled command: %s %s", f["result"], f["error"])
	}
}

func TestModelCommand(t *testing.T) {
	h := newHarness(t, `{}`)
	h.backend.model.models = []model.Info{
		{ID: "m", Name: "Em", ContextWindow: 128000}, {ID: "big-model", Images: true, ContextWindow: 1_048_576}, {ID: "big-models"}, {ID: "think", Efforts: []string{"low", "high"}},
	}
	s := h.open()
	ask := func(prompt string) string {
		t.Helper()
		h.prompt(s, prompt)
		got := h.said()
		return got[len(got)-1]
	}
	if got := ask("/model"); !strings.Contains(got, "- `test/m`, 128k tokens (current)\n") || !strings.Contains(got, "- `test/big-model`, 1M tokens, takes images\n") {
		t.Errorf("the list: %s", got)
	}
	if got := ask("/model nonsense"); got != `Error: no model is called "nonsense"; /model lists them` {
		t.Error(got)
	}
	if got := ask("/model BIG"); !strings.Contains(got, `"BIG" could be test/big-model, test/big-models: say more`) {
		t.Error(got)
	}
	if n := len(h.updates("config_option_update")); n != 0 {
		t.Errorf("%d updates of options though nothing changed", n)
	}
	if got := ask("/model Big-Model"); got != "The model is now test/big-model (applies from the next step)." {
		t.Error(got)
	}
	if got := h.updates("config_option_update"); len(got) != 1 || !strings.Contains(got[0], `"currentValue":"[\"test\",\"big-model\"]"`) {
		t.Errorf("the client was told %s", got)
	}
	h.prompt(s, "hello")
	if got := h.backend.model.requests[0].Model; got != "big-model" {
		t.Errorf("asked %q", got)
	}
	ask("/model thi")
	if got := h.updates("config_option_update"); len(got) != 2 || !strings.Contains(got[1], "thought_level") {
		t.Errorf("the thought levels of the new model are not told: %s", got)
	}
}

func TestStatusAndToolsCommands(t *testing.T) {
	h := newHarness(t, `{}`)
	s := h.open()
	h.prompt(s, "/plan")
	if n, m := len(h.updates("current_mode_update")), len(h.updates("config_option_update")); n != 1 || m != 1 {
		t.Errorf("%d mode and %d option updates after /plan", n, m)
	}
	h.prompt(s, "/status")
	got := h.said()
	status := got[len(got)-1]
	for _, want := range []string{"- Model: `test/m`\n", "- Mode: `plan`\n", "- Working directory: `" + h.backend.params.Cwd + "`\n", "- Session: `" + s + "`"} {
		if !strings.Contains(status, want) {
			t.Errorf("%q is missing in %s", want, status)
		}
	}
	h.prompt(s, "/tools")
	got = h.said()
	if tools := got[len(got)-1]; !strings.HasPrefix(tools, "0 tools, offered in the mode `native`") {
		t.Error(tools)
	}
	if len(h.backend.model.requests) != 0 {
		t.Error("a command asked the model")
	}
}

// What a command said is shown again as it was, and no model reads it.
func TestCommandsAreReplayed(t *testing.T) {
	h := newHarness(t, `{}`)
	s := h.open()
	h.prompt(s, "/status")
	h.prompt(s, "/plan\tmake it so")
	h.prompt(s, "thanks")
	live := h.said()
	l, perr := h.server.session(s)
	if perr != nil {
		t.Fatal(perr)
	}
	opt := l.cards
	opt.UserMessages = true
	proj := cards.NewProjector(agent.ScopePresenters{Scope: l.agent.Scope()}, opt)
	var users, agents []string
	last := ""
	for _, ev := range l.agent.Log().Events() {
		for _, u := range proj.Project(agent.CardEvent(ev)) {
			m, ok := u.(cards.Message)
			if !ok {
				continue
			}
			text, _ := m.Block.Text()
			if m.Role == cards.RoleUser {
				users = append(users, text)
				continue
			}
			if m.ID != last {
				agents = append(agents, "")
			}
			last = m.ID
			agents[len(agents)-1] += text
		}
	}
	if !slices.Equal(agents, live) {
		t.Errorf("live\n%q\nreplayed\n%q", live, agents)
	}
	if want := []string{"/status", "/plan\tmake it so", "thanks"}; !slices.Equal(users, want) {
		t.Errorf("the user's words: %q", users)
	}
	first := h.backend.model.requests[0]
	if len(first.Messages) != 1 || first.Messages[0].Text() != "make it so" {
		t.Errorf("the model was sent %+v", first.Messages)
	}
}

func FuzzSplitCommand(f *testing.F) {
	for _, s := range []string{"/plan off", "/", "//x", " /x", "/a\tb", "/ü x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		name, args, ok := splitCommand(prompt)
		if ok != strings.HasPrefix(prompt, "/") || ok && "/"+name+args != prompt || strings.ContainsAny(name, " \t\r\n") {
			t.Errorf("%q: %q %q %v", prompt, name, args, ok)
		}
	})
}
