package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/policy/shell"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Grant is what "allow always" covers for one call.
type Grant struct {
	// Key identifies what is covered. It is opaque, and may stand for several
	// commands of one line.
	Key string
	// Label is the text of the option, such as
	// "Allow always: git push (this session)".
	Label string
}

// Granted is one remembered answer.
type Granted struct {
	Key   string // of one command or tool
	Label string // "git push"
	At    time.Time
}

// Grants remembers what a person allowed for the session. The zero value is
// not usable; it is safe for concurrent use.
type Grants struct {
	mu   sync.Mutex
	list []Granted
}

// NewGrants gives an empty store.
func NewGrants() *Grants { return &Grants{} }

const keySeparator = "\x00"

// Remember adds a grant; calls decided from now on see it.
func (g *Grants) Remember(grant Grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range strings.Split(grant.Key, keySeparator) {
		if key != "" && !g.contains(key) {
			g.list = append(g.list, Granted{Key: key, Label: keyLabel(key), At: time.Now()})
		}
	}
}

// Forget takes back what a key of List stands for, and says whether there was any.
func (g *Grants) Forget(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := len(g.list)
	g.list = slices.DeleteFunc(g.list, func(x Granted) bool { return x.Key == key })
	return len(g.list) < before
}

// List gives what is remembered, oldest first.
func (g *Grants) List() []Granted {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.list)
}

func (g *Grants) has(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.contains(key)
}

func (g *Grants) contains(key string) bool {
	return slices.ContainsFunc(g.list, func(x Granted) bool { return x.Key == key })
}

func commandKey(key string) string { return "command " + key }

func keyLabel(key string) string {
	kind, rest, _ := strings.Cut(key, " ")
	switch kind {
	case "command":
		return shell.KeyLabel(rest)
	case "workspace":
		return rest + " in this workspace"
	}
	return rest
}

// keys gives what would have to be remembered for the call to pass by grants
// alone. ok is false when no grant can cover it.
func (s subject) keys(tool string) (keys []string, ok bool) {
	switch s.kind {
	case Shell:
		if s.line == nil || len(s.line.Unsure) > 0 || len(s.line.Commands) == 0 {
			return nil, false
		}
		for _, c := range s.line.Commands {
			if c.Hidden {
				continue // hidden commands come with one that has no key
			}
			key, ok := c.GrantKey()
			if !ok {
				return nil, false
			}
			if !slices.Contains(keys, commandKey(key)) {
				keys = append(keys, commandKey(key))
			}
		}
		return keys, len(keys) > 0
	case Path:
		if len(s.paths) == 0 {
			return nil, false
		}
		for _, t := range s.paths {
			if rel, ok := t.inside(); !ok || delicate(rel) {
				return []string{"tool " + tool + " " + s.paths[len(s.paths)-1].abs}, true
			}
		}
		return []string{"workspace " + tool}, true
	}
	return []string{"tool " + tool}, true
}

// delicateNames are files and folders of a workspace that make other programs
// run something by themselves, or tell an agent what to do. Build files such as
// package.json and Makefile are not among them: agents edit those all day, and
// the command that runs them is decided on its own.
var delicateNames = strings.Fields(`
.git .gitmodules .gitconfig .husky .githooks .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml
.github .gitlab-ci.yml .gitlab .circleci .travis.yml .woodpecker.yml .drone.yml .buildkite
.vscode .idea .zed .devcontainer .devcontainer.json .nvim.lua .exrc .vimrc .nvimrc .dir-locals.el
.npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .cargo .bazelrc .gdbinit .lldbinit
.envrc .mise.toml mise.toml .mise .autoenv .bashrc .bash_profile .profile .zshrc .zshenv .zprofile
.dsh-acp.yaml .dsh .claude .codex .agents .cursor .cursorrules .windsurf .windsurfrules .clinerules .gemini .mcp.json
agents.md agents.override.md claude.md claude.local.md gemini.md copilot-instructions.md`)

// delicate says whether a grant for the workspace leaves a file out.
func delicate(rel string) bool {
	for _, part := range strings.Split(strings.ToLower(rel), "/") {
		if slices.Contains(delicateNames, part) {
			return true
		}
	}
	return false
}

// GrantFor says what "allow always (this session)" would cover for a call that
// asks, and how to label it. ok is false when remembering would not stop the
// question, so that the option is better not offered.
func (p *Policy) GrantFor(exec *registry.Execution) (Grant, bool) {
	return p.GrantForCall(callOf(exec))
}

// GrantForCall is GrantFor for a call that is not in the pipeline.
func (p *Policy) GrantForCall(c Call) (Grant, bool) {
	if e, err := escalationOf(c.Arguments); err != nil || e.wanted() {
		return Grant{}, false // an escalation is for one run
	}
	s := subjectOf(p.tool(c.Tool), c)
	var missing []string
	if s.kind == Shell && s.line != nil {
		// Commands that a rule allows already need no grant, and may be ones
		// that cannot have one, such as a redirection that a rule spells out.
		missing = p.missingKeys(s, c.Tool)
	} else if keys, ok := s.keys(c.Tool); ok {
		missing = keys
	}
	if len(missing) == 0 {
		return Grant{}, false
	}
	with := func(key string) bool { return slices.Contains(missing, key) || p.grants.has(key) }
	if !p.decide(c, with).IsAllow() {
		return Grant{}, false
	}
	labels := make([]string, len(missing))
	for i, k := range missing {
		labels[i] = keyLabel(k)
		if t := p.tool(c.Tool); t.Remote != "" {
			labels[i] = t.Remote
		}
	}
	label := strings.Join(labels, ", ")
	if r := []rune(label); len(r) > 80 {
		label = string(r[:79]) + "…"
	}
	label = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, label)
	return Grant{Key: strings.Join(missing, keySeparator), Label: fmt.Sprintf("Allow always: %s (this session)", label)}, true
}

func (p *Policy) missingKeys(s subject, tool string) []string {
	var missing []string
	for _, c := range s.line.Commands {
		if c.Hidden {
			continue
		}
		alone := &shell.Line{Commands: []*shell.Command{c}}
		one := subject{kind: Shell, line: alone}
		if one.judge(p.rules, tool, p.grants.has).answer == answerAllow && one.judge(p.restrictions, tool, p.grants.has).answer != answerAsk {
			continue
		}
		key, ok := c.GrantKey()
		if !ok {
			return nil
		}
		if key = commandKey(key); !p.grants.has(key) && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	return missing
}
