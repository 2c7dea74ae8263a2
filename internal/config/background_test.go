package config

import (
	"strings"
	"testing"
)

func TestBackgroundTasks(t *testing.T) {
	for text, want := range map[string]int{
		"":                                     16,
		"tools: {max_background_tasks: 0}\n":   0,
		"tools: {max_background_tasks: 3}\n":   3,
		"tools: {max_background_tasks: 100}\n": 100,
	} {
		w := newWorld(t)
		w.write(w.userFile, text)
		if c := w.load(Flags{}); c.Tools.MaxBackgroundTasks != want {
			t.Errorf("%q: %d, want %d", text, c.Tools.MaxBackgroundTasks, want)
		}
	}
	for _, text := range []string{"tools: {max_background_tasks: -1}\n", "tools: {max_background_tasks: 1001}\n", "tools: {max_background_tasks: [0]}\n"} {
		w := newWorld(t)
		w.write(w.userFile, text)
		if _, err := Load(w.options(Flags{})); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	// A workspace may have fewer, not more.
	if c := newWorld(t).workspace(Flags{}, "tools: {max_background_tasks: 2}\n"); c.Tools.MaxBackgroundTasks != 2 {
		t.Errorf("%d", c.Tools.MaxBackgroundTasks)
	}
	if c := newWorld(t).workspace(Flags{}, "tools: {max_background_tasks: 20}\n"); c.Tools.MaxBackgroundTasks != 16 || len(c.Warnings) == 0 {
		t.Errorf("%d, %v", c.Tools.MaxBackgroundTasks, c.Warnings)
	}
}

// Where 0 has a meaning, a number below it is not told to be at least 1.
func TestNegativeWhereZeroIsAllowed(t *testing.T) {
	for _, text := range []string{"tools: {max_background_tasks: -1}\n", "tools: {max_inline_bytes: -5}\n", "agents: {max_depth: -2}\n"} {
		w := newWorld(t)
		w.write(w.userFile, text)
		if _, err := Load(w.options(Flags{})); err == nil || !strings.Contains(err.Error(), "must be 0 or more, got -") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
