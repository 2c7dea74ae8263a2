package policy

import (
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// decideAndNote is Decide, and remembers until the call ends which file an edit
// was judged by. Between the decision and the edit a symbolic link on the way may
// come to lead somewhere else, which nobody has allowed.
func (p *Policy) decideAndNote(exec *registry.Execution) pipeline.Decision {
	c := callOf(exec)
	tool := p.tool(c.Tool)
	s := subjectOf(tool, c)
	d := p.decideAbout(s, c, p.grants.has)
	if tool.Class == Edit && len(s.paths) > 0 && !d.IsDeny() {
		p.judged.Store(exec.Token(), s.paths[len(s.paths)-1].abs)
	}
	return d
}

// Judged says whether the call was judged, and not refused, as one that changes
// the file at this path, which has no symbolic links. Whoever runs a call that
// was let through asks. A call that was escalated was let through for what its
// wider mode allows, and for nothing beyond.
func (p *Policy) Judged(exec *registry.Execution, real string) bool {
	if _, escalated := p.escalated.of(exec); escalated || p.Planning() {
		return false
	}
	path, ok := p.judged.Load(exec.Token())
	return ok && path.(string) == filepath.ToSlash(real)
}
