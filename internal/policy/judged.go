package policy

import (
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// judgement is what a call was judged as beyond what it says: where its path leads,
// and which tool has the name.
type judgement struct {
	class          Class
	path, identity string // "" where there is none
}

// judge is Decide, and says as what.
func (p *Policy) judge(exec *registry.Execution) (pipeline.Decision, judgement) {
	c := callOf(exec)
	tool := p.tool(c.Tool)
	s := subjectOf(tool, c)
	as := judgement{class: tool.Class, identity: tool.Identity}
	if len(s.paths) > 0 {
		as.path = s.paths[len(s.paths)-1].abs
	}
	return p.decideAbout(s, c, p.grants.has), as
}

// note remembers until the call ends as what it was judged. Between the decision
// and the call a symbolic link on the way may come to lead somewhere else, or a
// server offer another tool under the name, which nobody has allowed.
func (p *Policy) note(exec *registry.Execution, as judgement) {
	if as.class == Edit || as.class == Other {
		p.judged.Store(exec.Token(), as)
	}
}

// replaced says whether another tool has the name by now.
func (p *Policy) replaced(exec *registry.Execution) bool {
	v, ok := p.judged.Load(exec.Token())
	return ok && v.(judgement).identity != p.tool(exec.Name()).Identity
}

// Judged says whether the call was judged, and not refused, as one that changes
// the file at this path, which has no symbolic links. Whoever runs a call that
// was let through asks. A call that was escalated was let through for what its
// wider mode allows, and for nothing beyond.
func (p *Policy) Judged(exec *registry.Execution, real string) bool {
	if _, escalated := p.escalated.of(exec); escalated || p.Planning() {
		return false
	}
	v, ok := p.judged.Load(exec.Token())
	if !ok {
		return false
	}
	as := v.(judgement)
	return as.class == Edit && as.path != "" && as.path == filepath.ToSlash(real)
}
