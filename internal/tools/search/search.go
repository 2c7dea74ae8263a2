// Package search has the tools glob and grep: finding files by their names and
// by their text. Both walk a folder the way git sees it, several files at a time
// and in bounded memory, and say how much there was besides what they show.
//
// What they answer does not depend on the programs that are installed: the walk,
// the ignore rules and the matching are done here. ripgrep, when there is one,
// only tells grep which files are not worth reading.
package search

import (
	_ "embed"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

// Timeout is the time that one call may take.
const Timeout = 30 * time.Second

// Options configure the tools.
type Options struct {
	// Supervisor starts ripgrep. nil means that it is not used.
	Supervisor *proc.Supervisor
	// Ripgrep is the program to use. "" means the rg of PATH, looked for when it
	// is first needed.
	Ripgrep string
	// NoRipgrep means that it is not used even when it is there.
	NoRipgrep bool
}

// Tools are the search tools with their configuration.
type Tools struct{ rg *ripgrep }

// New returns the tools.
func New(opts Options) *Tools { return &Tools{rg: newRipgrep(opts)} }

// Register adds glob and grep to a scope.
func Register(scope *registry.Scope, opts Options) error {
	for _, def := range New(opts).Definitions() {
		if _, err := scope.Register(def); err != nil {
			return err
		}
	}
	return nil
}

// Definitions are glob and grep.
func (t *Tools) Definitions() []registry.Definition {
	return []registry.Definition{t.glob(), t.grep()}
}

var (
	//go:embed glob.md
	globDescription string
	//go:embed grep.md
	grepDescription string
)

// place is where a search looks, and how paths are shown.
type place struct {
	root  string // absolute, links followed
	file  string // the name of the one file to search, "" for the whole folder
	shown string // root as it was given, absolute
	cwd   string
}

// begin finds the place that the arguments name: the session's directory unless
// there is a path.
func begin(args jsonvalue.Value, exec *registry.Execution) (place, error) {
	p := place{cwd: filepath.Clean(tools.Cwd(exec))}
	given := p.cwd
	if !args.Get("path").IsUndefined() {
		given = tools.Text(args, "path")
		if strings.TrimSpace(given) == "" {
			return p, errors.New("path must be a non-empty string when given")
		}
		if !filepath.IsAbs(given) {
			given = filepath.Join(p.cwd, given)
		}
	}
	p.shown = filepath.Clean(given)
	cannot := func(err error) error {
		return fail(CodeFailed, "cannot search %q: %s", p.shown, reason(err))
	}
	root, err := filepath.EvalSymlinks(p.shown)
	if err != nil {
		return p, cannot(err)
	}
	info, err := os.Stat(root)
	if err != nil {
		return p, cannot(err)
	}
	switch {
	case info.IsDir():
		p.root = root
	case info.Mode().IsRegular():
		p.root, p.file = filepath.Dir(root), filepath.Base(root)
	default:
		return p, cannot(errors.New("neither a folder nor a regular file"))
	}
	return p, nil
}

// name is how a path, relative to the root, is shown: relative to the session's
// directory when it is below that, absolute otherwise.
func (p place) name(rel string) string {
	path := p.shown
	if p.file == "" {
		path = filepath.Join(p.shown, filepath.FromSlash(rel))
	}
	if short, err := filepath.Rel(p.cwd, path); err == nil && filepath.IsLocal(short) {
		path = short
	}
	return strings.ToValidUTF8(path, "\uFFFD")
}

// flag is an optional boolean argument.
func flag(args jsonvalue.Value, name string) bool {
	b, _ := args.Get(name).Bool()
	return b
}

// count reads an optional argument that is a whole number from least on.
func count(args jsonvalue.Value, name string, least, fallback, most int) (int, error) {
	v := args.Get(name)
	if v.IsUndefined() {
		return fallback, nil
	}
	f, ok := v.Float()
	if !ok || f < float64(least) || f != math.Trunc(f) {
		if least > 0 {
			return 0, errors.New(name + " must be a positive integer")
		}
		return 0, errors.New(name + " must be an integer that is not negative")
	}
	return int(min(f, float64(most))), nil
}

// requiredText is a string argument that must say something.
func requiredText(args jsonvalue.Value, name string) (string, error) {
	s := tools.Text(args, name)
	if s == "" {
		return "", errors.New(name + " must be a non-empty string")
	}
	return s, nil
}

// member shortens object literals.
func member(key string, v jsonvalue.Value) jsonvalue.Member {
	return jsonvalue.Member{Key: key, Value: v}
}

func integer(n int) jsonvalue.Value { return jsonvalue.Int(int64(n)) }

// mustSchema converts the literals of the output schemas.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic("search: an output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}
