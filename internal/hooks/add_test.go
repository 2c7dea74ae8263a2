//go:build unix

package hooks

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
)

// Files that are allowed while a session runs take part from then on, behind the
// others, and their SessionStart runs once, with the next prompt.
func TestFilesThatAreAddedLater(t *testing.T) {
	note := func(who string) string {
		var b strings.Builder
		for i, p := range []Point{SessionStart, UserPromptSubmit, Stop} {
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `%q:[{"hooks":[{"type":"command","command":"echo %s-%s >> notes"}]}]`, p, who, p)
		}
		return `{"hooks":{` + b.String() + `}}`
	}
	file := func(who string) *File {
		f, err := Parse(Claude, who+".json", []byte(note(who)))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, first := range []bool{true, false} {
		var files []string
		if first {
			files = []string{note("a")}
		}
		w := newWorld(t, files...)
		turn := func(n int64) string {
			_ = os.Remove(w.cwd + "/notes")
			if v, err := w.hooks.PromptSubmit(context.Background(), n, []content.Block{content.Text("x")}); err != nil || v.Block {
				t.Fatalf("%+v %v", v, err)
			}
			if _, err := w.hooks.Stop(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(w.cwd + "/notes")
			return strings.Join(strings.Fields(string(text)), " ")
		}
		only := func(s string) string {
			if !first {
				return ""
			}
			return s + " "
		}
		if got, want := turn(1), strings.TrimSpace(only("a-SessionStart a-UserPromptSubmit a-Stop")); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		w.hooks.Add(file("b"))
		if got, want := turn(2), "b-SessionStart "+only("a-UserPromptSubmit")+"b-UserPromptSubmit "+only("a-Stop")+"b-Stop"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := turn(3), only("a-UserPromptSubmit")+"b-UserPromptSubmit "+only("a-Stop")+"b-Stop"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
