package compact

import (
	_ "embed"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

//go:embed prompt.md
var system string

// MaxSummary is the longest summary that is asked for, in tokens.
const MaxSummary = 8192

// Request is the question for a summary of the plan's part of the conversation.
// The transcript in it takes at most room tokens, as far as can be guessed. It
// offers no tools. instructions are what the user wants the summary to heed; may
// be empty.
func Request(p Plan, instructions string, room int64) model.Request {
	var b strings.Builder
	b.WriteString("The transcript to summarise:\n\n<transcript>\n")
	b.WriteString(transcript(p.Replaced, room))
	b.WriteString("</transcript>\n\nWrite the summary now.")
	if s := strings.TrimSpace(instructions); s != "" {
		b.WriteString(" The user asks you to heed this in it:\n\n" + s)
	}
	return model.Request{
		System:    strings.TrimRight(system, "\n"),
		MaxTokens: MaxSummary,
		Purpose:   model.PurposeSummary,
		Messages: []model.Message{{
			Role: model.RoleUser, Origin: model.OriginContext, Content: []model.Part{model.Text(b.String())},
		}},
	}
}
