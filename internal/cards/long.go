package cards

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// shownLimit bounds the text of a result on a card. What the model gets is
// bounded more tightly, but the results of a program's calls are not, and some
// clients take no line of 10 MiB.
const shownLimit = 256 << 10

// shownText is a text as it is, or its two ends when it is too long to be shown.
func shownText(s string) string {
	if len(s) <= shownLimit {
		return s
	}
	head, tail := shownLimit/2, len(s)-shownLimit/2
	for !utf8.RuneStart(s[head]) && head > 0 {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + fmt.Sprintf("\n[... %d bytes are not shown here ...]\n", tail-head) + s[tail:]
}

// link adds links to files to the last update of a call. An update's content
// replaces what was there, so the terminal of a call that has one stays in it.
func (u *ToolUpdate) link(open *openCall, files []File) {
	if len(files) == 0 {
		return
	}
	if u.Content == nil {
		u.Content = slices.Clone(open.announce.Content)
	}
	for i := range files {
		u.Content = append(u.Content, ToolContent{File: &files[i]})
	}
}
