package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// permissionsCommand shows what decides about calls, and takes back what was
// answered for longer than once.
func permissionsCommand() Command {
	return Command{model.Command{
		Name: "permissions", Description: "Show what is allowed and rejected, and take it back", Hint: "[revoke N|all, keep N|all]",
	}, runPermissions}
}

func runPermissions(_ context.Context, s *agent.Session, args string) (CommandAnswer, error) {
	words := strings.Fields(args)
	if len(words) == 0 {
		return CommandAnswer{Text: showPermissions(s)}, nil
	}
	var text string
	var err error
	switch words[0] {
	case "revoke":
		text, err = eachRemembered(s, words[1:], "Revoked", agent.Grants.Revoke, func(agent.Remembered) bool { return true })
	case "keep":
		text, err = eachRemembered(s, words[1:], "Kept for this project", agent.Grants.Keep, canBeKept)
	default:
		err = errors.New("/permissions knows no " + codeSpan(words[0]) + "; " + permissionsUsage)
	}
	return CommandAnswer{Text: text}, err
}

const permissionsUsage = "say `/permissions`, `/permissions revoke N` or `revoke all`, `/permissions keep N` or `keep all`"

func showPermissions(s *agent.Session) string {
	var b strings.Builder
	set := s.Settings()
	if set.Preset != "" {
		fmt.Fprintf(&b, "Preset: %s", codeSpan(set.Preset))
		if set.Planning {
			b.WriteString(", in plan mode")
		}
		b.WriteString("\n\n")
	}
	if rules := s.PermissionRules(); len(rules) > 0 {
		b.WriteString("Rules, of which the first that matches decides:\n\n")
		for _, r := range rules {
			fmt.Fprintf(&b, "- %s\n", codeSpan(r))
		}
		b.WriteString("\n")
	}
	grants := s.Grants()
	if grants == nil {
		return strings.TrimSpace(b.String())
	}
	list, err := grants.List()
	if len(list) == 0 {
		b.WriteString("No answer is remembered.\n")
	} else {
		b.WriteString("Remembered answers, by number:\n\n")
		for _, x := range list {
			fmt.Fprintf(&b, "- %d: %s\n", x.Number, describe(s, x))
		}
		b.WriteString("\nTake one back with `/permissions revoke N`")
		if slices.ContainsFunc(list, canBeKept) {
			b.WriteString("; make one of this session last for this project with `/permissions keep N`")
		}
		b.WriteString(".\n")
	}
	if err != nil {
		fmt.Fprintf(&b, "\nWhat was allowed for this project cannot be used: %s\n", codeSpan(err.Error()))
	} else if file := grants.SavedIn(); file != "" && slices.ContainsFunc(list, func(x agent.Remembered) bool { return x.Project }) {
		fmt.Fprintf(&b, "\nThose of this project are saved in %s.\n", codeSpan(file))
	}
	return strings.TrimSpace(b.String())
}

// canBeKept says whether an answer can be made to last for the project: what was
// rejected is rejected for the session, and what is the project's is kept.
func canBeKept(x agent.Remembered) bool { return !x.Project && !x.Rejected }

// describe says what was answered, for how long, where and when.
func describe(s *agent.Session, x agent.Remembered) string {
	word, scope := "allowed", "this session"
	if x.Rejected {
		word = "rejected"
	}
	if x.Project {
		scope = "this project"
	}
	text := word + " " + codeSpan(x.Label) + ": " + scope
	if !x.At.IsZero() {
		text += ", " + x.At.Local().Format("2006-01-02 15:04")
	}
	if x.Project && x.Session != "" && x.Session != s.SessionID() {
		text += ", in session " + codeSpan(x.Session)
	}
	return text
}

// eachRemembered does something to the entries that are named: by their numbers,
// or all that it can be done to.
func eachRemembered(s *agent.Session, words []string, done string, do func(agent.Grants, agent.Remembered) error, can func(agent.Remembered) bool) (string, error) {
	grants := s.Grants()
	if grants == nil {
		return "No answer is remembered.", nil
	}
	list, err := grants.List()
	if err != nil && len(list) == 0 {
		return "", fmt.Errorf("what was allowed for this project cannot be used: %w", err)
	}
	if len(words) == 0 {
		return "", errors.New("which one? " + permissionsUsage)
	}
	var chosen []agent.Remembered
	for _, w := range words {
		n, _ := strconv.Atoi(w)
		before := len(chosen)
		for _, x := range list {
			if x.Number == n || w == "all" && can(x) {
				chosen = append(chosen, x)
			}
		}
		if w != "all" && len(chosen) == before {
			return "", errors.New("there is no remembered answer " + codeSpan(w) + "; `/permissions` lists them")
		}
	}
	if len(chosen) == 0 {
		return "There is none.", nil
	}
	var b strings.Builder
	for _, x := range chosen {
		if err := do(grants, x); err != nil {
			fmt.Fprintf(&b, "- Not done: %s: %s\n", codeSpan(x.Label), err)
			continue
		}
		fmt.Fprintf(&b, "- %s: %s\n", done, codeSpan(x.Label))
	}
	return strings.TrimSpace(b.String()), nil
}

// codeSpan is text that Markdown shows as it is.
func codeSpan(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	run, longest := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest == 0 {
		return fence + text + fence
	}
	return fence + " " + text + " " + fence
}
