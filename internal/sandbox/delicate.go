package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// selfRunning are the names at the top of a workspace whose files make programs
// run something by themselves: an editor that opens the folder, a shell that
// enters it, a package manager, an agent, a debugger. Files that only instruct
// (AGENTS.md) or run elsewhere and after a review (.github) are not among them:
// commands such as formatters have business there.
var selfRunning = strings.Fields(`
.gitconfig .husky .githooks .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml
.vscode .idea .zed .devcontainer .devcontainer.json .nvim.lua .exrc .vimrc .nvimrc .dir-locals.el
.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .cargo .bazelrc .gdbinit .lldbinit
.envrc .mise.toml mise.toml .mise .autoenv
.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login
.dsh-acp.yaml .dsh .claude .codex .agents .cursor .windsurf .gemini .mcp.json`)

// runsByItself says whether a name at the top of a workspace is protected. Case
// does not count: on some file systems it does not tell names apart.
func runsByItself(name string) bool { return slices.Contains(selfRunning, foldName(name)) }

func foldName(name string) string { return strings.ToLower(name) }

// gitFiles are what git takes orders from inside of a repository: hooks, and every
// file that can name hooks or a program. commondir makes git look for all of that
// somewhere else.
var gitFiles = []string{"config", "config.worktree", "hooks", "commondir", "gitdir"}

// gitProtected says whether a path inside of a repository is one of those.
func gitProtected(rel string) bool {
	if rel == "" {
		return false
	}
	parts := strings.Split(foldName(rel), string(filepath.Separator))
	switch {
	case slices.Contains(gitFiles, parts[0]):
		return true
	case len(parts) > 2 && (parts[0] == "modules" || parts[0] == "worktrees"):
		return slices.ContainsFunc(parts[2:], func(p string) bool { return slices.Contains(gitFiles, p) })
	}
	return false
}

// maxRepos bounds how many repositories are looked at: those of submodules and of
// linked work trees beside the main one.
const maxRepos = 256

// protectRepo keeps what git takes orders from, for the repository of a folder.
// The rest of it stays writable: commits, branches and merges work.
func (l *Layout) protectRepo(dir string) {
	if isBare(func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }) {
		l.repo(dir, 0)
	}
	git := filepath.Join(dir, ".git")
	info, err := os.Lstat(git)
	switch {
	case err != nil:
		return
	case len(l.repos) >= maxRepos:
		l.know(git)
		return
	case !info.IsDir():
		l.know(git)
		// A file that names a repository elsewhere, or a link to one: what it names
		// stays what it is, and is not writable where it is no root's.
		if info.Mode().IsRegular() {
			l.add(git, false)
			if common, ok := linkedRepo(git); ok {
				l.add(common, true)
				l.repo(common, 0)
			} else if named, ok := namedRepo(git); ok && l.above(named) {
				if _, err := os.Lstat(filepath.Join(named, "HEAD")); err == nil {
					l.repo(named, 0)
				}
			}
		}
		return
	}
	if _, err := os.Lstat(filepath.Join(git, "HEAD")); err != nil {
		return // no repository
	}
	l.repo(git, 0)
}

// isBare says whether git takes a folder with these names in it for a repository
// without files: it looks for one wherever it finds no .git.
func isBare(there func(name string) bool) bool {
	return there("HEAD") && (there("commondir") || there("objects") && there("refs"))
}

func (l *Layout) know(git string) {
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.known[git] = true
}

// linkedRepo gives the repository that a linked work tree belongs to, which has to
// be writable for a commit. The file in the work tree proves nothing, for a command
// may have written it; that the repository lists the work tree does.
func linkedRepo(git string) (common string, ok bool) {
	dir, ok := namedRepo(git)
	if !ok || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return "", false
	}
	back, ok := smallFile(filepath.Join(dir, "gitdir"))
	if !ok {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(strings.TrimSpace(back)); err != nil || real != git {
		return "", false
	}
	common = filepath.Dir(filepath.Dir(dir))
	for _, name := range []string{"HEAD", "objects", "refs", "config"} {
		if _, err := os.Lstat(filepath.Join(common, name)); err != nil {
			return "", false
		}
	}
	return common, true
}

// namedRepo gives the folder that a file in the place of a repository names.
func namedRepo(git string) (dir string, ok bool) {
	text, ok := smallFile(git)
	dir, found := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
	if !ok || !found {
		return "", false
	}
	if dir = strings.TrimSpace(dir); !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(git), dir)
	}
	dir, err := filepath.EvalSymlinks(dir)
	return dir, err == nil
}

// maxSmallFile is far more than a path takes.
const maxSmallFile = 64 << 10

// smallFile gives the text of a regular file. A command may have put anything in its
// place: a pipe that nobody writes to, or a file of any size.
func smallFile(path string) (text string, ok bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSmallFile {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSmallFile))
	return string(data), err == nil
}

func (l *Layout) repo(git string, depth int) {
	l.repos = append(l.repos, git)
	if _, err := os.Lstat(filepath.Join(git, "config")); err == nil {
		l.know(git) // without one there would be nothing to keep
	}
	for _, name := range gitFiles {
		path := filepath.Join(git, name)
		switch info, err := os.Lstat(path); {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			// Where it leads is protected by lying outside, or by the pin of .git if
			// it lies inside; the link itself cannot be a mount point.
		default:
			l.add(path, false)
		}
	}
	for _, kind := range []string{"modules", "worktrees"} {
		l.repoFolder(filepath.Join(git, kind), depth)
	}
}

// repoFolder looks for repositories: the name of a submodule may have slashes.
func (l *Layout) repoFolder(dir string, depth int) {
	if depth > 4 {
		return
	}
	for _, c := range children(dir, maxChildren) {
		if !c.IsDir() || len(l.repos) >= maxRepos {
			continue
		}
		path := filepath.Join(dir, c.Name())
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err == nil {
			l.repo(path, depth+1)
		} else {
			l.repoFolder(path, depth+1)
		}
	}
}

// prepare makes the folder for hooks where a repository has none, so that there
// is something to protect: git takes an empty one for none.
func (l *Layout) prepare() {
	for _, git := range l.repos {
		hooks := filepath.Join(git, "hooks")
		if !l.governed(git) || filepath.Base(filepath.Dir(git)) == "worktrees" {
			continue
		}
		if err := os.Mkdir(hooks, 0o777); err == nil {
			l.insert(hooks)
		}
	}
}

func (l *Layout) insert(path string) {
	l.add(path, false)
	slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
}

// appeared lists the files by which a repository could be led to take its
// configuration from elsewhere and that are not there now. They cannot be kept
// from appearing beside what git has to write; see [Run.Undone].
func (l *Layout) absent() []string {
	var out []string
	for _, git := range l.repos {
		if filepath.Base(filepath.Dir(git)) == "worktrees" || !l.governed(git) {
			continue
		}
		for _, name := range []string{"commondir", "config.worktree"} {
			path := filepath.Join(git, name)
			if _, err := os.Lstat(path); err != nil {
				out = append(out, path)
			}
		}
	}
	return out
}
