package workspace

import (
	"path/filepath"
	"strings"
	"unicode"
)

// label names a file or folder for the model and the log: relative to the
// working directory, with slashes.
func (w *Workspace) label(path string) string {
	if rel, err := filepath.Rel(w.cwd, path); err == nil {
		path = rel
	}
	return strings.ToValidUTF8(filepath.ToSlash(path), "\uFFFD")
}

// oneLine makes a name harmless within a line of a prompt: a folder can be
// called anything, line breaks included.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '`' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// inside keeps a text from closing the element that it is put into.
func inside(tag, text string) string {
	return strings.ReplaceAll(text, "</"+tag, "<\\/"+tag)
}
