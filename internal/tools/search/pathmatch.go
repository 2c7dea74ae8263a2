package search

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pathPattern chooses files by their paths. A pattern without a slash is about
// names at any depth, one with a slash about the path from the searched folder.
type pathPattern struct {
	pattern  string
	nameOnly bool
	fixed    []string // the folders that the path begins with for certain
	hidden   bool     // it names something hidden
}

// compilePath reads a pattern: `*`, `?`, `[a-z]`, `**` for any number of
// folders, `{a,b}`. what is the argument's name.
func compilePath(what, given, root string) (*pathPattern, error) {
	p := given
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/"); ok {
		p = "/" + rest
	}
	if rest, ok := strings.CutPrefix(p, "./"); ok {
		p = "/" + rest
	}
	if err := leaves(what, given, p, root); err != nil {
		return nil, err
	}
	anchored := strings.HasPrefix(p, "/")
	p = strings.TrimPrefix(p, "/")
	if strings.HasSuffix(p, "/") {
		p += "**" // a folder means all in it
	}
	if !doublestar.ValidatePattern(p) {
		return nil, fail(CodeInvalidPattern, "invalid glob pattern %q: a bracket, brace or backslash is not closed", given)
	}
	m := &pathPattern{pattern: p, nameOnly: !anchored && !strings.Contains(p, "/")}
	for part := range strings.SplitSeq(strings.NewReplacer("{", "/", ",", "/").Replace(p), "/") {
		if strings.HasPrefix(part, ".") {
			m.hidden = true
		}
	}
	if base, _ := doublestar.SplitPattern(p); !m.nameOnly && base != "." && base != "" && !strings.Contains(base, `\`) {
		m.fixed = strings.Split(base, "/")
	}
	return m, nil
}

// leaves refuses a pattern that leads out of the searched folder: nothing there is
// looked at, and an empty result would say that there is nothing. p is the pattern
// without the folder; one that begins with a slash is tied to it, unless it can only
// mean a place of the file system. what is the argument's name.
func leaves(what, given, p, root string) error {
	base, rest := doublestar.SplitPattern(p)
	if strings.HasSuffix(p, "/") {
		base, rest = strings.TrimSuffix(p, "/"), "**"
	}
	dots := func(s string) bool {
		return slices.Contains(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("/{},", r) }), "..")
	}
	switch {
	case strings.HasPrefix(p, "~/"):
		return fail(CodeInvalidPattern, "the %s %q begins with ~, which is not expanded: give the folder as path, absolute, and what follows it as %s", what, given, what)
	case dots(rest): // behind a wildcard, or one of several
		return fail(CodeInvalidPattern, `the %s %q has ".." in it, which the path of no file has that is found: give the folder as path, and a %s without ".."`, what, given, what)
	case dots(base):
		base = path.Join(root, strings.TrimPrefix(base, "/"))
	case !filepath.IsAbs(p) || !elsewhere(p, root):
		return nil
	}
	return fail(CodeInvalidPattern, "the %s %q leads out of the searched folder, and only what is in that is found: give path %q and %s %q", what, given, base, what, rest)
}

// elsewhere says whether an absolute pattern means a place outside of the folder:
// the folder has nothing by the name that it begins with, and the file system has.
func elsewhere(p, root string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	if !strings.HasPrefix(p, "/") {
		return true // with a drive
	}
	if strings.ContainsAny(first, "*?[{\\") || !strings.Contains(p[1:], "/") {
		return false
	}
	_, inside := os.Lstat(filepath.Join(filepath.FromSlash(root), first))
	_, outside := os.Lstat(filepath.FromSlash("/" + first))
	return inside != nil && outside == nil
}

// file says whether a file matches.
func (m *pathPattern) file(rel, name string) bool {
	if m.nameOnly {
		rel = name
	}
	return doublestar.MatchUnvalidated(m.pattern, rel)
}

// dir says whether there can be matching files in a folder.
func (m *pathPattern) dir(rel, name string) bool {
	depth := strings.Count(rel, "/")
	return depth >= len(m.fixed) || m.fixed[depth] == name
}
