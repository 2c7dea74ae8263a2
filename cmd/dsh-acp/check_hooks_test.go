package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFolder runs a command with a configuration in a folder with these files, and
// gives what it printed.
func inFolder(t *testing.T, config string, files map[string]string, run func(env) error) (string, error) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	for _, v := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(v, home)
	}
	t.Chdir(dir)
	files[filepath.Join(home, "dsh-acp", "config.yaml")] = "model: {provider: local}\n" + config
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := os.Create(filepath.Join(home, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	failed := run(env{stdin: os.Stdin, stdout: out, stderr: &bytes.Buffer{}})
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

const oneHook = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}`

// The check is about the folder that it is run in: what its file restricts, what
// of that has no effect, and what hooks there are, run or not.
func TestCheckIsAboutTheFolder(t *testing.T) {
	for _, c := range []struct {
		name, config string
		files        map[string]string
		want         []string
		fails        bool
	}{
		{"nothing", "", map[string]string{}, []string{"ok    hooks          none", "preset workspace-write"}, false},
		{"restrictions", "sandbox: {network: on}\n", map[string]string{".dsh-acp.yaml": "permissions: {preset: read-only}\nsandbox: {network: off}\nmodel: {provider: openai}\n"}, []string{
			".dsh-acp.yaml\n", "ok    permissions    preset read-only", "note  configuration", "model.provider",
		}, false},
		{"a broken workspace file", "", map[string]string{".dsh-acp.yaml": "permisions: {}\n"}, []string{}, true},
		{"skills", "", map[string]string{
			".dsh/skills/a/SKILL.md": "---\nname: a\ndescription: x\n---\n", ".agents/skills/a/SKILL.md": "---\nname: a\ndescription: y\n---\n", ".dsh/skills/b/SKILL.md": "no",
		}, []string{"ok    skills         1\n", `SKILL.md" cannot be used: `, `.agents/skills/a" is hidden by "`, `both are called "a"`}, false},
		{"an MCP file with parts without effect", "", map[string]string{".mcp.json": `{"server":{},"servers":{"a":{"command":"true","disabled":true}}}`}, []string{
			"note  mcp            .mcp.json: \"servers.a: it is disabled\"", `"server is not read"`,
		}, false},
		{"named hooks", "hooks: {codex: h.json}\n", map[string]string{"h.json": oneHook}, []string{`h.json": 1 named by the configuration`}, false},
		{"named hooks without effect", "hooks: {codex: h.json}\n", map[string]string{"h.json": `{"PreToolUse":[]}`}, []string{`note  hooks`, `inside of the member "hooks"`}, false},
		{"named hooks that refuse every session", "hooks: {codex: h.json}\n", map[string]string{"h.json": "{"}, []string{"FAIL  hooks", "is not JSON", "no session opens here"}, true},
		{"a folder as hooks", "hooks: {claude_code: .}\n", map[string]string{}, []string{"FAIL  hooks"}, true},
		{"hooks of the workspace", "", map[string]string{".claude/settings.json": oneHook}, []string{"note  hooks", "1 of the workspace that are not run", "dsh-acp hooks --allow"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := inFolder(t, c.config, c.files, func(e env) error { return runCheck(t.Context(), e, nil) })
			if (err != nil) != c.fails {
				t.Errorf("%v\n%s", err, out)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestHooksAndServersOfAFolderThatIsNot(t *testing.T) {
	for name, command := range map[string]func(env, string) error{
		"hooks": func(e env, dir string) error { return runHooks(t.Context(), e, []string{dir}) },
		"mcp":   func(e env, dir string) error { return runMCP(t.Context(), e, []string{dir}) },
	} {
		for dir, fails := range map[string]bool{"nowhere": true, "file": true, ".": false} {
			out, err := inFolder(t, "", map[string]string{"file": ""}, func(e env) error { return command(e, dir) })
			if (err != nil) != fails || !fails && !strings.HasPrefix(out, "no ") {
				t.Errorf("%s %s: %v, %q", name, dir, err, out)
			}
		}
	}
}
