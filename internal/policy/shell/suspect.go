package shell

import (
	"slices"
	"strings"
	"sync"
)

// harmless are programs that run no other program, whatever their words say:
// they read, print, copy, delete, wait. Their arguments are never suspected.
var harmless = sync.OnceValue(func() map[string]bool {
	names := strings.Fields(`: [ bg break caller cd command continue dirs disown echo exit false fg help history jobs kill logout popd printf pushd pwd read readarray return set shift shopt suspend test times true type ulimit umask unalias unset wait getopts enable let local declare export readonly typeset hash
b2sum base32 base64 basename basenc chgrp chmod chown cp csplit cut date dd df dir du expand expr factor fmt fold ginstall head hostid hostname id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nl numfmt od paste pathchk pinky pr printenv ptx readlink realpath rm rmdir seq sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep stat stty sum sync tac tail tee touch tr truncate tsort tty uname unexpand uniq unlink uptime users vdir wc who whoami yes
apropos bc cal chattr clear cmp column comm curl diff diff3 dig dos2unix egrep fgrep file free getconf getent getfacl setfacl grep groups gunzip gzip bzip2 bunzip2 xz unxz zstd unzip zcat zgrep host iconv info jq killall locale locate look ls lsattr lsblk lsof md5 mdfind nc ncat netstat nslookup patchelf pgrep ping pkill plutil ps pstree rename rev sponge ss strings tldr top tput tree unix2dos uuidgen w whatis whereis which xxd yq zipinfo
gofmt goimports gofumpt staticcheck shellcheck shfmt clang-format rustfmt black isort ruff flake8 mypy pytest eslint prettier tsc gotestsum`)
	out := make(map[string]bool, len(names))
	for _, n := range append(names, readers()...) {
		out[n] = true
	}
	return out
})

// interpreters run programs that their words, or texts among them, name. They
// are suspected wherever they run; a program that is not known only where it is
// what the line names itself, for behind env and the like every word is tried.
var interpreters = sync.OnceValue(func() []string {
	return strings.Fields(`awk gawk mawk nawk original-awk sed gsed ed ex red vi vim nvim view rvim vimdiff gvim emacs emacsclient nano perl raku python pypy ipython node nodejs deno bun ruby irb php lua luajit tclsh wish expect osascript pwsh powershell julia r rscript guile racket sbcl scala groovy jshell ghci
sqlite psql mysql mongo gdb lldb dc bc m4 less more most lynx w3m elinks mutt ftp lftp telnet make gmake bmake cmake ctest ninja just task rake ant mvn gradle meson scons bazel npm pnpm yarn cargo docker podman kubectl hg jj svn fossil ffmpeg nmap ctags watchexec nodemon`)
})

// isInterpreter knows python3.12 as python.
func isInterpreter(name string) bool {
	return slices.Contains(interpreters(), name) || slices.Contains(interpreters(), strings.TrimRight(name, "0123456789."))
}

// ownPath says whether a program is named by a path that is not where a system
// keeps its programs: ./ls is not ls.
func ownPath(w word) bool {
	text := w.String()
	if !strings.Contains(text, "/") {
		return false
	}
	for _, dir := range []string{"/bin/", "/sbin/", "/usr/", "/opt/homebrew/"} {
		if strings.HasPrefix(text, dir) && !strings.Contains(text, "..") {
			return false
		}
	}
	return true
}

// possible adds a command that may be anything, on behalf of one that is seen.
func (p *parsing) possible(why string) {
	c := mysterious(why)
	c.aside = true
	p.add(c)
}

// suspect looks at the words of a program that may run others in a way that is
// not known: a word that a denial names makes it unsure, and so does one that is
// only known at run time.
func (p *parsing) suspect(c *Command, from int) {
	var texts []string
	unknown := false
	for i, w := range c.words {
		if i < from {
			continue
		}
		unknown = unknown || w.dynamic
		texts = append(texts, w.String())
	}
	for _, r := range c.stdin {
		if r.Hdoc != nil {
			if text, ok := bodyText(r.Hdoc); ok {
				texts = append(texts, text)
			} else {
				unknown = true
			}
		}
	}
	if readsProgram(c.words) {
		p.possible(c.words[0].String() + " reads its program from standard input")
	}
	if unknown {
		p.possible(c.words[0].String() + " may run what is only known when it runs")
	}
	p.mention(texts)
}

// readsProgram says whether an interpreter takes its program from standard
// input: it is told so, or it is given none.
func readsProgram(words []word) bool {
	name := program(words[0])
	if !isInterpreter(name) {
		return false
	}
	given := false
	for _, w := range words[1:] {
		text, static := w.static()
		switch {
		case text == "-" || strings.HasPrefix(text, "/dev/stdin") || strings.HasPrefix(text, "/dev/fd/") || strings.HasPrefix(text, "/proc/"):
			return true
		case !static || !strings.HasPrefix(text, "-") || len(text) > 2 && text[1] != '-' || slices.Contains([]string{"-V", "-v", "-h", "--version", "--help"}, text):
			given = true // an operand, or an option that holds one
		}
	}
	return !given && slices.Contains(stdinInterpreters, strings.TrimRight(name, "0123456789."))
}

// stdinInterpreters run what they read when they are given nothing else.
var stdinInterpreters = strings.Fields("python pypy perl ruby php node nodejs lua luajit tclsh julia r guile racket ed ex sqlite psql mysql mongo gdb bc dc m4 osascript pwsh ftp lftp")

// mention adds what may be the names of programs in some texts.
func (p *parsing) mention(texts []string) {
	c := &Command{Hidden: true, aside: true, unsure: "a program that may run others"}
	seen := map[string]bool{}
	add := func(s string) {
		if s != "" && !seen[s] {
			seen[s] = true
			c.mentions = append(c.mentions, s)
		}
	}
	for _, text := range texts {
		if p.full || !p.spend(len(text)) {
			return
		}
		for start, token := range tokens(text) {
			add(token)
			for _, part := range strings.FieldsFunc(token, func(r rune) bool { return strings.ContainsRune("/+:,@%^~#", r) }) {
				add(part)
			}
			if len(token) > 2 && token[0] == '-' && token[1] != '-' {
				add(token[2:]) // -Xrm
			}
			if start > 0 && text[start-1] == '\\' {
				add(token[1:]) // "\nrm"
			}
			if rest, ok := strings.CutPrefix(strings.TrimLeft(token, "0123456789"), "e"); ok {
				add(rest) // sed 1erm
			}
		}
	}
	if len(c.mentions) > 0 {
		p.add(c)
	}
}

// tokens splits a text at what separates words in shells and other languages.
func tokens(text string) func(yield func(int, string) bool) {
	separator := func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("'\"`\\;&|<>(){}[]$=!*?", r)
	}
	return func(yield func(int, string) bool) {
		start := -1
		for i, r := range text {
			switch {
			case separator(r) && start >= 0:
				if !yield(start, text[start:i]) {
					return
				}
				start = -1
			case !separator(r) && start < 0:
				start = i
			}
		}
		if start >= 0 {
			yield(start, text[start:])
		}
	}
}

// subcommandLength says how many words after the program are its subcommand.
func subcommandLength(words []word) int {
	depth, name := 0, program(words[0])
	for _, s := range subcommands() {
		if s[0] != name || len(words) < len(s) {
			continue
		}
		match := true
		for i := 1; i < len(s); i++ {
			text, _ := words[i].static()
			match = match && text == s[i]
		}
		if match {
			depth = max(depth, len(s))
		}
	}
	for i := 1; i <= depth && i < len(words); i++ {
		if text, ok := words[i].static(); !ok || strings.HasPrefix(text, "-") || strings.Contains(text, "=") {
			return i - 1
		}
	}
	return min(depth, len(words)-1)
}
