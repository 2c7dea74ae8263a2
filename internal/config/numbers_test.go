package config

import (
	"fmt"
	"strings"
	"testing"
)

// Keys that are a number where 0 has a meaning: what they take, what they refuse,
// and what a workspace's file has to say in it.
func TestNumbersFromZero(t *testing.T) {
	for _, tt := range []struct {
		key       string
		of        func(*Config) int64
		initial   int64
		good      map[string]int64
		bad       []string
		workspace map[string]int64 // what holds there; anything but the text's own number is warned about
	}{
		{
			"max_background_tasks", func(c *Config) int64 { return int64(c.Tools.MaxBackgroundTasks) }, 16,
			map[string]int64{"0": 0, "3": 3, "100": 100},
			[]string{"-1", "1001", "[0]"},
			map[string]int64{"2": 2, "20": 16}, // fewer, not more
		},
		{
			"max_inline_bytes", func(c *Config) int64 { return c.Tools.MaxInlineBytes }, 50000,
			map[string]int64{"0": 0, "800": 800, "64KiB": 64 << 10},
			[]string{"-1", "off", "[0]"},
			map[string]int64{"0": 50000}, // no say
		},
	} {
		t.Run(tt.key, func(t *testing.T) {
			if c := newWorld(t).load(Flags{}); tt.of(c) != tt.initial {
				t.Errorf("%d, want %d", tt.of(c), tt.initial)
			}
			file := func(text string) string { return "tools: {" + tt.key + ": " + text + "}\n" }
			for text, want := range tt.good {
				w := newWorld(t)
				w.write(w.userFile, file(text))
				if c := w.load(Flags{}); tt.of(c) != want {
					t.Errorf("%s: %d, want %d", text, tt.of(c), want)
				}
			}
			for _, text := range tt.bad {
				w := newWorld(t)
				w.write(w.userFile, file(text))
				if _, err := Load(w.options(Flags{})); err == nil {
					t.Errorf("%s is accepted", text)
				}
			}
			for text, want := range tt.workspace {
				c := newWorld(t).workspace(Flags{}, file(text))
				if tt.of(c) != want || (len(c.Warnings) > 0) == (text == fmt.Sprint(want)) {
					t.Errorf("a workspace's %s: %d, want %d, warnings %v", text, tt.of(c), want, c.Warnings)
				}
			}
		})
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
