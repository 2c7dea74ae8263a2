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
	source  string
	compile func() *regexp.Regexp
}

// New takes an expression. One that is wrong panics at its first use, so use it
// for expressions that the program holds itself, with a test.
func New(source string) *Regexp {
	return &Regexp{source, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
}

// Get is the compiled expression.
func (r *Regexp) Get() *regexp.Regexp { return r.compile() }

// String is the expression's source.
func (r *Regexp) String() string { return r.source }

// MatchString reports whether s holds a match.
func (r *Regexp) MatchString(s string) bool { return r.compile().MatchString(s) }

// Match reports whether b holds a match.
func (r *Regexp) Match(b []byte) bool { return r.compile().Match(b) }

// FindString is the first match; "" when there is none.
func (r *Regexp) FindString(s string) string { return r.compile().FindString(s) }

// FindStringIndex is where the first match is; nil when there is none.
func (r *Regexp) FindStringIndex(s string) []int { return r.compile().FindStringIndex(s) }

// FindStringSubmatch is the first match and its groups; nil when there is none.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compile().FindStringSubmatch(s) }

// FindSubmatch is FindStringSubmatch for bytes.
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compile().FindSubmatch(b) }

// FindStringSubmatchIndex is where the first match and its groups are.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compile().FindStringSubmatchIndex(s)
}

// FindAllStringSubmatch are up to n matches with their groups; all when n < 0.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compile().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is where up to n matches and their groups are.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compile().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString replaces every match.
func (r *Regexp) ReplaceAllString(s, by string) string { return r.compile().ReplaceAllString(s, by) }

// ReplaceAllStringFunc replaces every match by what f makes of it.
func (r *Regexp) ReplaceAllStringFunc(s string, f func(string) string) string {
	return r.compile().ReplaceAllStringFunc(s, f)
}
