package search

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxIgnoreFile bounds what is read of one ignore file.
const maxIgnoreFile = 4 << 20

// rule is one line of an ignore file.
type rule struct {
	negated  bool // the line begins with "!": what it matches is not ignored
	dirOnly  bool // it ends with "/"
	nameOnly bool // it has no other slash: it is about names, at any depth
	literal  string
	wild     wildcard // what follows the literal
	plain    bool     // there is nothing wild
}

// parseIgnore reads an ignore file the way git does. Lines that git cannot make
// sense of match nothing; there are no errors.
func parseIgnore(data []byte) []rule {
	var rules []rule
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if end := bytes.IndexByte(line, 0); end >= 0 {
			line = line[:end]
		}
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if r, ok := parseRule(trimSpaces(string(line))); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// trimSpaces takes the spaces off the end, except escaped ones.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(s))
	}
	return s[:end]
}

func parseRule(p string) (rule, bool) {
	var r rule
	if r.negated = strings.HasPrefix(p, "!"); r.negated {
		p = p[1:]
	}
	if r.dirOnly = strings.HasSuffix(p, "/"); r.dirOnly {
		p = p[:len(p)-1]
	}
	if p == "" {
		return r, false
	}
	r.nameOnly = !strings.Contains(p, "/")
	if !r.nameOnly {
		p = strings.TrimPrefix(p, "/")
	}
	at := strings.IndexAny(p, `*?[\`)
	if at < 0 {
		r.literal, r.plain = p, true
		return r, true
	}
	if r.nameOnly {
		at = 0 // the first stars of a name are nothing special
	}
	r.literal = p[:at]
	r.wild = compileWildcard(p[at:])
	return r, true
}

// matches says whether the rule is about a path below the directory of its file.
func (r *rule) matches(path, name string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.nameOnly {
		path = name
	}
	if r.plain {
		return path == r.literal
	}
	rest, ok := strings.CutPrefix(path, r.literal)
	return ok && r.wild.match(rest)
}

// ignores are the rules that hold in a directory: those of its own file first,
// then those of the directories above, up to the top of the repository.
type ignores struct {
	above *ignores
	rules []rule
	// Paths come relative to the searched folder. A file above that needs what
	// lies between in front of them, one below is about the rest behind skip.
	prefix string
	skip   int
}

// ignored says whether a path, relative to the searched folder, is ignored. Its
// parents are not looked at: whoever walks does not enter ignored folders.
func (g *ignores) ignored(path, name string, dir bool) bool {
	for ; g != nil; g = g.above {
		if len(g.rules) == 0 {
			continue
		}
		rel := path[g.skip:]
		if g.prefix != "" {
			rel = g.prefix + rel
		}
		for i := len(g.rules) - 1; i >= 0; i-- {
			if r := &g.rules[i]; r.matches(rel, name, dir) {
				return !r.negated
			}
		}
	}
	return false
}

// below adds the ignore file of a directory; rel is its path in the searched
// folder, "" for that itself.
func (g *ignores) below(dir, rel string) *ignores {
	return g.with(filepath.Join(dir, ".gitignore"), "", skipOf(rel))
}

func (g *ignores) with(file, prefix string, skip int) *ignores {
	rules := parseIgnore(readIgnore(file))
	if len(rules) == 0 {
		return g
	}
	return &ignores{above: g, rules: rules, prefix: prefix, skip: skip}
}

func skipOf(rel string) int {
	if rel == "" {
		return 0
	}
	return len(rel) + 1
}

// repository is where the rules of a repository start: the user's own, then
// those of the repository that are not in the tree.
func repository(top, prefix string, skip int) *ignores {
	var g *ignores
	if file := userIgnore(); file != "" {
		g = g.with(file, prefix, skip)
	}
	if dir := commonDir(filepath.Join(top, ".git")); dir != "" {
		g = g.with(filepath.Join(dir, "info", "exclude"), prefix, skip)
	}
	return g
}

// ignoresAbove finds the repository that a folder is in and returns the rules
// from its top down to the folder, whose own file is left out. nil when the
// folder is in no repository.
func ignoresAbove(root string) *ignores {
	top := root
	for !isRepository(top) {
		parent := filepath.Dir(top)
		if parent == top {
			return nil
		}
		top = parent
	}
	rel, err := filepath.Rel(top, root)
	if err != nil {
		return nil
	}
	var parts []string
	if rel != "." {
		parts = strings.Split(filepath.ToSlash(rel), "/")
	}
	prefix := func(n int) string {
		if n == len(parts) {
			return ""
		}
		return strings.Join(parts[n:], "/") + "/"
	}
	g := repository(top, prefix(0), 0)
	dir := top
	for i, part := range parts {
		g = g.with(filepath.Join(dir, ".gitignore"), prefix(i), 0)
		dir = filepath.Join(dir, part)
	}
	return g
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// commonDir is where a repository keeps its info folder. In a linked working
// tree .git is a file that leads there in two steps.
func commonDir(git string) string {
	info, err := os.Lstat(git)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return git
	}
	line, ok := strings.CutPrefix(string(readIgnore(git)), "gitdir: ")
	if !ok {
		return ""
	}
	dir := strings.TrimSpace(line)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(git), dir)
	}
	common := strings.TrimSpace(string(readIgnore(filepath.Join(dir, "commondir"))))
	switch {
	case common == "":
		return dir
	case filepath.IsAbs(common):
		return common
	}
	return filepath.Join(dir, common)
}

// userIgnore is the file of the user's own rules at its default place.
func userIgnore() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git", "ignore")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".config", "git", "ignore")
	}
	return ""
}

// readIgnore reads a small file; nil when there is none. A link is not
// followed, as git does not.
func readIgnore(file string) []byte {
	f, err := openFile(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return data
}
