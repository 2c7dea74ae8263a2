// Package workspace tells a session's model where it works: the environment
// section with the state of git, the instruction files of the project, and
// those of folders that tools come to touch. It reads nothing before a prompt
// is put together, so that opening a session costs nothing.
package workspace

import (
	"log/slog"
	"os"
	"path/filepath"
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
	given  string // the working directory as the client wrote it
	log    *slog.Logger

	locate sync.Once
	cwd    string // the working directory without links
	root   string // the project: cwd or a folder above it

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
		opened: o.Opened, agent: o.Agent, given: filepath.Clean(o.Cwd), log: o.Logger,
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
