package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/config"
)

const pastedKey = "sk-abc_DEF-0123456789=="

func TestPasted(t *testing.T) {
	const k = pastedKey
	for in, around := range map[string]string{
		k:                                       "",
		"  " + k + " \r\n":                      "",
		"DEEPSEEK_API_KEY=" + k:                 `"DEEPSEEK_API_KEY" before it`,
		"DEEPSEEK_API_KEY = '" + k + "'":        `"DEEPSEEK_API_KEY" before it`,
		"export DEEPSEEK_API_KEY=\"" + k + "\"": `"export DEEPSEEK_API_KEY" before it`,
		"export DEEPSEEK_API_KEY=" + k + " # mine":      `"export DEEPSEEK_API_KEY" before it`,
		"export DEEPSEEK_API_KEY=\"" + k + "\"; # mine": `"export DEEPSEEK_API_KEY" before it`,
		"set DEEPSEEK_API_KEY=" + k:                     `"set DEEPSEEK_API_KEY" before it`,
		"$env:DEEPSEEK_API_KEY = \"" + k + "\"":         `"$env:DEEPSEEK_API_KEY" before it`,
		"setx DEEPSEEK_API_KEY \"" + k + "\"":           `"setx DEEPSEEK_API_KEY" before it`,
		"set -gx DEEPSEEK_API_KEY " + k:                 `"set -gx DEEPSEEK_API_KEY" before it`,
		"api_key=" + k:                                  "The variable's name before it",
		"apiKey = \"" + k + "\",":                       "The variable's name before it",
		"Authorization: Bearer " + k:                    "The header's name before it",
		"Bearer " + k:                                   "The header's name before it",
		"x-api-key: " + k:                               "The header's name before it",
		"\"" + k + "\"":                                 "What was around it",
		"'" + k + "'":                                   "What was around it",
		k + ";":                                         "What was around it",
	} {
		if key, got := pasted(in); key != k || got != around {
			t.Errorf("%q: %q, %q", in, key, got)
		}
	}
	// Keys that look like something else stay as they are.
	for _, k := range []string{"aGtleQ==", "KEY=", "tokenABC=", "abc=def", "x", "=", "user:sk", "sk-export-KEY"} {
		if key, _ := pasted(k); key != k {
			t.Errorf("%q became %q", k, key)
		}
	}
	if key, _ := pasted("DEEPSEEK_API_KEY="); key != "" {
		t.Errorf("the name of a variable became the key %q", key)
	}
}

// Whatever is pasted, what is said about it holds nothing of the key.
func TestNothingOfTheKeyIsSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[A-Za-z0-9_=+/.-]{8,60}`).Draw(t, "key")
		line := rapid.SampledFrom([]string{"", "export ", "set ", "setx ", "Bearer ", "A_KEY=", "export A_KEY=\"", "'", "key="}).Draw(t, "before") + key +
			rapid.SampledFrom([]string{"", "\"", "'", " # x", ";", " more"}).Draw(t, "after")
		stored, around := pasted(line)
		if len(stored) >= 8 && strings.Contains(around, stored) {
			t.Fatalf("%q: %q is told in %q", line, stored, around)
		}
	})
}

// The key alone is stored, and what was left out is said.
func TestLoginTakesAPastedLine(t *testing.T) {
	for typed, wants := range map[string]string{
		"export DEEPSEEK_API_KEY=\"" + pastedKey + "\"\n": `"export DEEPSEEK_API_KEY" before it was not stored.`,
		pastedKey + "\n":            "",
		"\"" + pastedKey + "\"":     "What was around it was not stored.",
		"DEEPSEEK_API_KEY=\n":       "no key was given",
		"DEEPSEEK_API_KEY=$OTHER\n": "name of a variable",
		"\"sk-unclosed\n":           "quotation marks",
	} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("XDG_STATE_HOME", "")
		t.Setenv("XDG_CONFIG_HOME", "")
		t.Setenv("DEEPSEEK_API_KEY", "")
		in, out := filepath.Join(home, "in"), filepath.Join(home, "out")
		if err := os.WriteFile(in, []byte(typed), 0o600); err != nil {
			t.Fatal(err)
		}
		stdin, err := os.Open(in)
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		err = login(t.Context(), env{stdin: stdin, stdout: stdout, stderr: stdout}, config.Options{Flags: config.Flags{Model: "deepseek"}}, false)
		stdin.Close()
		stdout.Close()
		text, _ := os.ReadFile(out)
		if said = string(text); err != nil {
			said += err.Error()
		}
		stored, _ := os.ReadFile(filepath.Join(home, ".local/state/dsh-acp/credentials.json"))
		if strings.Contains(said, "sk-") || !strings.Contains(said, wants) || wants == "" && strings.Contains(said, "not stored") {
			t.Errorf("%q: it says %q", typed, said)
		}
		if got, want := strings.Contains(string(stored), `"deepseek": "`+pastedKey+`"`), strings.Contains(typed, pastedKey); got != want || !want && stored != nil {
			t.Errorf("%q: %q is stored, %v", typed, stored, err)
		}
	}
}
