package search

import (
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
// folders, `{a,b}`.
func compilePath(given, root string) (*pathPattern, error) {
	p := given
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/"); ok {
		p = "/" + rest
	}
	if rest, ok := strings.CutPrefix(p, "./"); ok {
		p = "/" + rest
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
