package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/policy/shell"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Lifetime says for how long an answer is remembered.
type Lifetime string

// The lifetimes of remembered answers. One that is for once is not remembered.
const (
	ThisSession Lifetime = "session"
	ThisProject Lifetime = "project"
)

// Grant is what "always" covers for one call.
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
	// Key is what was answered about: one command or tool. A rejection may be
	// about several together, and then covers calls that contain all of them.
	Key      string
	Label    string // "git push"
	Rejected bool
	Lifetime Lifetime
	At       time.Time
	Session  string // the session in which the answer was given; "" when unknown
	// Number is the same at every listing by one Grants, and no other entry's.
	Number int
}

func (x Granted) sameAs(y Granted) bool {
	return x.Key == y.Key && x.Rejected == y.Rejected && x.Lifetime == y.Lifetime
}

// Grants remembers what a person allowed or rejected for longer than once. There
// is one for each session that a person has open; the sessions that it starts
// by itself share it, and the calls of programs are asked about through it like
// any other. It is safe for concurrent use.
type Grants struct {
	opt     GrantsOptions
	changed *broadcast

	mu   sync.Mutex
	list []Granted // of the session
	// numbers are those of every entry that was ever listed.
	numbers map[numbered]int
}

type numbered struct {
	key      string
	rejected bool
	lifetime Lifetime
}

// GrantsOptions say where grants go besides the memory.
type GrantsOptions struct {
	// Session is the id that project grants name as their origin.
	Session string
	// Project keeps what is granted for the project; nil offers no such grants.
	Project *Project
	// Record is told of every change to what is remembered for the session, so
	// that it can be restored; nil records nothing. Its error does not undo the
	// change; it is returned to whoever made it.
	Record func(change Granted, forgotten bool) error
}

// NewGrants gives an empty store for one session, kept in memory.
func NewGrants() *Grants { return NewSessionGrants(GrantsOptions{}) }

// NewSessionGrants gives an empty store for one session.
func NewSessionGrants(opt GrantsOptions) *Grants {
	g := &Grants{opt: opt, changed: &broadcast{}}
	if opt.Project != nil {
		g.changed = &opt.Project.changed // other sessions of the project, too
	}
	return g
}

const keySeparator = "\x00"

// Restore puts back what Record was told earlier. It records nothing.
func (g *Grants) Restore(change Granted, forgotten bool) {
	change.Lifetime = ThisSession
	change.Label = keyLabel(change.Key)
	g.mu.Lock()
	defer g.mu.Unlock()
	if forgotten {
		g.list = slices.DeleteFunc(g.list, change.sameAs)
	} else if change.Key != "" && !slices.ContainsFunc(g.list, change.sameAs) {
		g.list = append(g.list, change)
	}
}

// Remember adds a grant for the session; calls decided from now on see it.
func (g *Grants) Remember(grant Grant) {
	_ = g.Allow(grant, ThisSession) // in memory it is there whatever could not be recorded
}

// Allow remembers that a person allowed what a grant covers. Where it cannot be
// kept for as long as wanted, it holds for the session, and the error says why.
func (g *Grants) Allow(grant Grant, how Lifetime) error {
	defer g.changed.fire()
	var add []Granted
	for _, key := range strings.Split(grant.Key, keySeparator) {
		if key != "" {
			add = append(add, Granted{Key: key, Label: keyLabel(key), Lifetime: how, At: time.Now(), Session: g.opt.Session})
		}
	}
	if how != ThisProject {
		return g.add(add)
	}
	err := errNoProject
	if g.opt.Project != nil {
		err = g.opt.Project.add(add)
	}
	if err == nil {
		return nil
	}
	for i := range add {
		add[i].Lifetime = ThisSession
	}
	return errors.Join(fmt.Errorf("the answer is not saved for the project and holds for this session only: %w", err), g.add(add))
}

// Reject remembers, for the session, that a person rejected what a grant covers.
func (g *Grants) Reject(grant Grant) error {
	defer g.changed.fire()
	return g.add([]Granted{{Key: grant.Key, Label: keyLabel(grant.Key), Rejected: true, Lifetime: ThisSession, At: time.Now(), Session: g.opt.Session}})
}

func (g *Grants) add(add []Granted) error {
	var errs []error
	for _, x := range add {
		g.mu.Lock()
		known := slices.ContainsFunc(g.list, x.sameAs)
		if !known {
			g.list = append(g.list, x)
		}
		g.mu.Unlock()
		if !known && g.opt.Record != nil {
			errs = append(errs, g.opt.Record(x, false))
		}
	}
	return errors.Join(errs...)
}

// Keep makes a grant of the session one of the project.
func (g *Grants) Keep(x Granted) error {
	if x.Rejected || x.Lifetime != ThisSession {
		return errors.New("only what was allowed for this session can be kept for the project")
	}
	if g.opt.Project == nil {
		return errNoProject
	}
	saved := x
	saved.Lifetime = ThisProject
	if err := g.opt.Project.add([]Granted{saved}); err != nil {
		return err
	}
	g.renumber(x)
	return g.Revoke(x)
}

// renumber gives the number of an answer of the session to the same one of the
// project: people go on calling it by that.
func (g *Grants) renumber(x Granted) {
	was, now := numbered{x.Key, x.Rejected, ThisSession}, numbered{x.Key, x.Rejected, ThisProject}
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.numbers[was]; n != 0 && g.numbers[now] == 0 {
		g.numbers[now] = n
		g.numbers[was] = len(g.numbers) // a number of its own, should it be given again
	}
}

// Revoke takes back an entry of List. One that is not there any more is no
// error.
func (g *Grants) Revoke(x Granted) error {
	defer g.changed.fire()
	if x.Lifetime == ThisProject {
		if g.opt.Project == nil {
			return nil
		}
		return g.opt.Project.remove(x)
	}
	g.mu.Lock()
	before := len(g.list)
	g.list = slices.DeleteFunc(g.list, x.sameAs)
	gone := len(g.list) < before
	g.mu.Unlock()
	if gone && g.opt.Record != nil {
		return g.opt.Record(x, true)
	}
	return nil
}

// List gives what is remembered: for the session, then for the project, the
// oldest first. The error says why the project's cannot be read.
func (g *Grants) List() (list []Granted, err error) {
	var saved []Granted
	if g.opt.Project != nil {
		saved, err = g.opt.Project.List()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	list = append(slices.Clone(g.list), saved...)
	if g.numbers == nil {
		g.numbers = map[numbered]int{}
	}
	for i, x := range list {
		id := numbered{x.Key, x.Rejected, x.Lifetime}
		if g.numbers[id] == 0 {
			g.numbers[id] = len(g.numbers) + 1
		}
		list[i].Number = g.numbers[id]
	}
	return list, err
}

// Changed is closed when what is remembered changes the next time.
func (g *Grants) Changed() <-chan struct{} { return g.changed.next() }

// Project is where grants for the project are kept; nil when they are not.
func (g *Grants) Project() *Project { return g.opt.Project }

func (g *Grants) has(key string) bool {
	g.mu.Lock()
	known := slices.ContainsFunc(g.list, func(x Granted) bool { return !x.Rejected && x.Key == key })
	g.mu.Unlock()
	return known || g.opt.Project != nil && g.opt.Project.has(key)
}

// rejected finds a rejection that covers a call with these keys.
func (g *Grants) rejected(keys func() []string) (Granted, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var have []string
	for _, x := range g.list {
		if !x.Rejected {
			continue
		}
		if have == nil {
			have = keys()
		}
		all := true
		for _, k := range strings.Split(x.Key, keySeparator) {
			all = all && slices.Contains(have, k)
		}
		if all {
			return x, true
		}
	}
	return Granted{}, false
}

// broadcast tells any number of waiters that something changed.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) fire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

func commandKey(key string) string { return "command " + key }

// keyLabel is a key, or several together, as a person reads it.
func keyLabel(key string) string {
	if strings.Contains(key, keySeparator) {
		var labels []string
		for _, k := range strings.Split(key, keySeparator) {
			labels = append(labels, keyLabel(k))
		}
		return strings.Join(labels, ", ")
	}
	kind, rest, _ := strings.Cut(key, " ")
	switch kind {
	case "command":
		return shell.KeyLabel(rest)
	case "workspace":
		return rest + " in this workspace"
	case "line":
		return "exactly " + rest
	case "remote":
		name, _, _ := strings.Cut(rest, " ")
		return name
	}
	return rest
}

// keys gives what would have to be remembered for the call to pass by grants
// alone. ok is false when no grant can cover it.
func (s subject) keys(tool string) (keys []string, ok bool) {
	switch s.kind {
	case Shell:
		if s.line == nil || s.elsewhere != "" || len(s.line.Unsure) > 0 || len(s.line.Commands) == 0 {
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
				return oneKey("tool " + tool + " " + s.paths[len(s.paths)-1].abs)
			}
		}
		return oneKey("workspace " + tool)
	case URL:
		if s.site == nil {
			return nil, false
		}
		return oneKey("host " + tool + " " + s.site.String())
	}
	if s.identity != "" {
		return oneKey("remote " + tool + " " + s.identity)
	}
	return oneKey("tool " + tool)
}

// oneKey is the key of a call that has a single one. A model's text that would
// read as several keys has none: what it says behind a NUL nobody has asked about.
func oneKey(key string) (keys []string, ok bool) {
	if strings.Contains(key, keySeparator) {
		return nil, false
	}
	return []string{key}, true
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

// Offer is what may be remembered of the answer to a question. A Grant whose
// Key is empty cannot be offered.
type Offer struct {
	AllowSession  Grant
	AllowProject  Grant
	RejectSession Grant
}

// OfferFor says what may be remembered of the answer to a call that asks.
// Nothing that would not stop the question is offered.
func (p *Policy) OfferFor(exec *registry.Execution) Offer { return p.OfferForCall(callOf(exec)) }

// OfferForCall is OfferFor for a call that is not in the pipeline.
func (p *Policy) OfferForCall(c Call) (o Offer) {
	if e, err := escalationOf(c.Arguments); err != nil || e.wanted() {
		return o // an escalation is for one run
	}
	tool := p.tool(c.Tool)
	label := func(key string) string {
		if tool.Remote != "" {
			return shorten(tool.Remote)
		}
		return shorten(keyLabel(key))
	}
	s := subjectOf(tool, c)
	if keys := p.missing(s, c); keys != nil {
		key := strings.Join(keys, keySeparator)
		o.AllowSession = Grant{Key: key, Label: fmt.Sprintf("Allow always: %s (this session)", label(key))}
		if p.grants.Project() != nil {
			o.AllowProject = Grant{Key: key, Label: fmt.Sprintf("Allow always: %s (this project)", label(key))}
		}
	}
	if key := s.rejection(c.Tool, p.grants.has); key != "" {
		o.RejectSession = Grant{Key: key, Label: fmt.Sprintf("Reject always: %s (this session)", label(key))}
	}
	return o
}

// GrantFor says what "allow always (this session)" would cover for a call that
// asks, and how to label it. ok is false when remembering would not stop the
// question, so that the option is better not offered.
func (p *Policy) GrantFor(exec *registry.Execution) (Grant, bool) {
	return p.GrantForCall(callOf(exec))
}

// GrantForCall is GrantFor for a call that is not in the pipeline.
func (p *Policy) GrantForCall(c Call) (Grant, bool) {
	g := p.OfferForCall(c).AllowSession
	return g, g.Key != ""
}

// missing gives the keys that would let the call pass if they were granted too;
// nil when no grant can.
func (p *Policy) missing(s subject, c Call) []string {
	var missing []string
	if s.kind == Shell && s.line != nil && s.elsewhere == "" {
		// Commands that a rule allows already need no grant, and may be ones
		// that cannot have one, such as a redirection that a rule spells out.
		missing = p.missingKeys(s, c.Tool)
	} else if keys, ok := s.keys(c.Tool); ok {
		missing = keys
	}
	if len(missing) == 0 {
		return nil
	}
	with := func(key string) bool { return slices.Contains(missing, key) || p.grants.has(key) }
	if !p.decide(c, with).IsAllow() {
		return nil
	}
	return missing
}

// rejection is the key of what "reject always" covers: the commands that were
// not granted, together, where they have keys; else exactly this line.
func (s subject) rejection(tool string, granted func(string) bool) string {
	keys, ok := s.keys(tool)
	if ok {
		if fresh := slices.DeleteFunc(slices.Clone(keys), granted); len(fresh) > 0 {
			return strings.Join(fresh, keySeparator)
		}
	}
	if s.kind == Shell && s.line != nil {
		return s.exactLine()
	}
	return strings.Join(keys, keySeparator)
}

// maxExactLine bounds the text of a line that is remembered whole, in bytes.
const maxExactLine = 4 << 10

func (s subject) exactLine() string {
	text := strings.TrimSpace(s.text)
	if text == "" || len(text) > maxExactLine || strings.Contains(text, keySeparator) {
		return ""
	}
	return "line " + text
}

// rejectable gives every key by which a rejection may cover the call. Unlike
// for a grant, what a command cannot be vouched for does not matter: it is
// enough that the line contains what was rejected.
func (s subject) rejectable(tool string) []string {
	keys, _ := s.keys(tool)
	if s.kind != Shell || s.line == nil {
		return keys
	}
	keys = nil
	for _, c := range s.line.Commands {
		if key, ok := c.GrantKey(); ok && !c.Hidden {
			keys = append(keys, commandKey(key))
		}
	}
	if line := s.exactLine(); line != "" {
		keys = append(keys, line)
	}
	return keys
}

// shorten makes a label fit a button.
func shorten(label string) string {
	if r := []rune(label); len(r) > 80 {
		label = string(r[:79]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, label)
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
