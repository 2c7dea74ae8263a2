package main

import "github.com/dsh-acp/dsh-acp/internal/tools/skill"

// checkSkills says which skills a session in cwd has, which cannot be used, and
// which count for nothing because others have their name.
func checkSkills(r *report, c *skill.Catalogue, cwd string) {
	skills, problems := c.List(cwd)
	r.ok("skills", "%d", len(skills))
	for _, p := range problems {
		r.note("skills", "%q cannot be used: %v", p.Path, p.Reason)
	}
	for _, s := range c.Shadowed(cwd) {
		r.note("skills", "%q is hidden by %q: both are called %q; rename one", s.Dir, s.Taken, s.Name)
	}
}
