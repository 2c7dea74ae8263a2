package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Found is a hook file that a workspace brings by itself.
type Found struct {
	File    *File
	Key     string // what consent is remembered by
	Allowed bool
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
		key := consentKey(p.dialect, path, text)
		found = append(found, Found{File: f, Key: key, Allowed: c.allowed(key)})
	}
	return found, problems
}

// consentKey names this content at this place: the same text elsewhere may call
// other scripts.
func consentKey(dialect Dialect, path string, text []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00", dialect, path)
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil))
}

func (c Consents) allowed(key string) bool {
	if c.Dir == "" {
		return false
	}
	info, err := os.Lstat(filepath.Join(c.Dir, key))
	return err == nil && info.Mode().IsRegular()
}

// Allow remembers the consent to files that were found.
func (c Consents) Allow(found ...Found) error {
	if c.Dir == "" {
		return errors.New("there is no folder to remember consent in")
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("consent cannot be remembered: %w", err)
	}
	for _, f := range found {
		if err := os.WriteFile(filepath.Join(c.Dir, f.Key), nil, 0o600); err != nil {
			return fmt.Errorf("consent cannot be remembered: %w", err)
		}
	}
	return nil
}

// Revoke forgets the consent to files that were found.
func (c Consents) Revoke(found ...Found) error {
	if c.Dir == "" {
		return nil
	}
	for _, f := range found {
		if err := os.Remove(filepath.Join(c.Dir, f.Key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("consent cannot be forgotten: %w", err)
		}
	}
	return nil
}
