package local

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// maxDigestLine bounds what is repeated of one prompt, in bytes.
const maxDigestLine = 200

// digest is this model's summary of a conversation: it understands nothing, so
// it lists what was asked and counts what was called.
func digest(req model.Request) string {
	var asked []string
	calls := 0
	for _, m := range req.Messages {
		want := false
		for line := range strings.Lines(m.Text()) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "## "):
				want = line == "## The user"
			case strings.HasPrefix(line, "[call "):
				calls++
			case want && line != "":
				if len(line) > maxDigestLine {
					line = strings.ToValidUTF8(line[:maxDigestLine], "") + "…"
				}
				asked = append(asked, "- "+line)
				want = false
			}
		}
	}
	if len(asked) == 0 {
		asked = []string{"- nothing new"}
	}
	return fmt.Sprintf("# What the user wants\n%s\n\n# What was done\nThe tools were called %d times.", strings.Join(asked, "\n"), calls)
}
