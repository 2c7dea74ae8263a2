package hooks

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMatchers(t *testing.T) {
	for _, tt := range []struct {
		matcher, tool, as string // as "" means no match
	}{
		{"", "bash", "bash"},
		{"*", "mcp__a__b", "mcp__a__b"},
		{"bash", "bash", "bash"},
		{"bash", "bash_output", ""},
		{"Bash", "bash", "Bash"},
		{"BASH", "bash", ""},
		{"Edit|Write", "write", "Write"},
		{"Edit|Write", "edit", "Edit"},
		{"Edit|Write", "read", ""},
		{"MultiEdit", "edit", "MultiEdit"},
		{"edit|Edit", "edit", "edit"},
		{"Task", "subagent", "Task"},
		{"mcp__.*__write.*", "mcp__fs__write_file", "mcp__fs__write_file"},
		{"mcp__.*__write", "mcp__fs__write_file", "mcp__fs__write_file"}, // anywhere in the name
		{"^Notebook", "read", ""},
		{"^(read|write)$", "write", "write"},
		{"web.*", "web_fetch", "web_fetch"},
		{"Web.*", "web_fetch", "WebFetch"},
		{"|", "bash", ""},
	} {
		m, err := compileMatcher(tt.matcher)
		if err != nil {
			t.Errorf("%q: %v", tt.matcher, err)
			continue
		}
		as, ok := m.matchTool(tt.tool)
		if as != tt.as || ok != (tt.as != "") {
			t.Errorf("%q takes %s as %q, %v; wanted %q", tt.matcher, tt.tool, as, ok, tt.as)
		}
	}
	for _, bad := range []string{"(", "[", "*bash", "(?!x)y", strings.Repeat("(", 2000)} {
		if _, err := compileMatcher(bad); err == nil {
			t.Errorf("%.20q compiles", bad)
		}
	}
}

func TestParse(t *testing.T) {
	one := `{"type":"command","command":"x"}`
	for _, tt := range []struct {
		name, text string
		commands   []string
		problems   []string // each a part of one, in order
		fails      string
	}{
		{name: "nothing", text: `{}`},
		{name: "a settings file", text: `{"model":"m","permissions":{},"hooks":{"Stop":[{"hooks":[` + one + `]}]}}`, commands: []string{"Stop: x"}},
		{
			name: "all points", text: `{"hooks":{"Stop":[{"hooks":[` + one + `]}],"PreToolUse":[{"matcher":"a|b","hooks":[` + one + `]}],"PostToolUse":[{"matcher":"","hooks":[` + one + `]}],"UserPromptSubmit":[{"hooks":[` + one + `]}],"SessionStart":[{"matcher":"resume","hooks":[` + one + `]}]}}`,
			commands: []string{"SessionStart resume: x", "UserPromptSubmit: x", "PreToolUse a|b: x", "PostToolUse: x", "Stop: x"},
		},
		{name: "a matcher where none is used", text: `{"hooks":{"Stop":[{"matcher":"(","hooks":[` + one + `]}]}}`, commands: []string{"Stop: x"}},
		{name: "an unknown point", text: `{"hooks":{"PreCompact":[{"hooks":[` + one + `]}]}}`, problems: []string{`"PreCompact"`}},
		{
			name: "a bad matcher leaves the rest", text: `{"hooks":{"PreToolUse":[{"matcher":"(","hooks":[` + one + `]},{"matcher":"bash","hooks":[` + one + `]}]}}`,
			commands: []string{"PreToolUse bash: x"}, problems: []string{`PreToolUse[0] is not run: its matcher "("`},
		},
		{name: "a matcher that is no text", text: `{"hooks":{"PreToolUse":[{"matcher":3,"hooks":[` + one + `]}]}}`, problems: []string{"its matcher is not text"}},
		{
			name: "parts of the wrong shape", text: `{"hooks":{"Stop":3,"PreToolUse":[4,{"hooks":5},{},{"hooks":[6,{},{"type":"prompt","prompt":"?"},{"type":"command"},{"type":"command","command":"  "},{"type":"command","command":"a\u0000b"}]}]}}`,
			problems: []string{"not a list", "PreToolUse[0] is not run: it is not an object", `no list "hooks"`, `no list "hooks"`, "not an object", `type is not "command" but ""`, `but "prompt"`, "no command", "no command", "NUL"},
		},
		{
			name: "what narrows is reported", text: `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x","if":"Bash(rm *)","async":true,"once":false}]}]}}`,
			commands: []string{"PreToolUse: x"}, problems: []string{`"if" has no effect`, `"async" has no effect`},
		},
		{
			name: "bad timeouts", text: `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":-1},{"type":"command","command":"y","timeout":"9"}]}]}}`,
			commands: []string{"Stop: x", "Stop: y"}, problems: []string{"not a positive number", "not a positive number"},
		},
		{
			name: "points outside of hooks", text: `{"PreToolUse":[{"hooks":[` + one + `]}],"Nothing":1,"Stop":[]}`,
			problems: []string{`PreToolUse are not run: they have to be inside of the member "hooks"`, "Stop are not run"},
		},
		{name: "no JSON", text: `hooks:`, fails: "is not JSON"},
		{name: "nothing at all", text: ``, fails: "is not JSON"},
		{name: "twice the same key", text: `{"hooks":{},"hooks":{}}`, fails: "is not JSON"},
		{name: "a list", text: `[]`, fails: "not a JSON object"},
		{name: "hooks is a list", text: `{"hooks":[]}`, fails: "is not an object"},
		{name: "too long", text: `{"x":"` + strings.Repeat("a", MaxFile) + `"}`, fails: "longer than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse(Claude, "h.json", []byte(tt.text))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || !strings.Contains(err.Error(), "h.json") {
					t.Errorf("%v, wanted %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Commands(); !slices.Equal(got, tt.commands) || f.Len() != len(tt.commands) {
				t.Errorf("%d commands %q, wanted %q", f.Len(), got, tt.commands)
			}
			if len(f.Problems) != len(tt.problems) {
				t.Fatalf("problems %q, wanted %d", f.Problems, len(tt.problems))
			}
			for i, want := range tt.problems {
				if !strings.Contains(f.Problems[i], want) {
					t.Errorf("problem %d is %q, wanted %q", i, f.Problems[i], want)
				}
			}
		})
	}
}

func TestTimeoutsOfAFile(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{}`:                               DefaultTimeout,
		`{"timeout":5}`:                    5 * time.Second,
		`{"timeout":0.25}`:                 250 * time.Millisecond,
		`{"timeoutSec":7}`:                 7 * time.Second,
		`{"timeout":1e300}`:                MaxTimeout,
		`{"timeout":1e-300}`:               time.Millisecond,
		`{"timeout":0}`:                    DefaultTimeout,
		`{"timeout":null}`:                 DefaultTimeout,
		`{"timeout":600.5,"timeoutSec":1}`: time.Second,
	} {
		text = strings.Replace(text, "{", `{"type":"command","command":"x",`, 1)
		text = strings.Replace(text, ",}", "}", 1)
		f, err := Parse(Codex, "h", []byte(`{"hooks":{"Stop":[{"hooks":[`+text+`]}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.groups[Stop][0].handlers[0].timeout; got != want {
			t.Errorf("%s: %s, wanted %s", text, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"0123456789", 10, "0123456789"},
		{"0123456789abcdefgh", 14, "01234567 […]"},
		{"0123456äxxxxxxxxxx", 14, "0123456 […]"},
		{"a\xffb", 20, "a\uFFFDb"},
	} {
		got := clip(tt.s, tt.n)
		if len(got) > tt.n || got != tt.want {
			t.Errorf("clip(%q, %d) = %q (%d bytes), wanted %q", tt.s, tt.n, got, len(got), tt.want)
		}
	}
}
