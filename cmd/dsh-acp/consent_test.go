package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/mcp"
)

// What a person consents to is shown as it is, on one line, and hides nothing.
func TestExactly(t *testing.T) {
	for text, want := range map[string]string{
		`jq -r '.a "b"' | cat`: `jq -r '.a "b"' | cat`,
		"größer 日本":            "größer 日本",
		"":                     `""`,
		" a":                   `" a"`,
		"a\nb":                 `"a\nb"`,
		"a\x1b[2Kb":            `"a\x1b[2Kb"`,
		"a\u202eb":             `"a\u202eb"`,
		"a\u200bb":             `"a\u200bb"`,
		`"a\nb"`:               `"\"a\\nb\""`, // not to be taken for the quoted one
		"a\xffb":               `"a\xffb"`,
		"a\u3164b":             `"a\u3164b"`,
		"a\u2800b":             `"a\u2800b"`,
		"a\ufe0fb":             `"a\ufe0fb"`,
	} {
		if got := exactly(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

func TestServerLines(t *testing.T) {
	got := serverLines(mcp.Config{Name: "a", Command: "npx", Args: []string{"-y", "x y", "it's", "a\nb", ""}, Env: map[string]string{"B": "${B}", "A": "1"}})
	want := []string{`a: npx -y 'x y' 'it'\''s' "a\nb" ""`, "  A = 1", "  B = ${B}"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = serverLines(mcp.Config{Name: "a\n", URL: "https://e.org/?a=b c", Headers: map[string]string{"X": "\x1b"}})
	if want := []string{`"a\n": https://e.org/?a=b c`, `  X = "\x1b"`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Nobody is asked to say yes to what they cannot read whole.
func TestTooLong(t *testing.T) {
	if tooLong(brought{lines: []string{strings.Repeat("a", maxConsentText-1)}}) || !tooLong(brought{lines: []string{strings.Repeat("a", maxConsentText)}}) {
		t.Error("the bound is elsewhere")
	}
}
