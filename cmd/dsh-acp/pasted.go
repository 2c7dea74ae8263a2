package main

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
)

var (
	// assigned is a line of a shell's profile or of a .env file, or what PowerShell
	// and cmd take; setTo what fish and setx take; header a line of a request.
	assigned = lazyregexp.New(`^((?i:export\s+|set\s+|\$env:|))([A-Za-z_][A-Za-z0-9_]{0,63})\s*=\s*(.*)$`)
	setTo    = lazyregexp.New(`^((?i:setx\s+|setenv\s+|set\s+-[a-zA-Z]+\s+))([A-Za-z_][A-Za-z0-9_]{0,63})\s+(.*)$`)
	header   = lazyregexp.New(`^(?i:authorization\s*:\s*bearer\s+|bearer\s+|x-api-key\s*:\s*|api-key\s*:\s*)(.*)$`)
	// named is what variables with keys are called, and variable a name that can
	// be shown, as no key looks like it.
	named    = lazyregexp.New(`(?i)key|token|secret`)
	variable = lazyregexp.New(`^[A-Z]+(_[A-Z0-9]+)+$`)
)

// pasted takes a key out of what is copied along with it: the variable that it
// is put into, quotation marks, the name of a header. around says what that was,
// in words that hold nothing of the key; "" when there was nothing.
func pasted(line string) (key, around string) {
	line = strings.TrimSpace(line)
	if m := header.FindStringSubmatch(line); m != nil {
		return unquoted(m[1]), "The header's name before it"
	}
	m := assigned.FindStringSubmatch(line)
	if m == nil {
		m = setTo.FindStringSubmatch(line)
	}
	if m != nil {
		word, name, value := m[1], m[2], m[3]
		// A key may end with "=", and may happen to have a word in it.
		some := strings.Trim(value, "=") != ""
		if variable.MatchString(name) {
			return unquoted(value), fmt.Sprintf("%q before it", strings.TrimSpace(word+name))
		}
		if some && (word != "" || named.MatchString(name)) {
			return unquoted(value), "The variable's name before it"
		}
	}
	if key = unquoted(line); key != line {
		around = "What was around it"
	}
	return key, around
}

// unquoted takes a value out of its quotation marks, and leaves out what may
// follow it on its line: a semicolon, a comment.
func unquoted(value string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	if q := value[:1]; strings.Contains("\"'`", q) {
		inside, rest, closed := strings.Cut(value[1:], q)
		rest = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(rest), ";,"))
		if closed && (rest == "" || rest[0] == '#') {
			return strings.TrimSpace(inside)
		}
		return value
	}
	if at := strings.Index(value, " #"); at >= 0 {
		value = value[:at]
	}
	return strings.TrimRight(value, " \t;,")
}
