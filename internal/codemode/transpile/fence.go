package transpile

import "strings"

// unfence blanks out the Markdown fence around a program, which models leave on
// when they mean to show code. The lines stay where they are, so that positions
// do.
func unfence(text string) string {
	open := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	first, rest, found := strings.Cut(text[open:], "\n")
	first = strings.TrimRight(first, " \t\r")
	fence := first[:len(first)-len(strings.TrimLeft(first, "`"))]
	if !found || len(fence) < 3 || !isFenceInfo(first[len(fence):]) {
		return text
	}
	end := strings.TrimRight(rest, " \t\r\n")
	last := strings.LastIndexByte(end, '\n')
	if last < 0 || strings.Trim(end[last+1:], " \t") != fence {
		return text
	}
	return text[:open] + strings.Repeat(" ", len(first)) + "\n" + end[:last+1]
}

// isFenceInfo says whether what follows the backticks names the language.
func isFenceInfo(info string) bool {
	switch strings.ToLower(strings.TrimSpace(info)) {
	case "", "ts", "typescript", "js", "javascript", "tsx":
		return true
	}
	return false
}
