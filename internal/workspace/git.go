package workspace

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// gitState is what a few small files say about a repository. No process is
// started and nothing is compared: a status of the work tree can take minutes in
// a large one.
type gitState struct {
	top    string // the folder with .git; "" when there is none
	branch string // "" when HEAD is detached or cannot be understood
	commit string // shortened; "" when it is not known or there is none yet
	doing  string // "merge", "rebase", …; "" for nothing
}

// String is the state in words, on one line.
func (g gitState) String() string {
	if g.top == "" {
		return "not a repository"
	}
	var s string
	switch {
	case g.branch != "" && g.commit != "":
		s = "branch " + g.branch + " at " + g.commit
	case g.branch != "":
		s = "branch " + g.branch
	case g.commit != "":
		s = "detached at " + g.commit
	default:
		s = "a repository whose HEAD could not be read"
	}
	if g.doing != "" {
		s += ", in the middle of a " + g.doing
	}
	return s + ", top folder " + oneLine(g.top)
}

// The most that is read of git's files, in bytes.
const (
	maxGitFile    = 4 << 10
	maxPackedRefs = 4 << 20
)

// readGit looks from dir upwards.
func readGit(dir string) gitState {
	for ; ; dir = filepath.Dir(dir) {
		dotGit := filepath.Join(dir, ".git")
		if info, err := os.Stat(dotGit); err == nil {
			if info.IsDir() {
				return readGitDir(dir, dotGit)
			}
			// A work tree or a submodule: the file names the folder.
			if to, ok := strings.CutPrefix(firstLine(dotGit), "gitdir: "); ok {
				return readGitDir(dir, against(dir, to))
			}
		}
		if dir == filepath.Dir(dir) {
			return gitState{}
		}
	}
}

func readGitDir(top, gitDir string) gitState {
	g := gitState{top: top}
	common := gitDir
	if to := firstLine(filepath.Join(gitDir, "commondir")); to != "" {
		common = against(gitDir, to)
	}
	head := firstLine(filepath.Join(gitDir, "HEAD"))
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		// Repositories with another store of references have a placeholder here.
		if validRef(ref) && ref != "refs/heads/.invalid" {
			g.branch = strings.TrimPrefix(ref, "refs/heads/")
			g.commit = short(readRef(gitDir, common, ref))
		}
	} else {
		g.commit = short(head)
	}
	for _, m := range []struct{ file, doing string }{
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, m.file)); err == nil {
			g.doing = m.doing
			break
		}
	}
	return g
}

func readRef(gitDir, common, ref string) string {
	for _, dir := range []string{gitDir, common} {
		if id := firstLine(filepath.Join(dir, filepath.FromSlash(ref))); id != "" {
			return id
		}
	}
	f := openGit(filepath.Join(common, "packed-refs"))
	if f == nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxPackedRefs))
	for lines.Scan() {
		if id, name, ok := strings.Cut(lines.Text(), " "); ok && name == ref {
			return id
		}
	}
	return ""
}

// validRef reports whether a reference is safe to look up as a file and to
// show on a line.
func validRef(ref string) bool {
	if !strings.HasPrefix(ref, "refs/") || len(ref) > 250 || strings.Contains(ref, "..") || strings.ContainsAny(ref, "\\:?*[~^ ") {
		return false
	}
	return oneLine(ref) == ref
}

// short is the beginning of an object id, "" for anything else.
func short(id string) string {
	if len(id) != 40 && len(id) != 64 {
		return ""
	}
	for _, c := range id {
		if !strings.ContainsRune("0123456789abcdef", c) {
			return ""
		}
	}
	return id[:10]
}

func against(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// firstLine is the first line of a small file, "" when there is none.
func firstLine(path string) string {
	f := openGit(path)
	if f == nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSuffix(line, "\r")
}

// openGit opens a regular file without waiting for anything; nil when it cannot.
func openGit(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil
	}
	return f
}
