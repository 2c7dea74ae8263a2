//go:build unix

package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	cwd, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	good := hook(Stop, "true")
	put(t, filepath.Join(cwd, "h.json"), good)
	put(t, filepath.Join(home, "mine.json"), good)
	put(t, filepath.Join(cwd, "bad.json"), "{")
	put(t, filepath.Join(cwd, "huge.json"), strings.Repeat(" ", MaxFile+10))
	if err := syscall.Mkfifo(filepath.Join(cwd, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"h.json", "./h.json", filepath.Join(cwd, "h.json"), "~/mine.json"} {
		if f, err := Load(Claude, cwd, name); err != nil || f == nil || f.Len() != 1 {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	for _, name := range []string{"absent.json", "no/such/folder.json", "~/absent.json"} {
		if f, err := Load(Claude, cwd, name); f != nil || err != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	for name, want := range map[string]string{"bad.json": "not JSON", "huge.json": "longer than", "pipe": "not a regular file", ".": "not a regular file"} {
		if _, err := Load(Claude, cwd, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConsent(t *testing.T) {
	cwd := t.TempDir()
	c := Consents{Dir: filepath.Join(t.TempDir(), "deep", "consents")}
	settings := filepath.Join(cwd, ".claude", "settings.json")
	put(t, settings, hook(Stop, "true"))
	put(t, filepath.Join(cwd, ".claude", "settings.local.json"), `{"model":"x"}`) // nothing to run
	put(t, filepath.Join(cwd, ".codex", "hooks.json"), "{")

	find := func(named ...string) []Found {
		t.Helper()
		found, problems := c.Find(cwd, named...)
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), ".codex") {
			t.Errorf("problems %v", problems)
		}
		return found
	}
	found := find()
	if len(found) != 1 || found[0].Allowed || found[0].File.Path != settings {
		t.Fatalf("%+v", found)
	}
	if got := find(".claude/settings.json"); len(got) != 0 {
		t.Errorf("a file that is named is found too: %+v", got)
	}
	if err := c.Allow(found...); err != nil {
		t.Fatal(err)
	}
	if got := find(); !got[0].Allowed {
		t.Error("what was allowed is not remembered")
	}

	put(t, settings, hook(Stop, "false"))
	if got := find(); got[0].Allowed {
		t.Error("another content is allowed as well")
	}
	put(t, settings, hook(Stop, "true"))
	if got := find(); !got[0].Allowed {
		t.Error("the content that was allowed is not any more")
	}
	other := t.TempDir()
	put(t, filepath.Join(other, ".claude", "settings.json"), hook(Stop, "true"))
	if got, _ := c.Find(other); got[0].Allowed {
		t.Error("the same content is allowed in another folder")
	}
	if err := c.Revoke(find()...); err != nil {
		t.Fatal(err)
	}
	if got := find(); got[0].Allowed {
		t.Error("still allowed after it was taken back")
	}
	if err := c.Revoke(find()...); err != nil {
		t.Errorf("taking it back twice: %v", err)
	}
	if got, _ := (Consents{}).Find(cwd); got[0].Allowed {
		t.Error("allowed without a memory")
	}
	if err := (Consents{}).Allow(found...); err == nil {
		t.Error("consent without a memory is given")
	}
}
