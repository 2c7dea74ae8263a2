package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAdditionalFoldersBringTheirInstructions(t *testing.T) {
	cwd, lib := project(t), project(t)
	write(t, filepath.Join(cwd, "AGENTS.md"), "mine")
	write(t, filepath.Join(lib, "AGENTS.md"), "of the library")
	write(t, filepath.Join(lib, "deep", "CLAUDE.md"), "deep in the library")
	write(t, filepath.Join(lib, "deep", "file.txt"), "x")
	w := newWorld(t, cwd)
	w.ws.more = []string{lib + "/", filepath.Join(cwd, "inside")}
	prompt := w.prompt()
	at := func(text string) int {
		i := strings.Index(prompt, text)
		if i < 0 {
			t.Errorf("the prompt lacks %q:\n%s", text, prompt)
		}
		return i
	}
	if at("of the library") > at("mine") {
		t.Error("the working directory's own instructions come last")
	}
	at("- " + lib + "/")
	if got, want := labels(w.call("read", "file_path", filepath.Join(lib, "deep", "file.txt"))), []string{w.ws.label(filepath.Join(lib, "deep", "CLAUDE.md"))}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := w.call("read", "file_path", filepath.Join(lib, "deep", "file.txt")); len(got) != 0 {
		t.Error("announced twice")
	}
	// A link out of the additional folder is not followed to what is no Markdown.
	link(t, filepath.Join(cwd, ".dsh-project"), filepath.Join(lib, "other", "CLAUDE.md"))
	write(t, filepath.Join(lib, "other", "file.txt"), "x")
	if got := w.call("read", "file_path", filepath.Join(lib, "other", "file.txt")); len(got) != 1 || !strings.Contains(got[0].Content[0].Value().GetString("text"), "could not be read") {
		t.Errorf("a link led out of the additional folder: %v", got)
	}
}

func TestWithoutAdditionalFoldersThePromptIsAsItWas(t *testing.T) {
	w := newWorld(t, project(t))
	if strings.Contains(w.prompt(), "Also part of the workspace") {
		t.Error(w.prompt())
	}
}
