package sandbox

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A command may make a repository, and everybody who later uses git there does what
// its hooks and configuration say. No mechanism keeps a name from appearing; so what
// has appeared is looked at when the command has ended, and what names a program is
// set aside under another name, where git does not look.

// maxGitConfig is how much of a configuration is read; a longer one is set aside.
const maxGitConfig = 256 << 10

// vet looks at the repositories that are at the top of a root, or one folder down,
// and that known knows nothing of. It gives what it set aside.
func (l *Layout) vet(known func(git string) bool) (held []string) {
	for _, n := range l.names {
		if n.home {
			continue
		}
		root, err := os.OpenRoot(n.dir)
		if err != nil {
			continue
		}
		v := &vetting{layout: l, known: known, root: root, dir: n.dir}
		v.folder(".")
		for _, c := range children(n.dir, maxNeighbours) {
			if c.IsDir() && !strings.HasPrefix(c.Name(), ".") {
				v.folder(c.Name())
			}
		}
		v.unmade()
		_ = root.Close()
		held = append(held, v.held...)
	}
	return held
}

// unmade sets aside the files in this root that are not to be made. A link on the
// way to one that leads out of the root is set aside itself: what is there is not
// ours to rename.
func (v *vetting) unmade() {
	for _, path := range v.layout.unmade {
		// By its name, and where its folder is by now: the root has no links in it.
		names := []string{path}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			names = append(names, filepath.Join(dir, filepath.Base(path)))
		}
		for _, name := range names {
			rel, err := filepath.Rel(v.dir, name)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			if _, err := os.Lstat(name); err != nil {
				continue
			}
			if _, err := v.root.Lstat(rel); err == nil && v.setAside(rel) {
				continue
			}
			for i := 1; i < len(rel); i++ {
				if rel[i] != filepath.Separator {
					continue
				}
				if info, err := v.root.Lstat(rel[:i]); err == nil && info.Mode()&os.ModeSymlink != 0 {
					v.setAside(rel[:i])
					break
				}
			}
		}
	}
}

// vetting is the look at one root. Every path is relative to it, and none of its
// operations leads out of it, whatever links a process puts in its way.
type vetting struct {
	layout *Layout
	known  func(git string) bool
	root   *os.Root
	dir    string
	held   []string
	depth  int
}

// folder looks at the repository of a folder, and at the folder if it is one itself.
func (v *vetting) folder(dir string) {
	v.place(filepath.Join(dir, ".git"))
	if isBare(func(name string) bool { return v.there(filepath.Join(dir, name)) }) {
		v.repo(dir)
	}
}

// place looks at what git would take for a repository.
func (v *vetting) place(git string) {
	if v.known(filepath.Join(v.dir, git)) {
		return
	}
	info, err := v.root.Lstat(git)
	switch {
	case err != nil:
	case info.IsDir():
		v.repo(git)
	case !info.Mode().IsRegular() || !v.leads(git):
		v.setAside(git)
	}
}

// leads says whether a file that names a repository names one that a command cannot
// have made, or that has been looked at. It has to say so in the way that git writes
// it, and without links: others read the same text as another path, git among them.
func (v *vetting) leads(git string) bool {
	text, ok := v.read(git)
	if ok && strings.TrimSpace(text) == "" {
		return true
	}
	target, found := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
	if !ok || !found || target == "" || target != filepath.Clean(target) || target != strings.TrimSpace(target) {
		return false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(v.dir, filepath.Dir(git), target)
	}
	real, err := filepath.EvalSymlinks(target)
	if err != nil {
		return false // it may appear
	}
	if !v.layout.governed(real) {
		return true
	}
	rel, err := filepath.Rel(v.dir, real)
	if err != nil || !filepath.IsLocal(rel) || real != target {
		return false
	}
	v.repo(rel)
	// Only what is a repository already will be kept from the next command.
	if filepath.Base(filepath.Dir(rel)) == "worktrees" {
		_, ok := linkedRepo(filepath.Join(v.dir, git))
		return ok && v.there(filepath.Join(rel, "commondir"))
	}
	return v.there(filepath.Join(rel, "HEAD")) && v.there(filepath.Join(rel, "config"))
}

// repo looks at a repository's own files.
func (v *vetting) repo(git string) {
	if v.known(filepath.Join(v.dir, git)) || v.depth > 2 {
		return
	}
	v.depth++
	defer func() { v.depth-- }()
	v.hooks(filepath.Join(git, "hooks"))
	v.config(git)
	v.ifThere(filepath.Join(git, "config.worktree"))
	common := filepath.Join(git, "commondir")
	if _, err := v.root.Lstat(common); err == nil {
		text, ok := v.read(common)
		// That of a linked work tree says where the repository is that it belongs to.
		if ok && filepath.Base(filepath.Dir(git)) == "worktrees" && strings.TrimRight(text, "\r\n") == filepath.Join("..", "..") {
			v.repo(filepath.Dir(filepath.Dir(git)))
		} else {
			v.setAside(common)
		}
	}
}

func (v *vetting) hooks(dir string) {
	info, err := v.root.Lstat(dir)
	if err != nil {
		return
	}
	if !info.IsDir() {
		v.setAside(dir)
		return
	}
	f, err := v.root.OpenFile(dir, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		v.setAside(dir)
		return
	}
	list, err := f.ReadDir(maxChildren)
	_ = f.Close()
	if err != nil && err != io.EOF || len(list) == maxChildren {
		v.setAside(dir)
		return
	}
	for _, e := range list {
		if !e.IsDir() && !strings.HasSuffix(e.Name(), ".sample") && !strings.Contains(e.Name(), HeldBack) {
			v.setAside(filepath.Join(dir, e.Name()))
		}
	}
}

func (v *vetting) config(git string) {
	path := filepath.Join(git, "config")
	if _, err := v.root.Lstat(path); err != nil {
		return
	}
	text, ok := v.read(path)
	harmless, all := "", false
	if ok {
		harmless, all = harmlessConfig(text, func(worktree string) bool {
			rel, err := filepath.Rel(v.dir, filepath.Join(v.dir, git, worktree))
			return err == nil && !filepath.IsAbs(worktree) && filepath.IsLocal(rel)
		})
	}
	if all {
		return
	}
	if !v.setAside(path) {
		return
	}
	if f, err := v.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
		_, _ = f.WriteString(harmless)
		_ = f.Close()
	}
}

// read gives the text of a regular file.
func (v *vetting) read(path string) (text string, ok bool) {
	if info, err := v.root.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxGitConfig {
		return "", false
	}
	f, err := v.root.OpenFile(path, os.O_RDONLY|nonBlocking, 0) // it may be a pipe by now
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxGitConfig+1))
	return string(data), err == nil && len(data) <= maxGitConfig
}

func (v *vetting) there(path string) bool {
	_, err := v.root.Lstat(path)
	return err == nil
}

func (v *vetting) ifThere(path string) {
	if v.there(path) {
		v.setAside(path)
	}
}

// setAside renames what is at a path; what cannot be renamed is removed. It does so
// where a command may have put it, and nowhere else: a command can name any folder
// of the workspace as a repository, or lead a name to it, and not all are its to change.
func (v *vetting) setAside(path string) bool {
	dir, err := v.root.OpenRoot(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer dir.Close()
	real, ok := place(dir)
	name := filepath.Base(path)
	if !ok || !v.layout.governed(filepath.Join(real, name)) {
		return false
	}
	for n := 1; n < 100; n++ {
		to := name + HeldBack
		if n > 1 {
			to += fmt.Sprint("-", n)
		}
		if _, err := dir.Lstat(to); err == nil {
			continue
		}
		if dir.Rename(name, to) == nil {
			v.held = append(v.held, filepath.Join(v.dir, path))
			return true
		}
		break
	}
	if _, err := dir.Lstat(name); err == nil && dir.RemoveAll(name) == nil {
		v.held = append(v.held, filepath.Join(v.dir, path))
		return true
	}
	return false
}

// place is where an open folder lies, whatever its name leads to by now.
func place(dir *os.Root) (path string, ok bool) {
	f, err := dir.Open(".")
	if err != nil {
		return "", false
	}
	defer f.Close()
	path, err = os.Readlink(fmt.Sprint("/proc/self/fd/", f.Fd()))
	return path, err == nil
}
