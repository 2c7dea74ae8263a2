package policy

import (
	"fmt"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// foresee says what the policy will ask about a call when its turn comes, if
// nothing changes until then.
func (p *Policy) foresee(exec *registry.Execution) pipeline.Decision {
	if c := p.tool(exec.Name()).Class; (c == Neutral || c == Read) && len(p.rules) == 0 && len(p.restrictions) == 0 {
		return pipeline.Allow() // no preset asks about these, and paths cost time
	}
	d, as := p.judge(exec)
	if d.IsDeny() {
		return d
	}
	if e, err := escalationOf(exec.Arguments()); err == nil && e.wanted() && p.tool(exec.Name()).escalates() {
		return pipeline.Ask(e.question())
	}
	return p.revisable(d, exec, as)
}

// revisable lets an ask of the policy's own be answered by what is remembered
// meanwhile.
func (p *Policy) revisable(d pipeline.Decision, exec *registry.Execution, as judgement) pipeline.Decision {
	if !d.IsAsk() {
		return d
	}
	return d.About(as.identity + "\x00" + as.path).Again(func() pipeline.Decision {
		// While it still asks, the person is asked about what they see.
		now, as := p.judge(exec)
		if now.IsAllow() {
			p.note(exec, as)
		}
		return now
	})
}

// MayFollow says whether a call that was let through may go on to another URL: one
// that needs no approval, or no other than the call did.
func (p *Policy) MayFollow(exec *registry.Execution, to string) bool {
	c := callOf(exec)
	was := p.DecideCall(c)
	c.Arguments = c.Arguments.With(p.tool(c.Tool).Argument, jsonvalue.String(to))
	now := p.DecideCall(c)
	return now.IsAllow() || now.IsAsk() && was.IsAsk() && now.Reason() == was.Reason()
}

// denial is what the model reads of a remembered rejection.
func (x Granted) denial() string {
	return fmt.Sprintf("the user rejected this and said to reject it always in this session: %s. It is not asked about again; the user can take that back with /permissions", shorten(x.Label))
}

// Rules lists the rules for people, in the order in which they are tried: those
// of the user, then the restrictions of the workspace.
func (p *Policy) Rules() []string {
	var out []string
	for _, c := range append(slices.Clone(p.rules), p.restrictions...) {
		line := c.rule.Decision + " " + c.rule.String()
		if c.rule.Reason != "" {
			line += " (" + c.rule.Reason + ")"
		}
		if c.rule.Origin != "" {
			line += ", from " + c.rule.Origin
		}
		out = append(out, line)
	}
	return out
}
