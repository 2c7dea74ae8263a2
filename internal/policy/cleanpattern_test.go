package policy

import "testing"

func TestCleanPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		"a/b":      "a/b",
		"./a//b/":  "a/b",
		"/":        "/",
		`a\/`:      "a",
		`a\//b`:    "a/b",
		`\/`:       "/",
		`a\\/b`:    `a\\/b`,
		`a\\/`:     `a\\`,
		`a\[b\]\*`: `a\[b\]\*`,
		`a\`:       `a\`, // an escape of nothing, which is no pattern
	} {
		if got := cleanPattern(pattern); got != want {
			t.Errorf("%q becomes %q, want %q", pattern, got, want)
		}
	}
}
