// Package leak finds tool calls that a model or its server let slip into the
// text of an answer in the model's own markup, instead of sending them as
// calls. It keeps the markup from being shown, and reads the calls out of it.
package leak

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// verdict says whether a text begins with a marker.
type verdict uint8

const (
	no    verdict = iota
	maybe         // it may, when more has come
	tail          // it does where such markup is mentioned, and counts when nothing follows it
	soft          // it does, but the same is also written about
	hard          // it does, and nobody writes that by chance
)

// pipes are the bars that DeepSeek's special tokens are written with, and what
// templates, terminals and proxies make of them.
func isPipe(r rune) bool { return r == '｜' || r == '|' || r == '│' || r == '∣' }

// legacy are DeepSeek's older tokens; the blocks between their words are
// written as underscores here.
var legacy = []string{
	"tool_calls_begin", "tool_call_begin", "tool_sep", "tool_call_end", "tool_calls_end",
	"tool_calls_section_begin", "tool_calls_section_end", "tool_call_argument_begin",
	"tool_outputs_begin", "tool_output_begin", "tool_output_end", "tool_outputs_end",
}

// softMarkers begin the same markup after a server took its special tokens
// out, and that of other families of models.
var softMarkers = []string{"function_calls>", "invoke name=", "tool_calls>", "tool_call>", "function="}

// namespaces stand before the words of bare markup in some models' spelling.
var namespaces = []string{"antml:", "minimax:"}

// maxMarker bounds how much text may wait for a decision, in bytes.
const maxMarker = 96

// look says whether s begins with a marker: bars around DSML with or without
// the bracket before them, an older token, or a soft marker. s is what has come
// so far.
func look(s string) verdict {
	if len(s) > maxMarker {
		s = s[:maxMarker] // enough to decide, so that maybe ends
	}
	c := cursor{s: s}
	bracket := c.take("<") || c.take("&lt;")
	if !bracket && c.partial("&lt;") {
		return maybe
	}
	if bracket {
		c.space()
		slash := c.take("/")
		c.space()
		if c.done() {
			return c.more()
		}
		if !isPipe(c.rune()) {
			return c.word(slash)
		}
	}
	if c.done() {
		return c.more()
	}
	if !c.pipes() {
		return no
	}
	c.space()
	if c.done() {
		return c.more()
	}
	if v := c.fold("dsml"); v != no {
		if v == maybe {
			return c.more()
		}
		c.space()
		if c.done() {
			return c.more()
		}
		if isPipe(c.rune()) {
			return hard
		}
		return no
	}
	if bracket {
		rest := c.s[c.i:]
		for n := 1; n < utf8.UTFMax && n <= len(rest); n++ {
			if tail := rest[len(rest)-n:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRuneInString(tail) {
					rest = rest[:len(rest)-n]
				}
				break
			}
		}
		rest = strings.NewReplacer("▁", "_", " ", "_").Replace(rest)
		for _, token := range legacy {
			if strings.HasPrefix(rest, token) {
				return hard
			}
			if strings.HasPrefix(token, rest) {
				return c.more()
			}
		}
	}
	return no
}

// word decides about what follows a bracket without bars.
func (c *cursor) word(closing bool) verdict {
	rest := c.s[c.i:]
	switch v := c.fold("dsml"); {
	case v == maybe:
		return c.more()
	case v == hard:
		if c.done() {
			return c.more()
		}
		if r := c.rune(); isPipe(r) || r == ':' || r == '_' {
			return hard
		}
		return no
	}
	if closing {
		return no // an end without a beginning is nobody's call
	}
	for _, ns := range namespaces {
		if inner, ok := strings.CutPrefix(rest, ns); ok {
			rest = inner
			break
		}
		if strings.HasPrefix(ns, rest) {
			return c.more()
		}
	}
	for _, m := range softMarkers {
		if strings.HasPrefix(rest, m) {
			return soft
		}
		if strings.HasPrefix(m, rest) {
			return c.more()
		}
	}
	return no
}

// cursor walks through the beginning of a text.
type cursor struct {
	s string
	i int
}

// done reports whether nothing whole is left; a rune may have come in part.
func (c *cursor) done() bool { return !utf8.FullRuneInString(c.s[c.i:]) }

// more is maybe, unless so much has come that nothing more is waited for.
func (c *cursor) more() verdict {
	if len(c.s) >= maxMarker {
		return no
	}
	return maybe
}

func (c *cursor) rune() rune {
	r, _ := utf8.DecodeRuneInString(c.s[c.i:])
	return r
}

func (c *cursor) take(s string) bool {
	if strings.HasPrefix(c.s[c.i:], s) {
		c.i += len(s)
		return true
	}
	return false
}

// partial reports whether all that is left begins s.
func (c *cursor) partial(s string) bool {
	rest := c.s[c.i:]
	return rest != "" && len(rest) < len(s) && strings.HasPrefix(s, rest)
}

func (c *cursor) space() {
	for !c.done() {
		r, n := utf8.DecodeRuneInString(c.s[c.i:])
		if !unicode.IsSpace(r) {
			return
		}
		c.i += n
	}
}

func (c *cursor) pipes() bool {
	from := c.i
	for !c.done() {
		r, n := utf8.DecodeRuneInString(c.s[c.i:])
		if !isPipe(r) && !(c.i > from && r == ' ') {
			break
		}
		c.i += n
	}
	return c.i > from
}

// fold takes a word in any case: hard when it is there, maybe when its
// beginning is all there is.
func (c *cursor) fold(word string) verdict {
	rest := c.s[c.i:]
	n := min(len(rest), len(word))
	if !strings.EqualFold(rest[:n], word[:n]) {
		return no
	}
	if n < len(word) {
		return maybe
	}
	c.i += n
	return hard
}
