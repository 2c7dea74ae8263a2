package transpile

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
)

// form is one way to make a script of the model's text. head and tail go around
// it; head ends in the one line break that shiftMap accounts for, and text has
// exactly the model's lines and columns.
type form struct {
	head, text, tail string
	// alternative is tried when this one does not compile.
	alternative *form
}

const (
	open = `(async function (tools, ToolCallError, console) {"use strict";`
	// The break keeps a comment at the end of the text from eating the brace.
	closing = "\n})"

	// A function that is the whole program is called; so is an exported one.
	callHead = open + `const $main = (`
	callTail = "\n); return typeof $main === 'function' ? await $main(tools) : await $main})"

	// exportName is as long as the words it takes the place of.
	exportWords   = "export default"
	exportName    = "$$export$$ =  "
	exportDeclare = `let $$export$$;`
	exportTail    = "\n;return typeof $$export$$ === 'function' ? await $$export$$(tools) : await $$export$$})"
)

// wholeFunction recognises the beginning of a program that may be one function,
// or one call of one, as a whole. Whether it is, only the compiler can say.
var wholeFunction = lazyregexp.New(
	`^(?:async\b|function\b|\(\s*(?:async\b|function\b|\)\s*(?::[^=]*)?=>|\(\s*\)\s*=>)|await\s*\()`)

// recognise chooses the form of a program.
func recognise(text string, s *scanned) form {
	body := form{head: open + "\n", text: text, tail: closing}
	if len(s.exports) > 0 && s.exportDefault {
		return form{
			head: open + exportDeclare + "\n",
			text: replaceExports(text, s.exports),
			tail: exportTail,
		}
	}
	code := s.code(text)
	if !wholeFunction.MatchString(code) {
		return body
	}
	// Semicolons at the end would end the expression inside its parentheses.
	trimmed := []byte(text)
	for i := s.lastCode; i >= 0 && (trimmed[i] == ';' || isSpace(trimmed[i])); i-- {
		if trimmed[i] == ';' {
			trimmed[i] = ' '
		}
	}
	return form{head: callHead + "\n", text: string(trimmed), tail: callTail, alternative: &body}
}

// replaceExports blanks the export keywords at the given offsets and makes the
// default export an assignment, all in place.
func replaceExports(text string, offsets []int) string {
	out := []byte(text)
	for _, at := range offsets {
		rest := text[at:]
		if strings.HasPrefix(rest, exportWords) {
			copy(out[at:], exportName)
			continue
		}
		copy(out[at:], "      ")
	}
	return string(out)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
