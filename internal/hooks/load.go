package hooks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dsh-acp/dsh-acp/internal/textfile"
)

// Load reads a hook file that somebody named: relative to cwd, with ~/ for the
// home folder. It returns nil when there is no such file. A file that is there
// and cannot be used is an error, because of what it may have forbidden.
func Load(dialect Dialect, cwd, name string) (*File, error) {
	f, _, err := load(dialect, resolve(cwd, name))
	return f, err
}

func resolve(cwd, name string) string {
	if rest, ok := cutHome(name); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(cwd, name)
}

func cutHome(name string) (rest string, ok bool) {
	if len(name) > 1 && name[0] == '~' && os.IsPathSeparator(name[1]) {
		return name[2:], true
	}
	return "", false
}

// load reads and parses a file; both are nil when it does not exist.
func load(dialect Dialect, path string) (*File, []byte, error) {
	text, err := textfile.Bytes(path, MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the hook file %s cannot be read: %w", path, err)
	}
	f, err := Parse(dialect, path, text)
	return f, text, err
}
