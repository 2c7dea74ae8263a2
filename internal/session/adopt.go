package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// adopt gives a new session the files that another one keeps in the folders of
// its own folder (long results, the output of commands), and returns the events
// with the paths of these files changed. So the copy does not depend on the other
// session, which may be deleted. What cannot be had keeps its path.
func (s *Store) adopt(from, to string, events []Event) []Event {
	var pairs []string
	root := s.Dir(from)
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, rerr := filepath.Rel(root, path)
		if err != nil || rerr != nil || !d.Type().IsRegular() || filepath.Dir(name) == "." || d.Name() == logName {
			return nil // logs are not shared: the copy has its own, subagents belong to the other one
		}
		if shareFile(path, filepath.Join(s.Dir(to), name)) == nil {
			pairs = append(pairs, filepath.Join(from, name), filepath.Join(to, name))
		}
		return nil
	})
	if pairs == nil {
		return events
	}
	paths := strings.NewReplacer(pairs...)
	moved := func(text string) string {
		if !strings.Contains(text, from) {
			return text
		}
		return paths.Replace(text)
	}
	out := make([]Event, len(events))
	for i, e := range events {
		e.Data, e.Extra = moveStrings(e.Data, moved), moveStrings(e.Extra, moved)
		out[i] = e
	}
	return out
}

func moveStrings(v jsonvalue.Value, f func(string) string) jsonvalue.Value {
	if v.IsUndefined() {
		return v
	}
	return v.MapStrings(f)
}

// shareFile makes a file exist under a second name, or copies it where that cannot
// be. These files are written once, or grow while a command runs.
func shareFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err = errors.Join(err, dst.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}
