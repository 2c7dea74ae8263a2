package shell

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// wrappers are programs that run the program named by their own words. Each
// entry is one or more words. The list is about denials that must hold behind
// them; a program that is missing here is still only allowed by a rule that
// names it.
var wrappers = sync.OnceValue(func() [][]string {
	return splitLines(`
env
sudo
doas
su
runuser
pkexec
nohup
nice
ionice
timeout
time
stdbuf
setsid
strace
ltrace
command
builtin
exec
eval
trap
alias
hash
complete
compgen
mapfile
readarray
coproc
xargs
parallel
watch
ssh
chroot
unshare
nsenter
flock
script
systemd-run
busybox
toybox
rlwrap
unbuffer
fakeroot
taskset
chrt
numactl
valgrind
perf
hyperfine
caffeinate
arch
setarch
linux32
linux64
xvfb-run
dbus-run-session
firejail
bwrap
proot
gdb
entr
at
batch
screen
tmux
torsocks
proxychains
start-stop-daemon
npx
bunx
uvx
source
.
npm exec
npm x
pnpm exec
pnpm dlx
yarn dlx
yarn exec
bun x
uv run
pipx run
poetry run
bundle exec
direnv exec
mise exec
nix run
nix shell
nix develop
docker exec
docker run
docker compose exec
docker compose run
podman exec
podman run
kubectl exec
kubectl run
`)
})

var shells = []string{"bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh"}

// evaluators are built-ins that take a subscript apart, which runs the
// commands inside it even when it was quoted.
var evaluators = []string{"test", "[", "printf", "read", "unset", "declare", "typeset", "local", "export", "readonly", "wait", "getopts"}

// rewires are built-ins after which later commands may mean something else.
var rewires = []string{"set", "shopt", "enable", "hash", "alias", "unalias", "bind", "complete", "trap", "source", ".", "eval", "builtin", "exec", "fc", "read", "mapfile", "readarray", "getopts", "umask", "ulimit", "unset", "coproc"}

func splitLines(text string) [][]string {
	var out [][]string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		out = append(out, strings.Fields(line))
	}
	return out
}

// program is the bare name of the program, in lower case, since a file system
// may not tell cases apart; "" when it is only known at run time.
func program(w word) string {
	text, ok := lastElement(w).static()
	if !ok {
		return ""
	}
	return strings.ToLower(text)
}

// lastElement is what comes behind the last slash of a path.
func lastElement(w word) word {
	for i := len(w.symbols) - 1; i >= 0; i-- {
		if w.symbols[i].char == '/' {
			return w.after(i + 1)
		}
	}
	return w
}

// wrapperLength says how many leading words make the command a wrapper: 0 when
// it is none.
func wrapperLength(words []word) int {
	if len(words) == 0 {
		return 0
	}
	name := program(words[0])
	if name == "" {
		return 0
	}
	if slices.Contains(shells, name) || strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") {
		return 1
	}
	if name == "git" {
		if sub := gitSubcommand(words); sub > 0 {
			if text, _ := words[sub].static(); slices.Contains(gitWrappers, text) {
				return sub + 1
			}
		}
		return 0
	}
	for _, w := range wrappers() {
		if w[0] != name || len(words) < len(w) {
			continue
		}
		match := true
		for i := 1; i < len(w); i++ {
			text, _ := words[i].static()
			match = match && text == w[i]
		}
		if match {
			if name == "command" && len(words) > 1 && isLookup(words[1]) {
				return 0
			}
			return len(w)
		}
	}
	return 0
}

func isLookup(w word) bool {
	text, _ := w.static()
	return text == "-v" || text == "-V"
}

// lookThrough finds the commands that a command runs, and marks the words that
// an allow rule must spell out.
func (p *parsing) lookThrough(c *Command, depth int) {
	if len(c.words) == 0 {
		return
	}
	first := c.words[0]
	if _, static := first.static(); !static {
		c.spelled = append(c.spelled, 0)
	}
	name := program(first)
	if slices.Contains(rewires, name) && c.unsure == "" {
		c.unsure = name + " changes how later commands run"
	}
	if slices.Contains(evaluators, name) {
		for _, w := range c.words[1:] {
			if w.index('[') > 0 && (w.dynamic || w.index('$') >= 0 || w.index('`') >= 0) {
				c.unsure = name + " evaluates subscripts as code"
			}
		}
	}
	if len(c.assigns) > 0 && !harmless()[name] {
		p.mention(values(c.assigns)) // CC=rm make
	}
	if n := wrapperLength(c.words); n > 0 {
		for i := range n {
			c.spelled = append(c.spelled, i)
		}
		if name == "git" {
			p.git(c, depth)
		}
		p.wrapped(c, n, depth)
		return
	}
	p.arguments(c, name, depth)
}

// wrapped tries what comes after a wrapper as a command of its own. Where its
// options end is not always known, so every position counts for a denial.
func (p *parsing) wrapped(c *Command, n, depth int) {
	name := program(c.words[0])
	rest := c.words[n:]
	if depth >= maxDepth {
		p.mystery("nested too deeply")
		return
	}
	switch {
	case slices.Contains(shells, name):
		p.shellArguments(c, rest, depth)
		return
	case name == "eval" || name == "trap" || name == "alias":
		p.evaluated(name, rest, depth)
		return
	}
	p.sourced(name, rest)
	if unknownProgram(c.words, n) {
		p.mystery(name + " runs a program that is not known")
	}
	for i, w := range rest {
		if i >= maxWords {
			p.mystery("more words than are looked at")
			break
		}
		text, static := w.static()
		if static && strings.ContainsAny(text, " \t\n;&|<>(){}`$'\"\\") {
			p.text(text, depth+1, true)
			if strings.HasPrefix(text, "-") && len(text) > 2 {
				p.text(text[2:], depth+1, true) // an option with its value, as in env -S'…'
			}
		}
		if value := valueOf(w); value != "" {
			p.text(value, depth+1, true)
		}
		if static {
			p.keyword(strings.TrimPrefix(text, "-o"), depth)
		}
		if program(w) != "" {
			p.hidden(rest[i:], depth+1)
		}
	}
}

// sourced notices a file of commands that is only known at run time.
func (p *parsing) sourced(name string, rest []word) {
	if name != "source" && name != "." {
		return
	}
	if text, _ := firstText(rest); text == "--" {
		rest = rest[1:]
	}
	if text, static := firstText(rest); !static || strings.HasPrefix(text, "/dev/") || strings.HasPrefix(text, "/proc/") {
		p.mystery(name + " reads commands that are not known")
	}
}

func firstText(words []word) (text string, static bool) {
	if len(words) == 0 {
		return "", true
	}
	return words[0].static()
}

// programPosition is the number of operands before the program that a wrapper
// runs: a host, a container, a root folder. -1 when it takes none by position.
func programPosition(wrapper []word) int {
	first := program(wrapper[0])
	switch first {
	case "git", "complete", "compgen", "mapfile", "readarray", "source", ".", "hash", "nix":
		return -1
	case "ssh", "chroot", "flock", "docker", "podman", "kubectl", "taskset", "setarch":
		return 1
	}
	return 0
}

// unknownProgram says whether the program that a wrapper runs may be one that
// is only known when the shell runs. Which options take a value is not known
// of every wrapper, so each bare option may have taken one operand.
func unknownProgram(words []word, n int) bool {
	position := programPosition(words[:n])
	if position < 0 {
		return false
	}
	operands, bare := 0, 0
	replace := false
	for _, w := range words[n:min(len(words), maxWords)] {
		text, static := w.static()
		switch {
		case replace:
			replace = false
		case static && text != "" && text[0] == '-':
			replace = text == "-I"
			if !replace && text != "--" && !strings.HasPrefix(text, "-I") && !strings.Contains(text, "=") {
				bare++
			}
		case static && isAssignment(text):
		case static && isNumber(text):
			bare = max(0, bare-1)
		case !static && isAssignment(w.String()) && w.index(anything) > w.index('='):
		default:
			if operands > position+bare {
				return false
			}
			if operands >= position && (!static || strings.Contains(text, "{}")) {
				return true
			}
			operands++
		}
	}
	return false
}

// hidden adds a command that is run by another one.
func (p *parsing) hidden(words []word, depth int) {
	if p.full {
		return
	}
	c := &Command{words: words, Hidden: true}
	p.add(c)
	// Every later position is tried by the caller already; what remains to be
	// looked at is what this program does with texts.
	name := program(words[0])
	switch {
	case depth >= maxDepth:
	case slices.Contains(shells, name):
		p.shellArguments(c, words[1:], depth)
	case name == "eval" || name == "trap" || name == "alias":
		p.evaluated(name, words[1:], depth)
	default:
		p.sourced(name, words[1:])
		n := wrapperLength(words)
		if name == "git" || n == 0 {
			p.arguments(c, name, depth)
		}
		if n > 0 && unknownProgram(words, n) {
			p.mystery(name + " runs a program that is not known")
		}
	}
}

// valueOf gives the static text behind = in an option, such as --rsh=COMMAND.
func valueOf(w word) string {
	text, ok := w.static()
	if !ok {
		return ""
	}
	_, value, ok := strings.Cut(text, "=")
	if !ok {
		return ""
	}
	value = strings.TrimPrefix(strings.TrimPrefix(value, "exec="), "!")
	return value
}

func isAssignment(text string) bool { return strings.IndexByte(text, '=') > 0 }

func isNumber(text string) bool {
	digits := strings.TrimRight(text, "smhd")
	return digits != "" && strings.Trim(digits, "0123456789.") == ""
}

// shellArguments reads bash -c TEXT, and notices a shell that takes its
// commands from somewhere else.
func (p *parsing) shellArguments(c *Command, rest []word, depth int) {
	takesText, operand := false, false
	for _, w := range rest {
		text, static := w.static()
		switch {
		case takesText:
			if static && !strings.Contains(text, "{}") {
				p.text(text, depth+1, true)
			} else {
				p.mystery("the text of the shell is not known")
			}
			// Further words are its parameters; an option may still come first,
			// as in bash -c -e TEXT, so all of them are read.
			operand = true
		case static && len(text) > 1 && (text[0] == '-' || text[0] == '+') && !strings.HasPrefix(text, "--"):
			takesText = takesText || strings.Contains(text[1:], "c")
		case static && strings.HasPrefix(text, "--"):
		case !static || text == "-" || strings.HasPrefix(text, "/dev/") || strings.HasPrefix(text, "/proc/"):
			p.mystery("the shell reads commands that are not known")
			operand = true
		default:
			operand = true
		}
	}
	known := false
	for _, r := range c.stdin {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if r.Op == syntax.WordHdoc {
				if text := canonical(r.Word); !text.dynamic {
					p.text(text.String(), depth+1, true)
					known = true
				}
			} else if text, ok := bodyText(r.Hdoc); ok {
				p.text(text, depth+1, true)
				// With a bare delimiter the outer shell takes some backslashes away.
				if bare := strings.NewReplacer(`\\`, `\`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(text); bare != text {
					p.text(bare, depth+1, true)
				}
				known = true
			}
		}
	}
	if operand && !takesText {
		// A script with its parameters: it may run them.
		p.mention(plain(rest))
	}
	if !operand && !known {
		p.mystery("the shell reads its commands from standard input")
	}
}

func values(assigns []word) []string {
	out := make([]string, len(assigns))
	for i, w := range assigns {
		_, out[i], _ = strings.Cut(w.String(), "=")
	}
	return out
}

func plain(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.String()
	}
	return out
}

// bodyText is the text of a here-document. File name patterns in it are plain
// characters, and backslashes stay for the shell that reads it.
func bodyText(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
			continue
		}
		text := canonical(&syntax.Word{Parts: []syntax.WordPart{part}})
		if text.dynamic {
			return "", false
		}
		b.WriteString(text.String())
	}
	return b.String(), true
}

// evaluated reads what eval, trap and alias take.
func (p *parsing) evaluated(name string, rest []word, depth int) {
	var texts []string
	for _, w := range rest {
		if w.dynamic {
			p.mystery(name + " runs a text that is not known")
			return
		}
		text := w.String()
		if name == "alias" {
			_, text, _ = strings.Cut(text, "=")
		}
		texts = append(texts, text)
	}
	if name == "eval" {
		p.text(strings.TrimPrefix(strings.Join(texts, " "), "-- "), depth+1, true)
		return
	}
	for _, text := range texts {
		p.text(text, depth+1, true)
	}
}

// arguments looks at the arguments of a program that is no wrapper: the known
// options that run something, or else every word.
func (p *parsing) arguments(c *Command, name string, depth int) {
	own := ownPath(c.words[0])
	r := runnerOf(name)
	switch {
	case name == "git":
		p.git(c, depth)
	case r != nil:
		p.options(c, 1, r, depth)
		if name == "go" {
			if sub, _ := firstText(c.words[1:]); sub == "run" || sub == "tool" || sub == "env" || sub == "generate" {
				p.suspect(c, 2)
			}
		}
	case isInterpreter(name), !c.Hidden && !p.functions[name] && (own || !harmless()[name]):
		p.suspect(c, 1+subcommandLength(c.words))
	}
}

// optionCommand reads the words behind an option as a command, and the first
// of them as a text.
func (p *parsing) optionCommand(words []word, depth int) {
	if len(words) == 0 || depth >= maxDepth {
		return
	}
	p.hidden(words, depth+1)
	if text, ok := words[0].static(); ok {
		if !plainWord(text) {
			p.optionText(text, depth) // the program may hand it to a shell
		}
		if strings.Contains(text, "{}") {
			p.possible("what is found is run")
		}
	} else {
		p.mystery("an option names a program that is not known")
	}
	if n := wrapperLength(words); n > 0 {
		p.wrapped(&Command{words: words, Hidden: true}, n, depth+1)
	}
}

// plainWord says whether a shell would read a text as the very word that it is.
func plainWord(text string) bool {
	for _, r := range text {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_./:@+,-", r) {
			return false
		}
	}
	return true
}

// value reads key=COMMAND.
func (p *parsing) value(w word, depth int) {
	i := w.index('=')
	if i < 0 {
		if w.dynamic {
			p.mystery("an option sets a value that is not known")
		}
		return
	}
	text, ok := w.after(i + 1).static()
	if !ok {
		p.mystery("an option sets a value that is not known")
		return
	}
	p.text(strings.TrimPrefix(text, "!"), depth+1, true)
}
