package main

import (
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/hooks"
)

// checkHooks says which hooks a session in cwd runs. A named file that cannot be
// used would refuse the session, so it is a failure; hooks that wait for consent
// and parts that have no effect are worth knowing of.
func checkHooks(r *report, cfg *config.Config, cwd string) {
	told := false
	tell := func(f *hooks.File, whose string) {
		told = true
		r.ok("hooks", "%q: %d %s", f.Path, f.Len(), whose)
		for _, p := range f.Problems {
			r.note("hooks", "%q: %s", f.Path, p)
		}
	}
	for _, n := range namedHooks(cfg) {
		switch f, err := hooks.Load(n.dialect, cwd, n.path); {
		case err != nil:
			told = true
			r.bad("hooks", "%v; until that is repaired no session opens here", err)
		case f != nil:
			tell(f, "named by the configuration")
		}
	}
	found, problems := consents(cfg).Find(cwd, cfg.Hooks.ClaudeCode, cfg.Hooks.Codex)
	for _, f := range found {
		if f.Allowed {
			tell(f.File, "of the workspace, allowed")
			continue
		}
		told = true
		if f.Refused {
			r.note("hooks", "%q: %d of the workspace that were refused for good; `dsh-acp hooks --allow` allows them all the same", f.File.Path, f.File.Len())
			continue
		}
		r.note("hooks", "%q: %d of the workspace that are not run; look at them with `dsh-acp hooks`, allow them with `dsh-acp hooks --allow`", f.File.Path, f.File.Len())
	}
	for _, err := range problems {
		told = true
		r.note("hooks", "not run: %v", err)
	}
	if !told {
		r.ok("hooks", "none")
	}
}
