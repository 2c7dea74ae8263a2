package search

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// maxWorkers bounds the goroutines of one search; the work is processor and
	// disk, so more than a few gain nothing.
	maxWorkers = 8
	// maxFiles bounds how many files one search looks at.
	maxFiles = 1_000_000
	// listBatch is how many entries of a folder are read at a time.
	listBatch = 1024
	// maxSkips bounds the list of what could not be read.
	maxSkips = 10
)

func workers() int { return min(runtime.GOMAXPROCS(0), maxWorkers) }

// versionControl are the folders that hold a repository's own data: what is in
// them is no project file, whatever is asked for.
var versionControl = map[string]bool{".git": true, ".svn": true, ".hg": true, ".bzr": true, ".jj": true, ".sl": true}

// kernelFolders hold files that never end or wait for events.
var kernelFolders = map[string]bool{"/proc": true, "/sys": true, "/dev": true}

// skipped is something that a search could not look at.
type skipped struct{ path, reason string }

// skips collects them; the first few by path are named, all are counted.
type skips struct {
	mu    sync.Mutex
	list  []skipped
	total int
}

func (s *skips) add(path, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	at, _ := slices.BinarySearchFunc(s.list, path, func(e skipped, p string) int { return strings.Compare(e.path, p) })
	if at == maxSkips {
		return
	}
	s.list = slices.Insert(s.list, at, skipped{path, why})
	s.list = s.list[:min(len(s.list), maxSkips)]
}

// walk says which files of a folder are wanted.
type walk struct {
	root     string // absolute, links followed
	hidden   bool   // also names that begin with a dot
	ignored  bool   // also what ignore files name
	wantDir  func(rel, name string) bool
	wantFile func(rel, name string) bool
	skips    *skips
}

// folder is what the walk found in one.
type folder struct {
	rel     string
	entries []entry // in order of their names
}

type entry struct {
	name string
	sub  *folder // nil for a file
}

// files lists the wanted regular files below the root: slash-separated paths
// relative to it, folder by folder in the order of the bytes of their names.
// Links are not followed, so there are no loops. A folder that cannot be read is
// noted; only one that is the root fails the walk.
func (w *walk) files(ctx context.Context) ([]string, error) {
	r := &walker{walk: w, slots: make(chan struct{}, workers()-1)}
	top := &folder{}
	var above *ignores
	if !w.ignored {
		above = ignoresAbove(w.root)
	}
	err := r.read(ctx, w.root, top, above)
	r.wg.Wait()
	switch {
	case ended(ctx) != nil:
		return nil, ended(ctx)
	case err != nil:
		return nil, err
	case r.count.Load() > maxFiles:
		return nil, fail(CodeFailed, "there are more than %d files in %q; name a folder further down", maxFiles, w.root)
	}
	return top.flatten(make([]string, 0, r.count.Load())), nil
}

func (f *folder) flatten(out []string) []string {
	for _, e := range f.entries {
		if e.sub != nil {
			out = e.sub.flatten(out)
			continue
		}
		out = append(out, join(f.rel, e.name))
	}
	return out
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// walker is one run of a walk.
type walker struct {
	*walk
	slots chan struct{} // one for each goroutine besides the first
	wg    sync.WaitGroup
	count atomic.Int64
}

// read lists a folder and what is below it, sharing the work with whoever is
// idle.
func (r *walker) read(ctx context.Context, dir string, f *folder, rules *ignores) error {
	if ctx.Err() != nil || r.count.Load() > maxFiles {
		return nil
	}
	list, err := list(ctx, dir)
	if err != nil {
		return err
	}
	if !r.ignored {
		if f.rel != "" && slices.ContainsFunc(list, func(e iofs.DirEntry) bool { return e.Name() == ".git" }) {
			rules = repository(dir, "", skipOf(f.rel)) // one inside another has its own rules only
		}
		if slices.ContainsFunc(list, func(e iofs.DirEntry) bool { return e.Name() == ".gitignore" }) {
			rules = rules.below(dir, f.rel)
		}
	}
	for _, e := range list {
		name := e.Name()
		kind := e.Type()
		if versionControl[name] || !r.hidden && name[0] == '.' || !kind.IsDir() && !kind.IsRegular() {
			continue
		}
		rel := join(f.rel, name)
		if kind.IsDir() {
			if r.wantDir != nil && !r.wantDir(rel, name) {
				continue
			}
		} else if r.wantFile != nil && !r.wantFile(rel, name) {
			continue
		}
		if !r.ignored && rules.ignored(rel, name, kind.IsDir()) {
			continue
		}
		if !kind.IsDir() {
			r.count.Add(1)
			f.entries = append(f.entries, entry{name: name})
			continue
		}
		path := filepath.Join(dir, name)
		if kernelFolders[path] {
			continue
		}
		sub := &folder{rel: rel}
		f.entries = append(f.entries, entry{name: name, sub: sub})
		visit := func() {
			if err := r.read(ctx, path, sub, rules); err != nil {
				r.skips.add(rel, reason(err))
			}
		}
		select {
		case r.slots <- struct{}{}:
			r.wg.Go(func() {
				defer func() { <-r.slots }()
				visit()
			})
		default:
			visit()
		}
	}
	return nil
}

// list reads the entries of a folder in the order of their names.
func list(ctx context.Context, dir string) ([]iofs.DirEntry, error) {
	f, err := openFile(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []iofs.DirEntry
	for {
		some, err := f.ReadDir(listBatch)
		all = append(all, some...)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, iofs.ErrNotExist) {
			return nil, err
		}
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	slices.SortFunc(all, func(a, b iofs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
