package session

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	diffLines(t, string(want), got)
}

func diffLines(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Fatalf("line %d differs:\nwant %s\n got %s", i+1, a, b)
		}
	}
}

func lines(h Header, events []Event) string {
	out := h.AppendLine(nil)
	for _, e := range events {
		out = e.AppendLine(out)
	}
	return string(out)
}

func containsDepth(log []byte) bool {
	return bytes.Contains(log[:indexNewline(log)], []byte("delegationDepth"))
}

func indexNewline(b []byte) int { return bytes.IndexByte(b, '\n') }

// clock gives a second more at each call, from a fixed start.
func clock() func() time.Time {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// checkConversation fails when a server would refuse the conversation: an
// assistant message's calls must be followed directly by their results, in
// order, and there must be no other results.
func checkConversation(t testing.TB, messages []model.Message) {
	t.Helper()
	if err := conversationFault(messages); err != nil {
		t.Error(err)
	}
}

func conversationFault(messages []model.Message) error {
	var due []string
	for i, m := range messages {
		if len(m.Content) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if m.Role == model.RoleTool {
			if len(due) == 0 || due[0] != m.ToolCallID {
				return fmt.Errorf("message %d answers %q, due is %q", i, m.ToolCallID, due)
			}
			due = due[1:]
			continue
		}
		if len(due) > 0 {
			return fmt.Errorf("message %d comes before the results of %q", i, due)
		}
		for _, c := range m.ToolCalls() {
			due = append(due, c.ID)
		}
	}
	if len(due) > 0 {
		return fmt.Errorf("no results for %q", due)
	}
	return nil
}
