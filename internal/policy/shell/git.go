package shell

import (
	"slices"
	"strings"
	"sync"
)

// gitBuiltins are git's own subcommands; any other may be an alias.
var gitBuiltins = sync.OnceValue(func() []string {
	return strings.Fields(`add am annotate apply archive backfill bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout--worker
checkout-index cherry cherry-pick citool clean clone column commit commit-graph commit-tree config count-objects credential credential-cache credential-cache--daemon credential-store cvsexportcommit
cvsimport cvsserver daemon describe diagnose diff diff-files diff-index diff-pairs diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo
format-patch fsck fsck-objects fsmonitor--daemon gc get-tar-commit-id gitk grep gui hash-object help hook http-backend http-fetch http-push imap-send index-pack init init-db instaweb
interpret-trailers lfs log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-octopus merge-one-file merge-ours merge-recursive
merge-resolve merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push quiltimport
range-diff read-tree rebase receive-pack reflog refs remote remote-ext remote-fd remote-ftp remote-ftps remote-http remote-https repack replace replay repo request-pull rerere reset restore
rev-list rev-parse revert rm send-email send-pack shell shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule svn switch symbolic-ref
tag unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version web--browse whatchanged worktree write-tree`)
})

// gitWrappers are subcommands that run what their words say.
var gitWrappers = strings.Fields("bisect submodule difftool mergetool filter-branch for-each-repo merge-index remote-ext shell hook p4 svn send-email instaweb web--browse daemon")

// gitRunners are subcommands with options that name a command.
var gitRunners = sync.OnceValue(func() map[string]*runner {
	upload := &runner{long: strings.Fields("upload-pack exec")}
	receive := &runner{long: strings.Fields("receive-pack exec")}
	return map[string]*runner{
		"grep":  {joined: "O", long: strings.Fields("open-files-in-pager=")},
		"clone": {short: "uc", long: strings.Fields("upload-pack config")},
		"fetch": upload, "pull": upload, "ls-remote": upload, "fetch-pack": upload,
		"push": receive, "send-pack": receive,
		"archive": {long: strings.Fields("exec")},
		"rebase":  {short: "x", long: strings.Fields("exec")},
	}
})

// gitSubcommand is the position of git's subcommand; 0 when it is not known.
func gitSubcommand(words []word) int {
	for at := 1; at < len(words); at++ {
		text, static := words[at].static()
		switch {
		case !static:
			return 0
		case slices.Contains([]string{"-c", "-C", "--config-env", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"}, text):
			at++
		case !strings.HasPrefix(text, "-"):
			return at
		}
	}
	return 0
}

// git looks at the options before the subcommand, and at those of the
// subcommand that run something.
func (p *parsing) git(c *Command, depth int) {
	sub := gitSubcommand(c.words)
	end := sub
	if sub == 0 {
		end = len(c.words)
	}
	for at := 1; at < end; at++ {
		text, static := c.words[at].static()
		switch {
		case !static:
			p.possible("git runs a subcommand that is only known when it runs")
		case (text == "-c" || text == "--config-env") && at+1 < len(c.words):
			c.spelled = append(c.spelled, at, at+1)
			p.value(c.words[at+1], depth)
			at++
		case strings.HasPrefix(text, "-c"), strings.HasPrefix(text, "--config-env"), strings.HasPrefix(text, "--exec-path="):
			c.spelled = append(c.spelled, at)
			p.value(c.words[at], depth)
		}
	}
	if sub == 0 {
		return
	}
	name, _ := c.words[sub].static()
	if !slices.Contains(gitBuiltins(), name) {
		p.possible("git " + name + " may be an alias")
		return
	}
	for at := sub + 1; at < len(c.words); at++ {
		text, static := c.words[at].static()
		option, _, _ := strings.Cut(text, "=")
		switch {
		case strings.HasPrefix(text, "--o") && (strings.HasPrefix("--output-directory", option) || strings.HasPrefix("--open-files-in-pager", option)):
			c.spelled = append(c.spelled, at)
		case strings.HasPrefix(text, "ext::"):
			c.spelled = append(c.spelled, at)
			p.optionText(strings.TrimPrefix(text, "ext::"), depth)
		case name == "config" && !static:
			p.possible("git config sets what is only known when it runs")
		case name == "config" && setsCommand(text):
			// An alias, a pager, a helper: what it is set to will be run.
			c.spelled = append(c.spelled, sub, at)
			if at+1 < len(c.words) {
				p.optionCommand(c.words[at+1:], depth)
				if value, ok := c.words[at+1].static(); ok {
					p.optionText(value, depth)
				}
			}
		}
	}
	if r := gitRunners()[name]; r != nil {
		p.options(c, sub+1, r, depth)
	}
}

// setsCommand says whether a key of git's configuration may hold a command.
// Those that cannot are listed, for there are fewer of them in use.
func setsCommand(key string) bool {
	section, name, ok := strings.Cut(strings.ToLower(key), ".")
	if !ok || strings.HasPrefix(key, "-") || strings.ContainsAny(section, " /") {
		return false
	}
	switch section {
	case "user", "author", "committer", "color", "push", "pull", "fetch", "branch", "init", "advice", "commit", "tag", "rebase", "rerere", "status", "log", "http", "https", "pack", "gc", "index", "feature", "safe", "url", "i18n", "help", "stash", "column", "blame":
		return strings.Contains(name, "program") || strings.Contains(name, "template")
	case "core":
		return !slices.Contains(strings.Fields("autocrlf eol safecrlf ignorecase filemode symlinks quotepath bare longpaths precomposeunicode excludesfile attributesfile abbrev compression"), name)
	}
	return true
}
