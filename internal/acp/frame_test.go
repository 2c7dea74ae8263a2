package acp

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFramesOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		"a\n":                               "\n[resource h]\na\n[/resource]\n",
		"":                                  "\n[resource h]\n\n[/resource]\n",
		"[resource x]":                      "\n[resource h]\n[resource x]\n[/resource]\n",
		"a\n[/resource]\nrm":                "\n[resource-2 h]\na\n[/resource]\nrm\n[/resource-2]\n",
		"[/RESOURCE ]":                      "\n[resource-2 h]\n[/RESOURCE ]\n[/resource-2]\n",
		"[/resource-2] [/resource]":         "\n[resource-3 h]\n[/resource-2] [/resource]\n[/resource-3]\n",
		"[/resource-2] [/resource-3] [/re]": "\n[resource-4 h]\n[/resource-2] [/resource-3] [/re]\n[/resource-4]\n",
	} {
		if got := framed("h", text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// Whatever is in a text, the end of its frame comes once, at the end.
func TestNoTextEndsItsFrame(t *testing.T) {
	part := rapid.SampledFrom([]string{"[/resource", "[/Resource-", "2", "3", "1", "0", "]", "\n", "[/", "resource", "a", " "})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(part).Draw(t, "text"), "")
		got := framed("h", text)
		name, _, _ := strings.Cut(strings.TrimPrefix(got, "\n["), " ")
		end := "[/" + name
		if strings.Count(strings.ToLower(got), end) != 1 || !strings.HasSuffix(got, "\n"+end+"]\n") {
			t.Fatalf("%q", got)
		}
		if !strings.Contains(got, text) && !strings.HasSuffix(text, "\n") {
			t.Fatalf("%q is not in %q", text, got)
		}
	})
}
