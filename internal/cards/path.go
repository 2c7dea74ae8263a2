package cards

import (
	"path/filepath"
	"strings"
)

// relativeTitle replaces every occurrence of path in title by its form relative
// to cwd, when path lies strictly inside cwd. Both must be absolute; the test is
// by path segment, so "/w/..cache/x" is inside "/w" and "/work" is not.
func relativeTitle(title, path, cwd string) string {
	if path == "" || cwd == "" || !filepath.IsAbs(path) || !filepath.IsAbs(cwd) {
		return title
	}
	rel, err := filepath.Rel(cwd, path)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) || filepath.IsAbs(rel) {
		return title
	}
	return strings.ReplaceAll(title, path, rel)
}

// absolute resolves path against cwd. Without a cwd a relative path stays.
func absolute(path, cwd string) string {
	if path == "" || filepath.IsAbs(path) || cwd == "" {
		return path
	}
	return filepath.Join(cwd, path)
}
