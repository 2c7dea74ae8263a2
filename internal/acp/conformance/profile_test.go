package conformance

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPromptTemplates(t *testing.T) {
	p := Profile{Prompts: map[Purpose]string{Command: `run {command} as "{command:json}" {other}`}}
	if got := p.prompt(Command, map[string]string{"command": "echo \"a\"\n"}); got != "run echo \"a\"\n as \"echo \\\"a\\\"\\n\" {other}" {
		t.Errorf("%q", got)
	}
	if !p.has(Hello) || p.has(Edit) || p.prompt(Hello, nil) == "" {
		t.Error("hello needs no template, everything else does")
	}
}

func TestProfileFromFlags(t *testing.T) {
	p, err := FromFlags(Profile{}, []string{"echo=say {text}=x"}, []string{"=--home {home} URL={model} --a=b", "no-key=--no-key"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Prompts[Echo] != "say {text}=x" {
		t.Errorf("%q", p.Prompts[Echo])
	}
	l, err := p.launch(LaunchRequest{Home: "/h", ModelURL: "http://m"})
	if err != nil || !slices.Equal(l.Args, []string{"--home", "/h", "--a=b"}) || !slices.Equal(l.Env, []string{"URL=http://m"}) {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := p.launch(LaunchRequest{Variant: NoKey}); err != nil || l.Args[0] != "--no-key" {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := p.launch(LaunchRequest{Variant: FewSteps}); !errors.Is(err, ErrNoVariant) {
		t.Error(err)
	}
	for _, bad := range [][2][]string{{{"ech=x"}, nil}, {{"echo"}, nil}, {nil, {"few=x"}}, {nil, {"few-steps"}}} {
		if _, err := FromFlags(Profile{}, bad[0], bad[1]); err == nil || !strings.HasPrefix(err.Error(), "--") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// The scripted model's programs: which lines are due in which answer.
func TestModelPrograms(t *testing.T) {
	msg := func(role, text string) chatMessage { return chatMessage{role, []byte(`"` + text + `"`)} }
	for _, c := range []struct {
		name     string
		messages []chatMessage
		want     string
	}{
		{"first answer", []chatMessage{msg("user", `!call a {}\n!then\n!say b`)}, "!call a {}"},
		{"second answer", []chatMessage{msg("user", `!call a {}\n!then\n!say b`), msg("assistant", ""), msg("tool", "r")}, "!say b"},
		{"after the last", []chatMessage{msg("user", `!call a {}`), msg("assistant", ""), msg("tool", "r")}, "!say Done."},
		{"what comes behind the prompt", []chatMessage{msg("user", `!say x`), msg("user", "<context>")}, "!say x"},
		{"two prompts in one", []chatMessage{msg("user", `!new\n!slow 3\n!new\n!say x`)}, "!new,!say x"},
		{"without end", []chatMessage{msg("user", `!loop a {}`), msg("assistant", ""), msg("assistant", "")}, "!call a {}"},
		{"none", []chatMessage{msg("user", "hi")}, ""},
	} {
		if due, _ := program(c.messages); strings.Join(due, ",") != c.want {
			t.Errorf("%s: %v, want %s", c.name, due, c.want)
		}
	}
	parts := chatMessage{"user", []byte(`[{"type":"text","text":"The word is x."},{"type":"text","text":"\n!recall"}]`)}
	if _, earlier := program([]chatMessage{msg("user", "The word is x."), msg("assistant", "ok"), parts}); !strings.Contains(earlier, "The word is x.") {
		t.Errorf("earlier: %q", earlier)
	}
}
