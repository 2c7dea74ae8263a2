package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
)

// ToolNames are the program's own tools, which a rule's tool is compared with:
// a misspelled one would never match. The policy's tests hold the list to the
// tools there are.
var ToolNames = []string{
	"ask_user_question", "bash", "edit", "exit_plan_mode", "final_answer", "glob", "grep", "read", "run_code", "skill",
	"subagent", "subagent_fork", "task_kill", "task_list", "task_output", "todo_write", "web_fetch", "web_search", "write",
}

// checkMatch refuses a rule's match that the policy could not read, so that the
// mistake is shown with its line and not when a session is opened. What a match
// is depends on the tool; a rule for several tools has to be right for each.
func checkMatch(tool, match string) error {
	if match == "" {
		return nil
	}
	if err := checkWords(match); err != nil {
		return fmt.Errorf("match %q: %w", match, err)
	}
	if tool != "bash" && !doublestar.ValidatePattern(match) {
		return fmt.Errorf("match %q is not a path pattern: check its [ ] and { }", match)
	}
	return nil
}

// checkWords looks for a word, and for a quote that is not closed.
func checkWords(match string) error {
	var quote rune
	escaped, word := false, false
	for _, c := range match {
		word = word || !unicode.IsSpace(c)
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		}
	}
	switch {
	case quote != 0:
		return errors.New("a quote is not closed")
	case !word:
		return errors.New("there is no word in it")
	}
	return nil
}

// unknownTool says what is odd about a rule's tool; "" when nothing is.
func unknownTool(tool string) string {
	return noTool(tool, "the rule has no effect on it")
}

// noTool says that no tool of the program has a name, and what follows; "" when one
// has it, or one of somebody else may.
func noTool(tool, effect string) string {
	if strings.ContainsAny(tool, "*?[") || strings.HasPrefix(tool, "mcp__") || slices.Contains(ToolNames, tool) {
		return ""
	}
	if best, ok := nearest(strings.ToLower(tool), ToolNames); ok {
		return fmt.Sprintf("no tool is called %q; did you mean %q?", tool, best)
	}
	return fmt.Sprintf("no tool of this program is called %q, so %s; its tools are %s", tool, effect, strings.Join(ToolNames, ", "))
}
