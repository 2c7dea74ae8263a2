package config

import "testing"

func TestInlineBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"":                                   50000,
		"tools: {max_inline_bytes: 0}\n":     0,
		"tools: {max_inline_bytes: 800}\n":   800,
		"tools: {max_inline_bytes: 64KiB}\n": 64 << 10,
	} {
		w := newWorld(t)
		w.write(w.userFile, text)
		if c := w.load(Flags{}); c.Tools.MaxInlineBytes != want {
			t.Errorf("%q: %d, want %d", text, c.Tools.MaxInlineBytes, want)
		}
	}
	for _, text := range []string{"tools: {max_inline_bytes: -1}\n", "tools: {max_inline_bytes: off}\n", "tools: {max_inline_bytes: [0]}\n"} {
		w := newWorld(t)
		w.write(w.userFile, text)
		if _, err := Load(w.options(Flags{})); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	// A workspace's file has no say in it.
	if c := newWorld(t).workspace(Flags{}, "tools: {max_inline_bytes: 0}\n"); c.Tools.MaxInlineBytes != 50000 || len(c.Warnings) == 0 {
		t.Errorf("%d, %v", c.Tools.MaxInlineBytes, c.Warnings)
	}
}
