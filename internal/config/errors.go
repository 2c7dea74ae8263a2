package config

import (
	"fmt"
	"strings"
)

// Error is one complaint about one place of a configuration. Its text begins
// with file:line so that editors and terminals can jump to it.
type Error struct {
	File    string // as the user named it; "" for a command-line flag
	Line    int    // 1-based; 0 when the whole file is meant
	Column  int    // 1-based, in characters; 0 when unknown
	Key     string // the dotted key, such as model.provider; may be empty
	Message string // what is wrong and what to do about it
}

// Error gives "file:line: key: message".
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	case e.File != "":
		b.WriteString(e.File + ": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Errors is every complaint about a configuration, in file order, so that one
// run shows all there is to repair.
type Errors []*Error

// Error gives one complaint a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single complaints.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// Warning is something that was read and had no effect, such as a key that a
// workspace file may not set. It never stops the program.
type Warning struct {
	File    string
	Line    int
	Key     string
	Message string
}

// String gives "file:line: key: message".
func (w Warning) String() string {
	return (&Error{File: w.File, Line: w.Line, Key: w.Key, Message: w.Message}).Error()
}
