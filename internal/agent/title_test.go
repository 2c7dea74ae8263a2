package agent

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTitleFrom(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"Use the bash tool to run it", "Use the bash tool to"},
		{"  spaced \n out\t text ", "spaced out text"},
		{"\x1b[31mred\x1b[0m \x1b]0;title\x07alert", "red alert"},
		{"left\u202eright\u200f marks", "leftright marks"},
		{"a\x00b", "ab"},
		{"ééééééééééééééééééééééé", "éééééééééééééééééééé"},
		{"supercalifragilistic expialidocious again and again", "supercalifragilistic expialidocious agai"},
		{" \n ", ""},
	} {
		if got := titleFrom(tt.in); got != tt.want {
			t.Errorf("titleFrom(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestATitleIsShortAndClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "prompt")
		got := titleFrom(s)
		if len(got) > titleBytes || !utf8.ValidString(got) {
			t.Fatalf("titleFrom(%q) = %q", s, got)
		}
		if again := titleFrom(got); again != got {
			t.Fatalf("not stable: %q, then %q", got, again)
		}
	})
}

func TestPlainLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"  \n ":                         "",
		"a\nb\x1b[31mred\x1b[0m\u202e!": "a bred!",
		"a\tb\x00c \u2066d":             "a bc d",
		"one two three four five six":   "one two three four five six",
		"bad \xff byte":                 "bad byte",
	} {
		if got := PlainLine(in); got != want {
			t.Errorf("PlainLine(%q) = %q, want %q", in, got, want)
		}
	}
}
