package sdk

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// How long the parts of one index line may get, in characters.
const (
	maxIndexLine    = 160
	maxPlainLine    = 100
	maxIndexMembers = 60
)

// appendIndex writes one line a tool: how to call it, its members, and the start
// of its description. If that is longer than the limit, the members go, then
// the descriptions; if the names alone are too long, the rest of them is only
// counted.
func appendIndex(out []byte, tools []Tool, limit int) []byte {
	lines := make([]string, len(tools))
	for _, line := range []func(*Tool) string{fullLine, plainLine, nameLine} {
		clear(lines) // those of a level that was given up
		total := 0
		for i := range tools {
			lines[i] = line(&tools[i])
			if total += utf8.RuneCountInString(lines[i]) + 1; total > limit {
				break
			}
		}
		if total <= limit {
			break
		}
	}
	left := limit
	for i, line := range lines { // names beyond the limit are not even made
		left -= utf8.RuneCountInString(line) + 1
		if i > 0 {
			out = append(out, '\n')
			if left < 0 {
				return fmt.Appendf(out, "- … and %d more: find them with tools.$search", len(lines)-i)
			}
		}
		out = append(out, line...)
	}
	return out
}

func fullLine(t *Tool) string {
	return shorten(nameLine(t)+"("+memberList(t)+")"+summary(t), maxIndexLine)
}

func plainLine(t *Tool) string { return shorten(nameLine(t)+summary(t), maxPlainLine) }

func nameLine(t *Tool) string { return "- " + accessor(t.Name) }

// summary is the first sentence of the description behind a dash.
func summary(t *Tool) string {
	if about := firstSentence(t.Description); about != "" {
		return " — " + about
	}
	return ""
}

// accessor is the expression that names a tool in a program.
func accessor(name string) string {
	if isIdentifier(name) {
		return "tools." + name
	}
	return "tools[" + string(appendKey(nil, name)) + "]"
}

// memberList names the members of a tool's argument, optional ones marked.
func memberList(t *Tool) string {
	members := t.Parameters.Get("properties")
	if members.Len() == 0 {
		return ""
	}
	required := newNameSet(t.Parameters.Get("required"))
	var b strings.Builder
	b.WriteByte('{')
	first := true
	for name := range members.Members() {
		key := string(appendKey(nil, name))
		if !required.has(name) {
			key += "?"
		}
		if !first {
			b.WriteString(", ")
		}
		first = false
		if utf8.RuneCountInString(b.String())+utf8.RuneCountInString(key) > maxIndexMembers {
			b.WriteString("…")
			break
		}
		b.WriteString(key)
	}
	b.WriteByte('}')
	return b.String()
}

// maxSentence bounds how much of a description is looked at.
const maxSentence = 4 * maxIndexLine

// firstSentence returns the first sentence of a text, on one line. It ends
// where a full stop is followed by a capital, so that "e.g. this" goes on.
func firstSentence(text string) string {
	if len(text) > maxSentence {
		text = strings.ToValidUTF8(text[:maxSentence], "") + " …"
	}
	s := collapse(text)
	for i := 1; i+2 < len(s); i++ {
		if s[i] == ' ' && strings.IndexByte(".!?", s[i-1]) >= 0 && s[i+1] >= 'A' && s[i+1] <= 'Z' {
			return s[:i]
		}
	}
	return s
}

// shorten cuts text to a number of characters, the last one then an ellipsis.
func shorten(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == limit {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}
