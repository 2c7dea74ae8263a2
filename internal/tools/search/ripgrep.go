package search

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/proc"
)

const (
	// fewFiles are searched faster than a program starts.
	fewFiles = 64
	// batchFiles is how many files one run of ripgrep gets.
	batchFiles = 1000
)

// batchBytes bounds the length of a command line.
func batchBytes() int {
	if runtime.GOOS == "windows" {
		return 24 << 10
	}
	return 96 << 10
}

// ripgrep says which files of a list can have matches. The list is ours and the
// files that it names are searched again, so that it never changes an answer; it
// only saves reading the other files here.
type ripgrep struct {
	procs *proc.Supervisor
	find  func() string // the program, "" when there is none
}

func newRipgrep(opts Options) *ripgrep {
	r := &ripgrep{procs: opts.Supervisor}
	switch {
	case opts.NoRipgrep || opts.Supervisor == nil:
		r.find = func() string { return "" }
	case opts.Ripgrep != "":
		r.find = func() string { return opts.Ripgrep }
	default:
		r.find = sync.OnceValue(func() string { return lookPath("rg") })
	}
	return r
}

// lookPath finds a program in the absolute folders of PATH: one that lies in the
// working directory is never meant.
func lookPath(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0) {
			return path
		}
	}
	return ""
}

// plain says whether a path comes back from the program as it went in.
func plain(path string) bool { return utf8.ValidString(path) }

// candidates returns those of the files, relative to root, that may have
// matches. false means that the program did not answer well, and all may have.
func (r *ripgrep) candidates(ctx context.Context, root, expression string, multiline bool, files []string) (map[string]bool, bool) {
	args := []string{
		r.find(), "--no-config", "--no-messages", "--color=never", "--files-with-matches", "--null",
		"--text", "--threads=1",
	}
	if multiline {
		args = append(args, "--multiline")
	}
	args = append(args, "-e", expression, "--")
	limit := 1024
	for _, f := range files {
		if plain(f) {
			args = append(args, "./"+f)
			limit += len(f) + 3
		}
	}
	out, err := r.procs.Run(ctx, proc.Command{Spec: proc.Spec{Args: args, Dir: root}}, proc.RunOptions{Limit: limit, EndGroup: true})
	if err != nil || out.Aborted || out.Stdout.Truncated || out.Signal != "" || out.Code != 0 && out.Code != 1 {
		return nil, false
	}
	may := make(map[string]bool)
	for path := range strings.SplitSeq(out.Stdout.Text, "\x00") {
		may[strings.TrimPrefix(filepath.ToSlash(path), "./")] = true
	}
	return may, true
}
