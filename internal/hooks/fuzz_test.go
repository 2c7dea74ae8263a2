package hooks

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"command","command":"exit 2","timeout":5}]}]}}`))
	f.Add([]byte(`{"hooks":{"SessionStart":[{"matcher":"(","hooks":[]}],"Other":[],"Stop":{}}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(Claude, "h.json", text)
		if err != nil {
			return
		}
		if file.Len() != len(file.Commands()) {
			t.Fatalf("%d handlers, %d commands", file.Len(), len(file.Commands()))
		}
		for p, gs := range file.groups {
			for _, g := range gs {
				g.matcher.matchTool("bash")
				for _, h := range g.handlers {
					if !p.known() || h.command == "" || h.timeout <= 0 || h.timeout > MaxTimeout {
						t.Fatalf("%s: %+v", p, h)
					}
				}
			}
		}
	})
}

// Whatever a hook prints: only a valid object lets a call pass that has JSON
// about it, and what leaves is bounded text.
func FuzzOutput(f *testing.F) {
	points := []Point{PreToolUse, PostToolUse, UserPromptSubmit, Stop, SessionStart}
	f.Add(uint8(0), 0, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}`, "")
	f.Add(uint8(1), 0, `{"decision":"block","reason":"r"}`, "")
	f.Add(uint8(2), 0, `{"continue":false}`, "")
	f.Add(uint8(3), 2, "", "more")
	f.Add(uint8(4), 0, "\xff plain", "\x00")
	f.Fuzz(func(t *testing.T, which uint8, exit int, stdout, stderr string) {
		p := points[int(which)%len(points)]
		v := judge(p, answer{exit: exit, stdout: stdout, stderr: stderr})
		for _, s := range []string{v.reason, v.context, v.notice} {
			if len(s) > MaxText || !utf8.ValidString(s) {
				t.Fatalf("unbounded or invalid text: %d bytes", len(s))
			}
		}
		if v.kind == block && v.reason == "" {
			t.Fatal("a no without a reason")
		}
		if v.kind == ask && p != PreToolUse {
			t.Fatal("a question where nothing can be asked")
		}
		if exit == 2 && p.decides() && v.kind != block {
			t.Fatal("exit 2 did not refuse")
		}
		text := strings.TrimSpace(stdout)
		if exit != 0 || !p.decides() || !strings.HasPrefix(text, "{") || v.kind == block {
			return
		}
		if v.failure != nil {
			t.Fatalf("a failure passed: %v", v.failure)
		}
		if _, err := jsonvalue.ParseString(text); err != nil {
			t.Fatalf("broken JSON passed: %v", err)
		}
	})
}
