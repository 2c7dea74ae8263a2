package session

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// show prints a conversation, one part a line.
func show(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s", m.Role)
		if m.Origin != "" {
			fmt.Fprintf(&b, " (%s)", m.Origin)
		}
		if m.Provider != "" {
			fmt.Fprintf(&b, " (%s %s)", m.Provider, m.Model)
		}
		if m.Role == model.RoleTool {
			fmt.Fprintf(&b, " %s %s error=%v", m.ToolCallID, m.ToolName, m.IsError)
		}
		b.WriteByte('\n')
		for _, p := range m.Content {
			fmt.Fprintf(&b, "  %s\n", p.Value())
		}
	}
	return b.String()
}

// The golden conversation has every kind of surface event, results that come
// between context messages, calls without a result, an orphaned result, ids
// that are used twice, a pruned result and a compacted part.
func TestMessagesGolden(t *testing.T) {
	for _, name := range []string{"conversation", "replaced"} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open("testdata/" + name + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			_, events, err := Decode(f)
			if err != nil {
				t.Fatal(err)
			}
			messages := Messages(events)
			checkConversation(t, messages)
			golden(t, name+".golden.txt", show(messages))
		})
	}
}

func TestMessagesOfNothing(t *testing.T) {
	if m := Messages(nil); len(m) != 0 {
		t.Errorf("%v", m)
	}
}
