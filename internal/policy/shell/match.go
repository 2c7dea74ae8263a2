package shell

import (
	"slices"
	"strings"
	"sync"
)

// Hit says how surely a pattern applies to a command.
type Hit uint8

const (
	// Miss: the command does something else.
	Miss Hit = iota
	// Maybe: it depends on an expansion.
	Maybe
	// Sure: it does what the pattern names.
	Sure
)

func join(lists ...[]word) []symbol {
	var out []symbol
	first := true
	for _, list := range lists {
		for _, w := range list {
			if !first {
				out = append(out, symbol{char: between})
			}
			first = false
			out = append(out, w.symbols...)
		}
	}
	return out
}

func spellOut(list []word) []word {
	out := make([]word, len(list))
	for i, w := range list {
		out[i] = w.spelledOut()
	}
	return out
}

// Covers says whether an allow rule with this pattern covers the whole simple
// command: its assignments, redirections and wrappers are covered only where
// the pattern spells them out.
func (p *Pattern) Covers(c *Command) bool {
	if c.unsure != "" {
		return false
	}
	words := append([]word(nil), c.words...)
	for _, i := range c.spelled {
		if i < len(words) {
			words[i] = words[i].spelledOut()
		}
	}
	return p.match(join(spellOut(c.assigns), words, spellOut(c.redirects)), strict)
}

// Hits says whether a deny or ask rule with this pattern applies. It looks at
// the command as written, with the bare name of its program, and with the
// options between the program and its first operand left out.
func (p *Pattern) Hits(c *Command) Hit {
	if c.mentions != nil {
		if p.program != nil && slices.ContainsFunc(c.mentions, func(m string) bool {
			return p.program.MatchText(m) || p.program.MatchText(strings.ToLower(m))
		}) {
			return Maybe
		}
		return Miss
	}
	best := Miss
	try := func(lists ...[]word) bool {
		text := join(lists...)
		if p.match(text, certain) {
			best = Sure
			return true
		}
		if best == Miss && p.match(text, possible) {
			best = Maybe
		}
		return false
	}
	if try(c.words) {
		return Sure
	}
	if (len(c.assigns) > 0 || len(c.redirects) > 0) && try(c.assigns, c.words, c.redirects) {
		return Sure
	}
	if len(c.words) == 0 {
		return best
	}
	first := c.words[0]
	if bare := lastElement(first); len(bare.symbols) != len(first.symbols) {
		if try([]word{bare}, c.words[1:]) {
			return Sure
		}
		first = bare
	}
	// A file system may not tell upper and lower case apart.
	if name := program(first); name != "" && name != first.String() {
		first = literalWord(name)
		if try([]word{first}, c.words[1:]) {
			return Sure
		}
	}
	positions, all := operands(c.words, len(join(c.words)))
	for _, at := range positions {
		if try([]word{first}, c.words[at:]) {
			return Sure
		}
	}
	if !all {
		return Maybe
	}
	return best
}

// maxOperands bounds the positions that are tried as the first operand, and
// maxTried the characters that this takes.
const (
	maxOperands = 16
	maxTried    = 64 << 10
)

// operands gives the positions at which the first operand may be: behind the
// leading options, each with or without a value of its own. all is false when
// there are more than are tried.
func operands(words []word, size int) (out []int, all bool) {
	most := min(maxOperands, max(1, maxTried/max(1, size)))
	reach := map[int]bool{1: true}
	for at := 1; at < len(words); at++ {
		if !reach[at] {
			continue
		}
		if len(out) == most {
			return out, false
		}
		if len(words[at].symbols) > 0 && words[at].symbols[0].char == '-' {
			reach[at+1] = true
			if words[at].index('=') < 0 {
				reach[at+2] = true
			}
		}
		if at > 1 {
			out = append(out, at)
		}
	}
	return out, true
}

// subcommands are programs whose first word says what they do, and how many
// words it takes.
var subcommands = sync.OnceValue(func() [][]string {
	return splitLines(`
git
go
npm
npm run
pnpm
pnpm run
yarn
yarn run
bun
bun run
deno
cargo
docker
docker compose
podman
kubectl
helm
terraform
pip
pip3
uv
poetry
brew
apt
apt-get
dnf
gh
gh pr
gh issue
gh run
gh repo
aws
gcloud
az
make
just
systemctl
dotnet
mvn
gradle
bundle
gem
rustup
composer
flutter
dart
swift
zig
nix
jj
hg
svn
`)
})

// exactOnly are programs that can do anything their words say; a grant for one
// covers exactly the command it was given for.
var exactOnly = sync.OnceValue(func() []string {
	return strings.Fields(`
python python2 python3 node nodejs deno bun ruby perl php lua luajit tclsh osascript pwsh powershell awk gawk mawk nawk sed ed ex vi vim nvim emacs
java julia r rscript scala groovy jshell ghci sqlite3 psql mysql mongo redis-cli
rm rmdir mv cp dd ln chmod chown chgrp chattr mkfs mount umount truncate shred kill pkill killall tee install rsync scp sftp curl wget nc ncat socat telnet ftp
tar unzip zip find fd fdfind sort rg make just cmake ninja mvn gradle
crontab systemctl launchctl service shutdown reboot halt passwd useradd usermod userdel visudo iptables ip
`)
})

// GrantKey gives the text that a remembered answer covers: the program and its
// subcommand, or, where that says too little, the exact command. There is none
// for what only a person can judge each time: redirections, assignments,
// expansions in what is run, wrappers and built-ins that change the shell.
func (c *Command) GrantKey() (string, bool) {
	if c.Hidden || c.unsure != "" || len(c.assigns) > 0 || len(c.redirects) > 0 || len(c.spelled) > 0 || len(c.words) == 0 {
		return "", false
	}
	name, ok := c.words[0].static()
	if !ok || name == "" || len(name) > 100 || strings.ContainsAny(name, "\n\t =") {
		return "", false
	}
	bare := program(c.words[0])
	if slices.Contains(exactOnly(), bare) {
		return c.exactKey()
	}
	depth := 0
	for _, s := range subcommands() {
		if s[0] != bare || len(c.words) < len(s) {
			continue
		}
		match := true
		for i := 1; i < len(s); i++ {
			text, _ := c.words[i].static()
			match = match && text == s[i]
		}
		if match {
			depth = max(depth, len(s))
		}
	}
	if depth == 0 {
		return "prefix " + name, true
	}
	if len(c.words) <= depth {
		return c.exactKey()
	}
	parts := []string{name}
	for _, w := range c.words[1 : depth+1] {
		text, ok := w.static()
		if !ok || text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, " \n\t=") || len(text) > 100 {
			return c.exactKey()
		}
		parts = append(parts, text)
	}
	if (bare == "go" || bare == "cargo" || bare == "dart" || bare == "swift" || bare == "dotnet") && parts[1] == "run" {
		return c.exactKey()
	}
	return "prefix " + strings.Join(parts, " "), true
}

func (c *Command) exactKey() (string, bool) {
	var parts []string
	for _, w := range c.words {
		text, ok := w.static()
		if !ok || len(text) > 500 {
			return "", false
		}
		parts = append(parts, quote(text))
	}
	if len(parts) > 40 {
		return "", false
	}
	return "exact " + strings.Join(parts, " "), true
}

// quote makes a word unambiguous in a key.
func quote(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\n'\"\\*?[]{}()<>|&;$`#~!") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// KeyLabel is a grant's key as a person reads it.
func KeyLabel(key string) string {
	_, text, _ := strings.Cut(key, " ")
	return text
}
