package sandbox

import (
	"slices"
	"strings"
	"unicode"
)

// harmlessKeys are what a new repository's configuration may say: nothing that names
// a program, another file of configuration, or another place for files. By section;
// those with a name have ".*".
var harmlessKeys = map[string][]string{
	"core": strings.Fields(`repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks sharedrepository
		autocrlf eol safecrlf abbrev compression quotepath whitespace longpaths sparsecheckout sparsecheckoutcone untrackedcache preloadindex worktree`),
	"extensions":  {"objectformat", "refstorage", "partialclone"},
	"remote.*":    {"url", "pushurl", "fetch", "push", "tagopt", "prune", "mirror", "promisor", "partialclonefilter"},
	"branch.*":    {"remote", "merge", "rebase", "pushremote", "description"},
	"submodule.*": {"url", "active", "branch", "ignore"},
	"submodule":   {"active", "recurse"},
	"user":        {"name", "email"},
	"commit":      {"gpgsign"},
	"tag":         {"gpgsign"},
	"gc":          {"auto"},
	"init":        {"defaultbranch"},
	"pull":        {"rebase", "ff"},
	"push":        {"default", "autosetupremote", "followtags"},
	"fetch":       {"prune", "prunetags"},
	"merge":       {"ff", "conflictstyle"},
	"rebase":      {"autostash", "autosquash"},
	"lfs":         {"repositoryformatversion"},
}

// harmlessConfig reads a configuration of git and gives what of it names nothing
// that runs; all says that this is all there is. It reads a small part of what git
// understands: what it does not read as git would it leaves out. worktree says
// whether the repository may have its files there.
func harmlessConfig(text string, worktree func(string) bool) (harmless string, all bool) {
	var out strings.Builder
	all = true
	var header string
	var keys []string
	written := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || (line[0] == '#' || line[0] == ';') && !strings.HasSuffix(line, `\`) {
			continue
		}
		if line[0] == '[' {
			header, keys = harmlessSection(line)
			written = false
			// A section without anything in it does nothing, but git may read what
			// stands behind a header that is not read here.
			all = all && keys != nil
			continue
		}
		name, value, found := strings.Cut(line, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !found || !slices.Contains(keys, name) || !harmlessValue(value) || header == "[core]" && name == "worktree" && !worktree(value) {
			all = false
			continue
		}
		if !written {
			out.WriteString(header + "\n")
			written = true
		}
		out.WriteString("\t" + name + " = " + value + "\n")
	}
	return out.String(), all
}

// harmlessSection reads the header of a section and gives the keys that it may have;
// nil for a section that may have none.
func harmlessSection(line string) (header string, keys []string) {
	inner, ok := strings.CutSuffix(line[1:], "]")
	if !ok {
		return "", nil
	}
	name, sub, named := strings.Cut(inner, ` "`)
	name = strings.ToLower(name)
	if strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }) {
		return "", nil
	}
	if !named {
		return "[" + name + "]", harmlessKeys[name]
	}
	if sub, ok = strings.CutSuffix(sub, `"`); !ok || strings.ContainsAny(sub, `"\`) || strings.ContainsFunc(sub, unicode.IsControl) {
		return "", nil
	}
	return "[" + name + ` "` + sub + `"]`, harmlessKeys[name+".*"]
}

// harmlessValue says whether a value means what it says: nothing that git would read
// as a quote, an escape or a comment, no command, and no URL that a helper serves.
func harmlessValue(value string) bool {
	return !strings.ContainsAny(value, "\"\\#;") && !strings.ContainsFunc(value, unicode.IsControl) && !strings.HasPrefix(value, "!") && !strings.Contains(value, "::")
}
