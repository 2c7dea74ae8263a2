package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Layout is what a policy means for the file system as it is now: which paths may
// be written and which inside of them may not. The entry with the longest path
// above or at a path decides about it; without any it may not be written.
type Layout struct {
	entries []entry // by path, so that what lies above comes before
	repos   []string
	names   []named
	known   map[string]bool // what git takes for a repository, as far as it was looked for
	unmade  []string        // see Policy.Unmade; those that are not there
}

// entry is a path without symbolic links and whether what is below is writable.
type entry struct {
	path  string
	write bool
}

// named is a folder in which names are protected, whether they exist or not.
type named struct {
	dir  string
	home bool // all names that no entry speaks of, rather than those of the list
}

// NewLayout looks at the file system. What does not exist has no entry: no
// mechanism can keep a name from appearing in a writable folder on its own.
func NewLayout(p Policy) *Layout {
	l := &Layout{}
	if p.Mode != WorkspaceWrite {
		return l
	}
	var roots []string
	for _, dir := range p.Roots {
		if real, ok := realDir(dir); ok {
			roots = append(roots, real)
			l.add(real, true)
		}
	}
	for _, dir := range p.Temp {
		if real, ok := realDir(dir); ok {
			l.add(real, true)
		}
	}
	if home, ok := realDir(p.Home); ok && l.above(home) {
		l.freeze(home)
	}
	for _, root := range roots {
		l.names = append(l.names, named{dir: root})
		l.protectNames(root)
		l.protectRepo(root)
		for _, sub := range children(root, maxNeighbours) {
			if sub.IsDir() && !strings.HasPrefix(sub.Name(), ".") {
				l.protectRepo(filepath.Join(root, sub.Name()))
			}
		}
	}
	for _, path := range p.Unmade {
		if _, err := os.Lstat(path); err != nil {
			l.unmade = append(l.unmade, filepath.Clean(path))
		}
	}
	for _, path := range p.Protected {
		if real, err := filepath.EvalSymlinks(path); err == nil && l.above(real) {
			l.add(real, false)
		}
	}
	slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return l
}

// maxChildren bounds how many entries of a folder are looked at, maxNeighbours in
// how many folders of a root a repository is looked for.
const (
	maxChildren   = 4096
	maxNeighbours = 512
)

func children(dir string, limit int) []os.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.ReadDir(limit)
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

func realDir(dir string) (string, bool) {
	if dir == "" || !filepath.IsAbs(dir) {
		return "", false
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || filepath.Dir(real) == real {
		return "", false
	}
	info, err := os.Stat(real)
	return real, err == nil && info.IsDir()
}

// add sets the entry of a path. What is protected stays so.
func (l *Layout) add(path string, write bool) {
	for i := range l.entries {
		if l.entries[i].path == path {
			l.entries[i].write = l.entries[i].write && write
			return
		}
	}
	l.entries = append(l.entries, entry{path, write})
}

// above says whether a writable entry lies at or above a path, whatever is
// between them.
func (l *Layout) above(path string) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool { return e.write && within(path, e.path) })
}

// within says whether a path is a folder or lies in it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// freeze keeps the home folder: nothing appears in it, hidden entries stay, and
// the rest may be written as far as it could be. A root inside of a hidden entry
// stays a root.
func (l *Layout) freeze(home string) {
	l.names = append(l.names, named{dir: home, home: true})
	for i := range l.entries {
		if l.entries[i].path == home {
			l.entries[i].write = false
		}
	}
	l.add(home, false)
	programs := filepath.SplitList(os.Getenv("PATH"))
	for _, c := range children(home, maxChildren) {
		path := filepath.Join(home, c.Name())
		if strings.HasPrefix(c.Name(), ".") || c.Type()&os.ModeSymlink != 0 || slices.Contains(programs, path) || autostarts(c.Name()) {
			continue
		}
		l.add(path, true)
	}
}

// autostarts says whether a folder of the home folder that is not hidden holds
// what the system starts by itself.
func autostarts(name string) bool { return runtime.GOOS == "darwin" && name == "Library" }

// protectNames keeps the entries of a root that make programs run by themselves.
func (l *Layout) protectNames(root string) {
	for _, name := range selfRunning {
		path := filepath.Join(root, name)
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
			l.add(path, false)
		}
	}
}

// Writable says whether a command could write at a path, which is absolute and
// has no symbolic links. The path need not exist.
func (l *Layout) Writable(path string) bool {
	path = filepath.Clean(path)
	write, longest := false, -1
	for _, e := range l.entries {
		if within(path, e.path) && len(e.path) > longest {
			write, longest = e.write, len(e.path)
		}
	}
	return write && !l.protectedName(path, longest)
}

// protectedName says whether a path is one that no tool may write even though it
// does not exist yet, so that no entry speaks of it. An entry deeper than the
// folder has the last word.
func (l *Layout) protectedName(path string, longest int) bool {
	for _, n := range l.names {
		if !within(path, n.dir) || path == n.dir || longest > len(n.dir) && n.home {
			continue
		}
		rel := path[len(n.dir)+1:]
		first, rest, _ := strings.Cut(rel, string(filepath.Separator))
		switch {
		case n.home, runsByItself(first):
			return true
		case foldName(first) == ".git" && (rest == "" || gitProtected(rest)):
			return true
		}
	}
	return false
}

// nested says whether something protected lies inside of something writable, for
// which a list of what may be written is not enough.
func (l *Layout) nested() bool {
	for _, e := range l.entries {
		if !e.write && l.above(e.path) {
			return true
		}
	}
	return false
}

// Roots lists what may be written, without what lies in another of them.
func (l *Layout) Roots() []string { return l.list(true) }

// Kept lists what may not be written inside of what may.
func (l *Layout) Kept() []string { return l.list(false) }

func (l *Layout) list(write bool) []string {
	var out []string
	for _, e := range l.entries {
		if e.write == write && !(write && slices.ContainsFunc(out, func(o string) bool { return within(e.path, o) })) && (write || l.above(e.path)) {
			out = append(out, e.path)
		}
	}
	return out
}

// step is one mount that gives a protected path its protection.
type step struct {
	path string
	kind kind
}

type kind uint8

const (
	pin      kind = iota // a mount point, so that it cannot be renamed
	readOnly             // writable no more
	writable             // writable again
)

// steps are the mounts that keep what is protected, in the order in which they
// are to be made. Every folder between a root and a protected path becomes a
// mount point: one that is not could be renamed, with a copy put in its place.
func (l *Layout) steps() []step {
	if !l.nested() {
		return nil
	}
	kinds := map[string]kind{}
	for _, e := range l.entries {
		if e.write {
			continue
		}
		top := l.topAbove(e.path)
		if top == "" {
			continue
		}
		kinds[e.path] = readOnly
		for dir := filepath.Dir(e.path); within(dir, top); dir = filepath.Dir(dir) {
			if _, ok := kinds[dir]; !ok {
				kinds[dir] = pin
			}
		}
	}
	for _, e := range l.entries {
		if e.write && !l.governed(filepath.Dir(e.path)) && l.topAbove(filepath.Dir(e.path)) != "" {
			kinds[e.path] = writable
		}
	}
	out := make([]step, 0, len(kinds))
	for path, k := range kinds {
		if k == pin && !l.governed(path) {
			continue // already read-only through what is above it
		}
		out = append(out, step{path, k})
	}
	slices.SortFunc(out, func(a, b step) int { return strings.Compare(a.path, b.path) })
	return out
}

// mounts are the steps where everything that is not mounted again becomes
// read-only: each outermost writable path has to be a mount of its own then.
func (l *Layout) mounts() []step {
	out := l.steps()
	for _, root := range l.Roots() {
		if !slices.ContainsFunc(out, func(s step) bool { return s.path == root }) {
			out = append(out, step{root, pin})
		}
	}
	slices.SortFunc(out, func(a, b step) int { return strings.Compare(a.path, b.path) })
	return out
}

// topAbove is the outermost writable entry at or above a path.
func (l *Layout) topAbove(path string) string {
	top := ""
	for _, e := range l.entries {
		if e.write && within(path, e.path) && (top == "" || len(e.path) < len(top)) {
			top = e.path
		}
	}
	return top
}

// governed says whether the entries alone make a path writable.
func (l *Layout) governed(path string) bool {
	write, longest := false, -1
	for _, e := range l.entries {
		if within(path, e.path) && len(e.path) > longest {
			write, longest = e.write, len(e.path)
		}
	}
	return write
}

// sortPaths sorts so that what lies above comes first.
func sortPaths(paths []string) { slices.Sort(paths) }
