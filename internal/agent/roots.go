package agent

import (
	"path/filepath"
	"slices"
)

// Roots are the folders of the session's workspace: the working directory, then
// the additional ones in the client's order. Each is absolute, with symbolic
// links resolved where it exists, and stands there once. Empty when the session
// has no working directory. Do not change the slice.
func (s *Session) Roots() []string { return s.roots }

func rootsOf(cwd string, more []string) []string {
	var roots []string
	for _, dir := range append([]string{cwd}, more...) {
		if dir == "" {
			continue
		}
		if dir = CanonicalDir(dir); !slices.Contains(roots, dir) {
			roots = append(roots, dir)
		}
	}
	return roots
}

// CanonicalDir is the one form in which folders are compared: cleaned, with
// symbolic links resolved where the folder exists.
func CanonicalDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// AdditionalDirectories are the folders of the workspace besides the working
// directory, as the client wrote them.
func (s *Session) AdditionalDirectories() []string { return s.cfg.AdditionalDirectories }
