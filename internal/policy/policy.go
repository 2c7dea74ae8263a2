// Package policy decides which calls run, which need a person's approval and
// which are refused. It listens on the pipeline; it confines nothing: what a
// command that was let through can reach is the sandbox's business.
//
// The order of a decision: the rules, the first that matches; what the person
// granted for this session; the preset. A workspace's restrictions are judged
// beside the rules, and the stricter answer counts.
package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Preset is what happens when no rule and no grant decides.
type Preset string

// The presets, from strict to free.
const (
	// ReadOnly refuses edits and unknown commands; it asks before a command
	// that is recognised as reading only.
	ReadOnly Preset = "read-only"
	// WorkspaceWrite asks before anything that can change something.
	WorkspaceWrite Preset = "workspace-write"
	// FullAccess never asks: what no rule refuses runs, and what would need an
	// approval is refused.
	FullAccess Preset = "danger-full-access"
)

// Presets lists the presets from strict to free.
func Presets() []Preset { return []Preset{ReadOnly, WorkspaceWrite, FullAccess} }

// ParsePreset reads a preset's name.
func ParsePreset(name string) (Preset, error) {
	if p := Preset(name); slices.Contains(Presets(), p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown preset %q: it is one of %s, %s, %s", name, ReadOnly, WorkspaceWrite, FullAccess)
}

// Config is what a policy is made of.
type Config struct {
	Preset       Preset
	Rules        []Rule // the first that matches decides
	Restrictions []Rule // judged beside Rules; the stricter answer counts; none may allow
	// Tools says what each tool does; nil means FirstParty(). A tool that is
	// not listed counts as Other: it asks.
	Tools map[string]Tool
	// Describe describes tools that are not in Tools, such as those of MCP
	// servers, which come and go; nil describes none. It is called for every
	// decision.
	Describe func(name string) (Tool, bool)
	// Grants remembers what a person allowed; nil makes an empty store. Agents
	// that answer to the same person share one.
	Grants *Grants
	// Home expands ~/ in path patterns; "" leaves them unexpanded.
	Home string
	// Confined says whether commands run inside a sandbox that keeps them to
	// what the preset allows. Then workspace-write need not ask about each. nil
	// means that they do not.
	Confined func() bool
	// Approver asks about escalations; nil refuses them.
	Approver pipeline.Approver
	// Vain says why a call would fail whatever a person answers, so that nobody is
	// asked about it; "" when it may succeed. nil means that any may. It must be
	// quick, and reach nothing outside of the program.
	Vain func(Call) string
}

// Policy decides about calls. It is safe for concurrent use.
type Policy struct {
	preset       atomic.Pointer[Preset]
	planning     atomic.Bool
	confined     func() bool
	approver     pipeline.Approver
	vain         func(Call) string
	escalated    escalations
	judged       sync.Map // registry.Token → what a call was judged as
	rules        []compiled
	restrictions []compiled
	tools        map[string]Tool
	describe     func(string) (Tool, bool)
	grants       *Grants
}

// tool is what is known of a tool.
func (p *Policy) tool(name string) Tool {
	t, ok := p.tools[name]
	if !ok && p.describe != nil {
		t, _ = p.describe(name)
	}
	return t
}

// New compiles the rules. A pattern that cannot be read is an error that names
// the rule's place.
func New(c Config) (*Policy, error) {
	p := &Policy{tools: c.Tools, grants: c.Grants, confined: c.Confined, approver: c.Approver, describe: c.Describe, vain: c.Vain}
	if p.tools == nil {
		p.tools = firstParty()
	}
	if p.grants == nil {
		p.grants = NewGrants()
	}
	if c.Preset == "" {
		c.Preset = WorkspaceWrite
	}
	if err := p.SetPreset(c.Preset); err != nil {
		return nil, err
	}
	var err error
	if p.rules, err = compileAll(c.Rules, c.Home); err != nil {
		return nil, err
	}
	for _, r := range c.Restrictions {
		if r.Decision == "allow" {
			return nil, fmt.Errorf("%s: a restriction cannot allow", r.where())
		}
	}
	p.restrictions, err = compileAll(c.Restrictions, c.Home)
	return p, err
}

// Preset is the current preset.
func (p *Policy) Preset() Preset { return *p.preset.Load() }

// SetPreset switches; calls decided from now on follow it.
func (p *Policy) SetPreset(preset Preset) error {
	if _, err := ParsePreset(string(preset)); err != nil {
		return err
	}
	p.preset.Store(&preset)
	return nil
}

// SetPlanning switches plan mode: while it is on, what would change something is
// refused under every preset. Calls decided from now on follow it.
func (p *Policy) SetPlanning(on bool) { p.planning.Store(on) }

// Planning says whether plan mode is on.
func (p *Policy) Planning() bool { return p.planning.Load() }

// ConfinedBy is Config.Confined for whoever knows it only later. Call it before
// the first call is decided.
func (p *Policy) ConfinedBy(confined func() bool) { p.confined = confined }

// NeverAsks says whether the approval policy of the current preset is "never".
func (p *Policy) NeverAsks() bool { return p.Preset() == FullAccess }

// Grants is the store of what was allowed for the session.
func (p *Policy) Grants() *Grants { return p.grants }

// Install puts the policy before the calls that scope sees: a pre-execute
// listener that decides, and a guard that holds every denial whatever other
// listeners say (rules R5.8, R5.16). dispose takes everything away again.
func (p *Policy) Install(pipe *pipeline.Pipeline, scope *registry.Scope) (dispose func(), err error) {
	unlisten, err := pipe.OnPreExecute(scope, p.listen)
	if err != nil {
		return nil, err
	}
	unguard, err := scope.Guard(func(exec *registry.Execution) (registry.Verdict, error) {
		if d := p.Decide(context.Background(), exec); d.IsDeny() {
			return registry.Veto(d.Reason()), nil
		}
		if p.replaced(exec) {
			return registry.Veto(fmt.Sprintf("the tool %s is not the one any more that was decided about: look at what it takes now, and call it again", exec.Name())), nil
		}
		return registry.Pass(), nil
	})
	if err != nil {
		unlisten()
		return nil, err
	}
	unforesee, err := pipe.OnForesee(scope, p.foresee)
	if err != nil {
		unguard()
		unlisten()
		return nil, err
	}
	unobserve, err := pipe.OnResult(scope, func(exec *registry.Execution, _ *registry.Result) {
		p.escalated.forget(exec)
		p.judged.Delete(exec.Token())
	})
	if err != nil {
		unforesee()
		unguard()
		unlisten()
		return nil, err
	}
	return func() { unobserve(); unforesee(); unguard(); unlisten() }, nil
}

// listen answers with the stricter of the policy's decision and that of the
// listeners behind it, such as hooks.
func (p *Policy) listen(ctx context.Context, exec *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
	mine, as := p.judge(exec)
	if !mine.IsDeny() {
		p.note(exec, as)
	}
	if mine.IsDeny() {
		return mine, nil
	}
	theirs, err := next(ctx)
	if err != nil {
		return theirs, err
	}
	if e, err := escalationOf(exec.Arguments()); err == nil && e.wanted() && p.tool(exec.Name()).escalates() && (theirs.IsAllow() || theirs.IsAsk()) {
		// One question covers the escalation and whatever else would be asked.
		return p.escalate(ctx, exec, e)
	}
	if !theirs.IsAllow() {
		return theirs, nil
	}
	return p.revisable(mine, exec, as), nil
}

// Decide says what the policy thinks of a call. It changes nothing.
func (p *Policy) Decide(_ context.Context, exec *registry.Execution) pipeline.Decision {
	return p.DecideCall(callOf(exec))
}

// Call is what the policy looks at.
type Call struct {
	Tool      string
	Arguments jsonvalue.Value
	Cwd       string // absolute; "" when the caller has none
	// Roots are the further folders of the workspace, absolute, in every form in
	// which a path may begin with them. They may repeat Cwd.
	Roots []string
}

func callOf(exec *registry.Execution) Call {
	c := Call{Tool: exec.Name(), Arguments: exec.Arguments()}
	if a, ok := exec.Agent().(interface{ Cwd() string }); ok {
		c.Cwd = a.Cwd()
	}
	if a, ok := exec.Agent().(interface{ Roots() []string }); ok {
		c.Roots = a.Roots()
	}
	// As the client wrote them too: a path is judged as it is written and where it
	// leads, and has to be inside either way.
	if a, ok := exec.Agent().(interface{ AdditionalDirectories() []string }); ok {
		c.Roots = append(c.Roots[:len(c.Roots):len(c.Roots)], a.AdditionalDirectories()...)
	}
	return c
}

// DecideCall is Decide for a call that is not in the pipeline.
func (p *Policy) DecideCall(c Call) pipeline.Decision { return p.decide(c, p.grants.has) }

func (p *Policy) decide(c Call, granted func(key string) bool) pipeline.Decision {
	return p.decideAbout(subjectOf(p.tool(c.Tool), c), c, granted)
}

func (p *Policy) decideAbout(s subject, c Call, granted func(key string) bool) pipeline.Decision {
	d := p.decideIn(s, c, granted)
	if d.IsAsk() && p.vain != nil {
		if why := p.vain(c); why != "" {
			return pipeline.Deny(why)
		}
	}
	return d
}

func (p *Policy) decideIn(s subject, c Call, granted func(key string) bool) pipeline.Decision {
	tool := p.tool(c.Tool)
	if s.elsewhere != "" {
		granted = func(string) bool { return false }
	}
	if x, ok := p.grants.rejected(func() []string { return s.rejectable(c.Tool) }); ok {
		return pipeline.Deny(x.denial())
	}
	preset := p.Preset()
	if p.Planning() {
		if reason := planDenial(tool.Class, s, c.Tool, preset); reason != "" && !tool.readsOnly() {
			return pipeline.Deny(reason)
		}
	}
	if tool.escalates() {
		e, err := escalationOf(c.Arguments)
		if err == nil {
			err = e.check(preset, p.Planning())
		}
		if err != nil {
			return pipeline.Deny(err.Error())
		}
		if e.wanted() {
			// The person is asked about it all at once; what no answer can allow
			// stays refused.
			preset = WorkspaceWrite
		}
	}
	never := preset == FullAccess
	remembered := granted
	if preset == ReadOnly || p.Planning() && tool.Class == Other {
		// What was granted under a freer preset does not outlive the switch, and
		// plan mode asks about every call that may change something.
		remembered = func(string) bool { return false }
	}
	ruled := s.judge(p.rules, c.Tool, remembered)
	restricted := s.judge(p.restrictions, c.Tool, remembered)

	for _, v := range []verdict{ruled, restricted} {
		switch {
		case v.answer == answerDeny:
			return pipeline.Deny(v.denial(c.Tool))
		case v.answer == answerAsk && never:
			return pipeline.Deny(fmt.Sprintf("%s, and the preset %s never asks", v.need(c.Tool), FullAccess))
		}
	}
	// What no rule decides is the preset's. A rule that asks about one command
	// of a line does not speak for the others.
	base := pipeline.Allow()
	if ruled.answer == answerNone || ruled.answer == answerAsk && ruled.rest {
		base = byPreset(preset, tool, s, c.Tool, remembered)
		if base.IsAsk() && preset == WorkspaceWrite && tool.Class == Execute && p.confined != nil && p.confined() {
			base = pipeline.Allow()
		}
	}
	switch {
	case base.IsDeny():
		return base
	case restricted.answer == answerAsk:
		return pipeline.Ask(restricted.question(c.Tool))
	case ruled.answer == answerAsk:
		return pipeline.Ask(ruled.question(c.Tool))
	}
	return base
}

// planDenial says why plan mode refuses a call; "" when it does not. A tool that
// nobody described may change anything, so it needs the person's word, which the
// preset that never asks cannot give.
func planDenial(class Class, s subject, tool string, preset Preset) string {
	const next = ": present the plan with exit_plan_mode first"
	switch {
	case class == Edit:
		return tool + " changes files, which plan mode does not allow" + next
	case class == Execute && (s.line == nil || !s.line.ReadOnly()):
		return "plan mode allows no command that is not recognised as reading only" + next
	case class == Other && preset == FullAccess:
		return "what " + tool + " does is not known, so plan mode does not allow it" + next
	}
	return ""
}

// byPreset is the default, for what no rule decides.
func byPreset(preset Preset, described Tool, s subject, tool string, granted func(string) bool) pipeline.Decision {
	class := described.Class
	if class == Read || class == Neutral || preset == FullAccess {
		return pipeline.Allow()
	}
	if preset == ReadOnly {
		switch {
		case class == Edit:
			return pipeline.Deny(fmt.Sprintf("%s changes files, which the preset %s does not allow", tool, ReadOnly))
		case class == Execute && (s.line == nil || !s.line.ReadOnly()):
			return pipeline.Deny(fmt.Sprintf("the preset %s allows no command that is not recognised as reading only", ReadOnly))
		}
	}
	if described.readsOnly() && preset == WorkspaceWrite {
		return pipeline.Allow()
	}
	if keys, _ := s.keys(tool); len(keys) > 0 && !described.Destructive && !slices.ContainsFunc(keys, func(k string) bool { return !granted(k) }) {
		return pipeline.Allow()
	}
	switch class {
	case Edit:
		return pipeline.Ask(fmt.Sprintf("%s changes files (preset %s)", tool, preset))
	case Execute:
		if s.elsewhere != "" {
			return pipeline.Ask(fmt.Sprintf("%s runs a command in %s, outside of the workspace (preset %s)", tool, s.elsewhere, preset))
		}
		if s.line != nil && len(s.line.Unsure) > 0 {
			return pipeline.Ask(fmt.Sprintf("%s runs a command (preset %s): %s", tool, preset, strings.Join(s.line.Unsure, "; ")))
		}
		return pipeline.Ask(fmt.Sprintf("%s runs a command (preset %s)", tool, preset))
	}
	if class == Fetch {
		return pipeline.Ask(s.siteQuestion(tool, preset))
	}
	if described.Remote != "" {
		return pipeline.Ask(described.question(preset))
	}
	return pipeline.Ask(fmt.Sprintf("what %s does is not known (preset %s)", tool, preset))
}
