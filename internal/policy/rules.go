package policy

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/dsh-acp/dsh-acp/internal/policy/shell"
)

// Rule is one rule as it is written. The fields are those of the configuration.
type Rule struct {
	Tool     string // a name, or a pattern with * and ?
	Match    string // "" means every call
	Decision string // allow, ask or deny
	Reason   string
	Origin   string // file:line
}

func (r Rule) where() string {
	if r.Origin == "" {
		return "permissions.rules"
	}
	return r.Origin
}

// String names the rule the way a person recognises it.
func (r Rule) String() string {
	if r.Match == "" {
		return r.Tool
	}
	return r.Tool + ": " + r.Match
}

type answer uint8

const (
	answerNone answer = iota
	answerAllow
	answerAsk
	answerDeny
)

// compiled is a rule ready to be matched. Which of the forms of its match
// counts depends on the tool of the call.
type compiled struct {
	rule    Rule
	answer  answer
	tool    *shell.Pattern
	command *shell.Pattern // nil when the match is no command pattern
	path    string         // a doublestar pattern; absolute, or relative to the working directory
	text    *shell.Pattern
}

func compileAll(rules []Rule, home string) ([]compiled, error) {
	out := make([]compiled, 0, len(rules))
	for _, r := range rules {
		c, err := compile(r, home)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.where(), err)
		}
		out = append(out, c)
	}
	return out, nil
}

func compile(r Rule, home string) (compiled, error) {
	c := compiled{rule: r}
	switch r.Decision {
	case "allow":
		c.answer = answerAllow
	case "ask":
		c.answer = answerAsk
	case "deny":
		c.answer = answerDeny
	default:
		return c, fmt.Errorf("unknown decision %q: it is one of allow, ask, deny", r.Decision)
	}
	if r.Tool == "" {
		return c, fmt.Errorf("a rule needs a tool")
	}
	c.tool = shell.CompileText(r.Tool)
	if r.Match == "" {
		return c, nil
	}
	var err error
	if c.command, err = shell.Compile(r.Match); err != nil {
		return c, err
	}
	c.text = shell.CompileText(r.Match)
	c.path = r.Match
	if rest, ok := strings.CutPrefix(r.Match, "~/"); ok && home != "" {
		c.path = escapeGlob(home) + "/" + rest
	}
	c.path = cleanPattern(filepath.ToSlash(c.path))
	if !doublestar.ValidatePattern(c.path) {
		// A command pattern need not be a path pattern: [ is a program.
		if !c.tool.MatchText("bash") || strings.ContainsAny(r.Tool, "*?") {
			return c, fmt.Errorf("match %q is not a path pattern: check its [ ] and { }", r.Match)
		}
		c.path = ""
	}
	return c, nil
}

func escapeGlob(path string) string {
	var b strings.Builder
	for _, r := range path {
		if strings.ContainsRune(`*?[]{}\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cleanPattern gives a path pattern the form that clean paths have. An escaped slash
// is a slash; cut off alone it would leave an escape of nothing.
func cleanPattern(p string) string {
	p = plainSlashes(p)
	for strings.HasPrefix(p, "./") {
		p = strings.TrimLeft(p[2:], "/")
	}
	for len(p) > 1 && strings.HasSuffix(p, "/") {
		p = p[:len(p)-1]
	}
	return strings.ReplaceAll(p, "//", "/")
}

func plainSlashes(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' && i+1 < len(p) {
			if i++; p[i] != '/' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// verdict is what a list of rules says about a call.
type verdict struct {
	answer  answer
	rule    Rule
	what    string // the part of the call that the rule matched
	unclear bool   // the rule may match: it cannot be ruled out
	rest    bool   // other commands of the line are decided by no rule
}

func (v verdict) denial(tool string) string {
	if v.rule.Reason != "" {
		return v.rule.Reason
	}
	if v.what != "" {
		return fmt.Sprintf("%s is denied by the permission rule %q", abbreviate(v.what), v.rule)
	}
	return fmt.Sprintf("%s is denied by a permission rule", tool)
}

func (v verdict) question(tool string) string {
	if v.unclear || v.rule.Reason == "" {
		return v.need(tool)
	}
	return v.rule.Reason
}

func (v verdict) need(tool string) string {
	if v.unclear {
		return fmt.Sprintf("%s may do what the permission rule %q is about, which is only known when it runs", tool, v.rule)
	}
	if v.what != "" {
		return fmt.Sprintf("%s needs approval by the permission rule %q", abbreviate(v.what), v.rule)
	}
	return fmt.Sprintf("%s needs approval by a permission rule", tool)
}

func abbreviate(s string) string {
	if r := []rune(s); len(r) > 120 {
		s = string(r[:120]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
