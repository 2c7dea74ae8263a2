package sandbox

import (
	"strings"
	"testing"
)

func TestHarmlessConfig(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		all              bool
	}{
		{"empty", "", "", true},
		{"a clone", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.com:x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.com:x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", true},
		{"capitals and comments", "# c\n[Core]\n  Bare=FALSE\n; d\n", "[core]\n\tbare = FALSE\n", true},
		{"a program", "[core]\n\tbare = false\n\tfsmonitor = x\n", "[core]\n\tbare = false\n", false},
		{"behind a header", "[core] fsmonitor = x\n\tbare = false\n", "", false},
		{"a comment that goes on", "# \\\n[core]\n", "", false},
		{"a value that goes on", "[user]\n\tname = x\\\n[core]\n\tfsmonitor = x\n", "", false},
		{"a quote", "[user]\n\tname = \"x\n", "", false},
		{"a key alone", "[core]\n\tbare\n", "", false},
		{"an alias", "[alias]\n\tx = !y\n", "", false},
		{"a command for updates", "[submodule \"x\"]\n\tupdate = !y\n\tactive = true\n", "[submodule \"x\"]\n\tactive = true\n", false},
		{"a helper", "[remote \"x\"]\n\turl = ext::sh\n", "", false},
		{"the old form of a name", "[remote.x]\n\turl = y\n", "", false},
		{"files inside", "[core]\n\tworktree = in\n", "[core]\n\tworktree = in\n", true},
		{"files elsewhere", "[core]\n\tworktree = out\n", "", false},
		{"an include", "[include]\n\tpath = x\n", "", false},
	} {
		got, all := harmlessConfig(c.text, func(dir string) bool { return dir == "in" })
		if got != c.want || all != c.all {
			t.Errorf("%s: %q, %v", c.name, got, all)
		}
	}
}

// What is left says only what may be said, and is left as it is the next time.
func FuzzHarmlessConfig(f *testing.F) {
	f.Add("[core]\n\tbare = false\n\tfsmonitor = x\n[remote \"o\"]\n\turl = y\n")
	f.Add("[user]\n\tname = x\\\n[core]\n\tfsmonitor = x\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := harmlessConfig(text, func(string) bool { return false })
		again, all := harmlessConfig(got, func(string) bool { return false })
		if again != got || !all {
			t.Fatalf("%q becomes %q, and that %q (%v)", text, got, again, all)
		}
		for line := range strings.Lines(got) {
			if strings.ContainsAny(line, "\\\r\x00") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "fsmonitor") {
				t.Fatalf("%q leaves %q", text, got)
			}
		}
	})
}
