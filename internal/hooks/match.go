package hooks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// matcher chooses what a group of hooks is for. The zero matcher takes
// everything.
type matcher struct {
	text  string         // as written; "" when the file has none
	names []string       // exact names
	re    *regexp.Regexp // else a pattern; both nil: everything
}

// compileMatcher reads a matcher: "" and "*" take everything, names joined by |
// match exactly, and anything else is a regular expression that may match
// anywhere in the name.
func compileMatcher(text string) (matcher, error) {
	m := matcher{text: text}
	if text == "" || text == "*" {
		return m, nil
	}
	if !strings.ContainsFunc(text, notPlain) {
		m.names = strings.Split(text, "|")
		return m, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return matcher{}, fmt.Errorf("its matcher %q is no regular expression that can be used here (RE2 syntax): %w", clip(text, maxSummary), err)
	}
	m.re = re
	return m, nil
}

// notPlain reports a character that makes a matcher a regular expression.
func notPlain(r rune) bool {
	return !(r == '_' || r == '|' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
}

func (m matcher) match(name string) bool {
	switch {
	case m.names != nil:
		return slices.Contains(m.names, name)
	case m.re != nil:
		return m.re.MatchString(name)
	}
	return true
}

// matchTool finds the name under which a tool is meant: its own, else one that
// the tool of the same purpose has where hook files come from.
func (m matcher) matchTool(name string) (as string, ok bool) {
	if m.match(name) {
		return name, true
	}
	for _, alias := range aliases[name] {
		if m.match(alias) {
			return alias, true
		}
	}
	return "", false
}

// aliases are the names that hook files in circulation use for our tools.
var aliases = map[string][]string{
	"bash":              {"Bash"},
	"read":              {"Read"},
	"write":             {"Write"},
	"edit":              {"Edit", "MultiEdit"},
	"glob":              {"Glob"},
	"grep":              {"Grep"},
	"web_fetch":         {"WebFetch"},
	"web_search":        {"WebSearch"},
	"todo_write":        {"TodoWrite"},
	"task_output":       {"TaskOutput"},
	"task_kill":         {"KillShell"},
	"ask_user_question": {"AskUserQuestion"},
	"exit_plan_mode":    {"ExitPlanMode"},
	"skill":             {"Skill"},
	"subagent":          {"Task", "Agent"},
}
