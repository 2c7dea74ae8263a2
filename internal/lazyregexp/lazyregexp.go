// Package lazyregexp holds regular expressions that are compiled when they are
// first used. Expressions of package level would else be compiled at every start
// of the program, and the program starts for every editor window and every
// worker.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled once, when it is first used.
// Its methods are those of regexp.Regexp.
type Regexp struct {
	compile func() *regexp.Regexp
}

// New takes an expression. One that is wrong panics at its first use, so use it
// for expressions that the program holds itself, with a test.
func New(source string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
}

// MatchString reports whether s holds a match.
func (r *Regexp) MatchString(s string) bool { return r.compile().MatchString(s) }

// Match reports whether b holds a match.
func (r *Regexp) Match(b []byte) bool { return r.compile().Match(b) }

// FindString is the first match; "" when there is none.
func (r *Regexp) FindString(s string) string { return r.compile().FindString(s) }

// FindStringSubmatch is the first match and its groups; nil when there is none.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compile().FindStringSubmatch(s) }

// FindSubmatch is FindStringSubmatch for bytes.
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compile().FindSubmatch(b) }

// FindAllStringSubmatch are up to n matches with their groups; all when n < 0.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compile().FindAllStringSubmatch(s, n)
}

// ReplaceAllString replaces every match.
func (r *Regexp) ReplaceAllString(s, by string) string { return r.compile().ReplaceAllString(s, by) }
