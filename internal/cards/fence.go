package cards

import "strings"

// Fence wraps text in a code fence that is longer than any run of backticks
// inside it, so that the text cannot break out of its card. Trailing newlines
// of the text are dropped.
func Fence(lang, text string) string {
	text = strings.TrimRight(text, "\n")
	longest, run := 0, 0
	for i := 0; i < len(text); i++ {
		if text[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + lang + "\n" + text + "\n" + fence
}
