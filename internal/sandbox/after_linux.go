package sandbox

import (
	"os"
	"path/filepath"
	"sync"
)

// follow lets a run say how it went. What it returns is called once the command
// has ended, with why it was not run; "" when it was.
func (b *Box) follow(run *Run, layout *Layout) (ended func(failure string)) {
	absent := layout.absent()
	b.strays.watch(absent)
	b.strays.know(layout)
	var mu sync.Mutex
	var why string
	var undone []string
	run.failure = func() string { mu.Lock(); defer mu.Unlock(); return why }
	run.touched = func() []string { mu.Lock(); defer mu.Unlock(); return undone }
	return func(failure string) {
		mu.Lock()
		defer mu.Unlock()
		why, undone = failure, append(undo(absent), layout.vet(b.strays.knows)...)
	}
}

// strays are the files that no repository has beside its configuration and that
// were not there when its first command was confined. A process that a command
// left running can make one long after the command's own end.
type strays struct {
	mu    sync.Mutex
	at    map[string]struct{}
	known map[string]bool // the repositories that were there when any command began
}

// maxStrays bounds how many are looked after.
const maxStrays = 4096

// know remembers the repositories that are there when a command begins: from then on
// they are protected, and what the user makes of them is no business of a command
// that has been running since before.
func (s *strays) know(l *Layout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]bool{}
	}
	for git := range l.known {
		if len(s.known) < maxStrays {
			s.known[git] = true
		}
	}
}

func (s *strays) knows(git string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[git]
}

// watch looks after those of the paths that only a linked work tree may have. The
// others can be the user's.
func (s *strays) watch(absent []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range absent {
		if filepath.Base(path) != "commondir" || len(s.at) >= maxStrays {
			continue
		}
		if s.at == nil {
			s.at = map[string]struct{}{}
		}
		s.at[path] = struct{}{}
	}
}

// Sweep takes away what processes that commands left running have put where they
// may not write. It is done before each command, too; call it once the last of
// those processes has ended.
func (b *Box) Sweep() {
	b.strays.mu.Lock()
	defer b.strays.mu.Unlock()
	for path := range b.strays.at {
		undo([]string{path})
	}
}

// undo removes those that are there by now, unless their folder has become a link to
// another: what is there is not ours to remove.
func undo(absent []string) (undone []string) {
	for _, path := range absent {
		if _, err := os.Lstat(path); err == nil && removeAt(path) {
			undone = append(undone, path)
		}
	}
	return undone
}

func removeAt(path string) bool {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer dir.Close()
	real, ok := place(dir)
	return ok && real == filepath.Dir(path) && dir.RemoveAll(filepath.Base(path)) == nil
}
