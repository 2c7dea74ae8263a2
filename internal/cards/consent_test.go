package cards

import (
	"strings"
	"testing"
)

// What stands far to the right in a line is seen before a yes, too.
func TestFolded(t *testing.T) {
	hidden := "make" + strings.Repeat(" ", 2000) + "; evil"
	got := Folded([]string{"a: b", hidden, strings.Repeat("ä", foldAt)})
	lines := strings.Split(got, "\n")
	for _, l := range lines {
		if n := len([]rune(strings.TrimPrefix(l, continued))); n > foldAt {
			t.Errorf("a line of %d characters", n)
		}
	}
	if strings.ReplaceAll(got, "\n"+continued, "") != "a: b\n"+hidden+"\n"+strings.Repeat("ä", foldAt) {
		t.Errorf("%q", got)
	}
	if len(lines) != 1+21+1 || !strings.HasSuffix(lines[21], "; evil") {
		t.Errorf("%d lines: %q", len(lines), got)
	}
}
