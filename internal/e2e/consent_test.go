package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/mcp/mcptest"
)

// bringing is a workspace that brings a server and a hook, and the folder of the
// sessions.
type bringing struct {
	t             *testing.T
	cwd, sessions string
}

func newBringing(t *testing.T) *bringing {
	b := &bringing{t: t, cwd: t.TempDir(), sessions: filepath.Join(t.TempDir(), "sessions")}
	b.servers("ok")
	b.hook("touch hooked")
	return b
}

func (b *bringing) servers(role string) {
	b.t.Helper()
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"brought": map[string]any{
		"command": os.Args[0], "args": []string{"two words"}, "env": map[string]any{mcptest.RoleVariable: role},
	}}})
	write(b.t, filepath.Join(b.cwd, ".mcp.json"), string(text))
}

func (b *bringing) hook(command string) {
	b.t.Helper()
	dir := filepath.Join(b.cwd, ".claude")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	write(b.t, filepath.Join(dir, "settings.json"), hookFile(b.t, "UserPromptSubmit", "", command))
}

// consented is an editor that answers the questions of consent in its own way.
type consented struct {
	*client
	mu    sync.Mutex
	asked []string
}

func (a *consented) questions() []string { a.mu.Lock(); defer a.mu.Unlock(); return a.asked }

// start starts an agent there; more is added to the configuration.
func (b *bringing) start(answer, more string) *consented {
	b.t.Helper()
	if !strings.Contains(more, "limits:") {
		more += slowServers
	}
	a := &consented{client: start(b.t, setup{cwd: b.cwd, config: "model:\n  provider: local\nsessions: {dir: " + b.sessions + "}\n" + more})}
	a.permit = func(p json.RawMessage) string {
		if !strings.Contains(string(p), `"optionId":"allow-content"`) {
			return "allow_once" // a call
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = append(a.asked, string(p))
		return answer
	}
	return a
}

// ran says what of it runs at this prompt.
func (b *bringing) ran(a *consented, session string) string {
	b.t.Helper()
	_ = os.Remove(filepath.Join(b.cwd, "hooked"))
	if stop := a.prompt(session, tool("mcp__brought__echo", map[string]any{})); stop != "end_turn" {
		b.t.Errorf("the turn ended %s", stop)
	}
	out := ""
	if a.last(session).Status == "completed" {
		out += "server "
	}
	if _, err := os.Stat(filepath.Join(b.cwd, "hooked")); err == nil {
		out += "hook"
	}
	return strings.TrimSpace(out)
}

// The person is asked about what the workspace brings at the first prompt, sees
// what would run, and the answer holds for this content as long as it says.
func TestTheEditorAsksAboutWhatTheWorkspaceBrings(t *testing.T) {
	for _, tt := range []struct {
		name, answer, more string
		now, card, said    string // what runs, how the cards end
		again              int    // questions in the next session
	}{
		{name: "yes", answer: "allow_always", now: "server hook", card: "completed", said: "Allowed, as it is now."},
		{name: "not now", answer: "reject_once", card: "failed", said: "Not now", again: 2},
		{name: "never", answer: "reject_always", card: "failed", said: "Never: "},
		{name: "dismissed", answer: "cancelled", card: "failed", said: "Not now", again: 2},
		{name: "an error", answer: "error", card: "failed", said: "Not now", again: 2},
		{name: "an answer that was not offered", answer: "allow_once", card: "failed", said: "Not now", again: 2},
		{name: "no answer", answer: "", more: "limits: {question_timeout: 100ms}\n", card: "failed", said: "Not now", again: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBringing(t)
			a := b.start(tt.answer, tt.more)
			s := a.open(nil)
			if n := len(a.questions()); n != 0 {
				t.Errorf("session/new asked %d questions", n)
			}
			if got := b.ran(a, s); got != tt.now {
				t.Errorf("at the first prompt %q ran, want %q", got, tt.now)
			}
			asked := a.questions()
			if len(asked) != 2 {
				t.Fatalf("%d questions: %s", len(asked), asked)
			}
			for i, want := range [][]string{
				{`"title":"Start the MCP servers of this workspace?"`, "brought: " + os.Args[0] + ` 'two words'\n  ` + mcptest.RoleVariable + " = ok", "/.mcp.json"},
				{`"title":"Run the hooks of this workspace?"`, "UserPromptSubmit: touch hooked", "/.claude/settings.json"},
			} {
				unfolded := strings.ReplaceAll(asked[i], `\n  ↳ `, "")
				for _, w := range want {
					if !strings.Contains(unfolded, w) {
						t.Errorf("question %d does not show %s: %s", i, w, asked[i])
					}
				}
			}
			cards := a.calls(s)
			for _, c := range cards[:2] {
				if c.Status != tt.card || !strings.Contains(string(c.Content), tt.said) || !strings.Contains(string(c.Content), "brought") && !strings.Contains(string(c.Content), "touch hooked") {
					t.Errorf("a card ends %s: %s", c.Status, c.Content)
				}
			}
			// The second prompt of the session asks nothing.
			if got := b.ran(a, s); got != tt.now || len(a.questions()) != 2 {
				t.Errorf("at the second prompt %q ran, after %d questions", got, len(a.questions()))
			}
			live, _ := json.Marshal(a.calls(s))
			if code, _ := a.closeInput(); code != 0 {
				t.Errorf("exit code %d", code)
			}

			// What a new process shows is what was shown, and it asks only what is open.
			a = b.start(tt.answer, tt.more)
			if f := a.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}); f.Error != nil {
				t.Fatal(f.Error.Message)
			}
			if f := a.call("session/load", map[string]any{"sessionId": s, "cwd": b.cwd, "mcpServers": []any{}}); f.Error != nil {
				t.Fatal(f.Error.Message)
			}
			if again, _ := json.Marshal(a.calls(s)); string(again) != string(live) {
				t.Errorf("live  %s\nagain %s", live, again)
			}
			s = a.newSession()
			if got := b.ran(a, s); got != tt.now || len(a.questions()) != tt.again {
				t.Errorf("in the next session %q ran, after %d questions", got, len(a.questions()))
			}
			a.closeInput()

			// Other content is asked about, whatever was said about the old.
			b.servers("silent-stderr")
			b.hook("touch hooked; true")
			a = b.start("reject_once", "")
			s = a.open(nil)
			if got := b.ran(a, s); got != "" || len(a.questions()) != 2 {
				t.Errorf("changed content: %q ran, after %d questions", got, len(a.questions()))
			}
		})
	}
}

// Where nothing is ever asked, the first prompt asks nothing either.
func TestFullAccessAsksNothingAboutTheWorkspace(t *testing.T) {
	b := newBringing(t)
	a := b.start("allow_always", "permissions:\n  preset: danger-full-access\n")
	s := a.open(nil)
	if got := b.ran(a, s); got != "" || len(a.questions()) != 0 {
		t.Errorf("%q ran, after %d questions", got, len(a.questions()))
	}
	// Who says the command wants to be asked.
	a.prompt(s, "/permissions workspace")
	if got := b.ran(a, s); got != "server hook" || len(a.questions()) != 2 {
		t.Errorf("%q runs after %d questions: %s", got, len(a.questions()), a.message(s))
	}
}

// A slash command comes back to what was answered.
func TestPermissionsComeBackToTheWorkspace(t *testing.T) {
	b := newBringing(t)
	a := b.start("reject_always", "")
	s := a.open(nil)
	b.ran(a, s)
	a.prompt(s, "/permissions")
	for _, want := range []string{"`/permissions workspace`", "- .mcp.json: never runs, as you said", "- .claude/settings.json: never runs", "UserPromptSubmit: touch hooked"} {
		if !strings.Contains(a.message(s), want) {
			t.Errorf("/permissions does not say %q: %s", want, a.message(s))
		}
	}
	a.closeInput()
	a = b.start("allow_always", "")
	s = a.open(nil)
	if got := b.ran(a, s); got != "" || len(a.questions()) != 0 {
		t.Errorf("%q ran, after %d questions", got, len(a.questions()))
	}
	a.prompt(s, "/permissions workspace")
	if !strings.Contains(a.message(s), "allowed, as they are now.\n") {
		t.Errorf("%s", a.message(s))
	}
	if got := b.ran(a, s); got != "server hook" || len(a.questions()) != 2 {
		t.Errorf("%q runs after %d questions", got, len(a.questions()))
	}
	a.prompt(s, "/permissions workspace")
	if !strings.HasSuffix(a.message(s), "The workspace brings nothing that waits for your consent.") || len(a.questions()) != 2 {
		t.Errorf("%s", a.message(s))
	}
	// What changes under a session that runs it counts from the next one on.
	b.hook("touch hooked; false")
	a.prompt(s, "/permissions")
	if !strings.Contains(a.message(s), "- .claude/settings.json: is not allowed as it is now") {
		t.Errorf("%s", a.message(s))
	}
	a.prompt(s, "/permissions workspace")
	if !strings.Contains(a.message(s), "they run from the next session on") || len(a.questions()) != 3 {
		t.Errorf("%s", a.message(s))
	}
}

// What is too long to be read in a card is not asked about.
func TestNobodyIsAskedAboutWhatIsTooLong(t *testing.T) {
	b := newBringing(t)
	b.hook("touch hooked #" + strings.Repeat("long ", 5000))
	a := b.start("allow_always", "")
	s := a.open(nil)
	if got := b.ran(a, s); got != "server" || len(a.questions()) != 1 {
		t.Errorf("%q ran, after %d questions", got, len(a.questions()))
	}
	for _, command := range []string{"/permissions", "/permissions workspace"} {
		before := len(a.message(s))
		a.prompt(s, command)
		if text := a.message(s)[before:]; !strings.Contains(text, "too long to be shown here; read the file, then run `dsh-acp hooks --allow`") || strings.Contains(text, "long long") {
			t.Errorf("%s: %s", command, text)
		}
	}
	if n := len(a.questions()); n != 1 {
		t.Errorf("%d questions", n)
	}
}

// A turn that is cancelled while it asks runs nothing and asks no further, and a
// program that dies while it asks leaves a card that has ended.
func TestNobodyIsThereToAnswerForTheWorkspace(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", kill), func(t *testing.T) {
			b := newBringing(t)
			a := b.start("", "")
			s := a.open(nil)
			id := a.request("session/prompt", textPrompt(s, tool("mcp__brought__echo", map[string]any{})))
			waitUntil(t, "the question", func() bool { return len(a.questions()) > 0 })
			if kill {
				a.kill()
				a = b.start("", "")
				if f := a.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}); f.Error != nil {
					t.Fatal(f.Error.Message)
				}
				if f := a.call("session/load", map[string]any{"sessionId": s, "cwd": b.cwd, "mcpServers": []any{}}); f.Error != nil {
					t.Fatal(f.Error.Message)
				}
			} else {
				a.notify("session/cancel", map[string]any{"sessionId": s})
				if stop := stopReason(a.reply(id)); stop != "cancelled" {
					t.Error(stop)
				}
				if n := len(a.questions()); n != 1 {
					t.Errorf("%d questions", n)
				}
			}
			if cards := a.calls(s); len(cards) != 1 || cards[0].Status != "failed" || !strings.Contains(string(cards[0].Content), "Not now") {
				t.Errorf("%+v", cards)
			}
			if _, err := os.Stat(filepath.Join(b.cwd, "hooked")); err == nil {
				t.Error("the hook ran")
			}
		})
	}
}
