// Package workspace tells a session's model where it works: the environment
// section with the state of git, the instruction files of the project, and
// those of folders that tools come to touch. It reads nothing before a prompt
// is put together, so that opening a session costs nothing.
package workspace

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/textfile"
)

// The places of the sections: behind the guidance of the tools and the Code
// Mode SDK, which are the same in every project, so that sessions of different
// projects share as much of the prompt's prefix as they can (rule R4.8).
const (
	orderEnvironment  = registry.OrderGuidance + 90
	orderInstructions = registry.OrderGuidance + 92
)

// Options describe one session's workspace.
type Options struct {
	// Agent is the session's own agent, whose log Logged and Replaced speak of.
	Agent string
	// Cwd is the session's working directory, absolute.
	Cwd string
	// Additional are the workspace's folders besides Cwd, absolute.
	Additional []string
	// Opened is when the session was opened; its date is told to the model.
	Opened time.Time
	// Logger gets what could not be read; nil discards.
	Logger *slog.Logger
}

// Workspace is what one session knows of its project. It is safe for concurrent
// use.
type Workspace struct {
	opened time.Time
	agent  string
	given  string   // the working directory as the client wrote it
	more   []string // the additional folders as the client wrote them
	log    *slog.Logger

	locate sync.Once
	cwd    string   // the working directory without links
	root   string   // the project: cwd or a folder above it
	extra  []string // the additional folders without links, those in root left out

	describe sync.Once
	env      string // the environment section

	mu      sync.Mutex
	sight   string          // what the instruction files looked like when they were read
	section string          // the instructions section for that
	loaded  map[string]bool // the files in it, without links
	warned  map[string]bool
	seen    map[string]seen // by agent: what it was told of nested files
}

// New describes a workspace. It touches no file.
func New(o Options) *Workspace {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Workspace{
		opened: o.Opened, agent: o.Agent, given: filepath.Clean(o.Cwd), more: o.Additional, log: o.Logger,
		warned: map[string]bool{}, seen: map[string]seen{},
	}
}

// Install adds the sections and the discovery of nested files to a session's
// scope; they end with it.
func (w *Workspace) Install(scope *registry.Scope, pipe *pipeline.Pipeline) error {
	for _, s := range []registry.Section{
		{Name: "environment", Order: orderEnvironment, Verbatim: true, Text: w.environment},
		{Name: "workspace-instructions", Order: orderInstructions, Verbatim: true, Text: w.instructions},
	} {
		if _, err := scope.AddSection(s); err != nil {
			return err
		}
	}
	_, err := pipe.OnPostExecute(scope, w.discover)
	return err
}

// rootMarkers are what the top folder of a project has.
var rootMarkers = []string{".git", ".dsh-project"}

// find locates the project: the nearest folder with a marker, from the working
// directory upwards, else the working directory itself.
func (w *Workspace) find() {
	w.locate.Do(func() {
		defer w.findExtra()
		w.cwd = w.given
		if real, err := filepath.EvalSymlinks(w.given); err == nil {
			w.cwd = real
		}
		w.root = w.cwd
		for dir := w.cwd; ; dir = filepath.Dir(dir) {
			for _, m := range rootMarkers {
				if _, err := os.Lstat(filepath.Join(dir, m)); err == nil {
					w.root = dir
					return
				}
			}
			if dir == filepath.Dir(dir) {
				return
			}
		}
	})
}

// findExtra resolves the additional folders. What lies in the project belongs to
// it already.
func (w *Workspace) findExtra() {
	for _, dir := range w.more {
		dir = filepath.Clean(dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if !textfile.Within(w.root, dir) && !slices.Contains(w.extra, dir) {
			w.extra = append(w.extra, dir)
		}
	}
}

// rootOf is the folder that a file's links may not lead out of: the project, or
// the additional folder that the file lies in.
func (w *Workspace) rootOf(path string) string {
	if !textfile.Within(w.root, path) {
		for _, dir := range w.extra {
			if textfile.Within(dir, path) {
				return dir
			}
		}
	}
	return w.root
}

// initial lists the folders whose instruction files are in the prompt: the
// additional ones, then those from the project's top down to the working
// directory.
func (w *Workspace) initial() []string {
	return append(slices.Clone(w.extra), chain(w.root, w.cwd)...)
}

// chain lists the folders from top, which comes first, down to dir. It is empty
// when dir does not lie in top.
func chain(top, dir string) []string {
	if !textfile.Within(top, dir) {
		return nil
	}
	var up []string
	for ; ; dir = filepath.Dir(dir) {
		up = append(up, dir)
		if dir == top || dir == filepath.Dir(dir) {
			break
		}
	}
	for i, j := 0, len(up)-1; i < j; i, j = i+1, j-1 {
		up[i], up[j] = up[j], up[i]
	}
	return up
}

// warn reports a file once for each reason. The caller holds w.mu.
func (w *Workspace) warn(label string, why error) {
	key := label + "\x00" + why.Error()
	if !w.warned[key] {
		w.warned[key] = true
		w.log.Warn("an instruction file could not be read", "file", label, "cwd", w.given, "reason", why)
	}
}
