package hooks

import (
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/consent"
)

// Found is a hook file that a workspace brings by itself.
type Found struct {
	File    *File
	Key     string // what consent is remembered by
	Allowed bool
	Refused bool // a person said that it is never to run
}

// places are where hook files lie in a workspace without anybody naming them.
var places = []struct {
	dialect Dialect
	path    string
}{
	{Claude, ".claude/settings.json"},
	{Claude, ".claude/settings.local.json"},
	{Claude, ".claude/hooks.json"},
	{Codex, ".codex/hooks.json"},
}

// Consents remembers which hook files of workspaces may run: one empty file a
// consent, in a folder of ours. Its zero value remembers nothing.
type Consents struct{ Dir string }

// Find looks for hook files that a workspace brings by itself, but for those
// already named. A file without anything to run is no find; one that cannot be
// read is a problem and no more, since it does not run.
func (c Consents) Find(cwd string, named ...string) (found []Found, problems []error) {
	known := map[string]bool{}
	for _, n := range named {
		if n != "" {
			known[resolve(cwd, n)] = true
		}
	}
	for _, p := range places {
		path := filepath.Join(cwd, filepath.FromSlash(p.path))
		if known[path] {
			continue
		}
		f, text, err := load(p.dialect, path)
		if err != nil {
			problems = append(problems, err)
		}
		if f == nil || f.Len() == 0 {
			continue
		}
		key := consent.Key(string(p.dialect), path, text)
		found = append(found, Found{File: f, Key: key, Allowed: c.store().Allowed(key), Refused: c.store().Refused(key)})
	}
	return found, problems
}

func (c Consents) store() consent.Store { return consent.Store{Dir: c.Dir} }

// Allow remembers the consent to files that were found.
func (c Consents) Allow(found ...Found) error { return c.store().Allow(keys(found)...) }

// Refuse remembers that files that were found are never to run.
func (c Consents) Refuse(found ...Found) error { return c.store().Refuse(keys(found)...) }

// Revoke forgets the consent to files that were found.
func (c Consents) Revoke(found ...Found) error { return c.store().Revoke(keys(found)...) }

func keys(found []Found) (out []string) {
	for _, f := range found {
		out = append(out, f.Key)
	}
	return out
}
