package local

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

const codeModeOff = "The prompt holds a program, but this session has no `run_code` tool, because Code Mode is off. " +
	"Put `tools: {mode: both}` in the configuration, start a new session and send the prompt again. " +
	"Until then `/tool NAME {json}` calls one tool."

func faultText(faults []fault) string {
	var b strings.Builder
	b.WriteString("Nothing was run, because the prompt has mistakes:\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "\n- line %d: %s", f.line, f.text)
	}
	b.WriteString("\n\nType /help to see what can be typed.")
	return b.String()
}

// summary tells how the calls of a turn ended, from the messages since its
// prompt.
func summary(since []model.Message) string {
	var lines []string
	failed := 0
	for _, m := range since {
		if m.Role != model.RoleTool {
			continue
		}
		verb := "succeeded"
		if m.IsError {
			verb = "failed"
			failed++
		}
		lines = append(lines, fmt.Sprintf("`%s` %s: %s", toolName(m), verb, quote(m)))
	}
	switch {
	case len(lines) == 0:
		return "Done."
	case len(lines) == 1:
		return lines[0]
	}
	head := fmt.Sprintf("All %d calls succeeded.", len(lines))
	if failed > 0 {
		head = fmt.Sprintf("%d of %d calls failed.", failed, len(lines))
	}
	return head + "\n\n- " + strings.Join(lines, "\n- ")
}

func toolName(m model.Message) string {
	if m.ToolName == "" {
		return m.ToolCallID
	}
	return m.ToolName
}

// quoteLimit is how many bytes of a result's line are quoted.
const quoteLimit = 160

// quote gives the first line of a result that says something.
func quote(m model.Message) string {
	text := strings.TrimSpace(m.Text())
	if text == "" {
		for _, p := range m.Content {
			if p.Type != model.PartText {
				return "(" + string(p.Type) + ")"
			}
		}
		return "(no output)"
	}
	line, rest, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	if len(line) > quoteLimit {
		cut := quoteLimit
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut] + "…"
	}
	if n := strings.Count(rest, "\n") + 1; rest != "" {
		plural := "s"
		if n == 1 {
			plural = ""
		}
		line += fmt.Sprintf(" (and %d more line%s)", n, plural)
	}
	return line
}
