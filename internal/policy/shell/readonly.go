package shell

import (
	"slices"
	"strings"
	"sync"
)

// readers are programs that only read and print, whatever their words say.
var readers = sync.OnceValue(func() []string {
	return strings.Fields(`cat ls pwd head tail wc stat du df echo true false basename dirname realpath readlink uname whoami id groups
cmp comm cut nl tr tac rev fold paste grep egrep fgrep which type seq cksum md5sum sha1sum sha256sum nproc arch hostid tty cd jq column strings od hexdump test [`)
})

// gitReaders are the subcommands of git that only read, given harmless options.
var gitReaders = strings.Fields("status log diff show rev-parse ls-files ls-tree blame describe shortlog cat-file merge-base rev-list name-rev")

// ReadOnly says whether every command of the line is recognised as one that
// changes nothing: a short list of programs, and only options that are known
// to be harmless. What is not recognised may still be harmless.
func (l *Line) ReadOnly() bool {
	if len(l.Unsure) > 0 || len(l.Commands) == 0 {
		return false
	}
	for _, c := range l.Commands {
		if !c.readOnly() {
			return false
		}
	}
	return true
}

func (c *Command) readOnly() bool {
	if c.Hidden || c.unsure != "" || len(c.assigns) > 0 || len(c.redirects) > 0 || len(c.spelled) > 0 || len(c.words) == 0 {
		return false
	}
	name, ok := c.words[0].static()
	if !ok {
		return false
	}
	if slices.Contains(readers(), name) {
		return true
	}
	// The rest has options that write or run something, so every word must be
	// known: a file name pattern could become such an option.
	var args []string
	for _, w := range c.words[1:] {
		text, ok := w.static()
		if !ok {
			return false
		}
		args = append(args, text)
	}
	switch name {
	case "find":
		return !slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "-") && !slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-type", "-maxdepth", "-mindepth", "-size", "-newer", "-mtime", "-mmin", "-not", "-o", "-a", "-print", "-print0", "-prune", "-empty", "-L", "-H", "-P"}, a)
		})
	case "rg":
		return !slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--p") || strings.HasPrefix(a, "--h") || strings.HasPrefix(a, "--search-z") || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "z")
		})
	case "sort":
		return !slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "-") && strings.Trim(a, "-bdfginrRsuVhM") != "" || strings.HasPrefix(a, "--")
		})
	case "date":
		return len(args) == 0 || len(args) == 1 && (args[0] == "-u" || strings.HasPrefix(args[0], "+"))
	case "git":
		if len(args) == 0 || !slices.Contains(gitReaders, args[0]) {
			return false
		}
		return !slices.ContainsFunc(args[1:], func(a string) bool {
			if a == "--oneline" {
				return false
			}
			return strings.HasPrefix(a, "--o") || strings.HasPrefix(a, "--ex") || strings.HasPrefix(a, "--te") || strings.HasPrefix(a, "--filters") || strings.HasPrefix(a, "--co")
		})
	}
	return false
}
