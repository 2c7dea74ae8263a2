package hooks

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// File is what a hook file says. It is immutable.
type File struct {
	Dialect Dialect
	Path    string // where it was read, for messages
	// Problems are entries that have no effect, in words for the log.
	Problems []string

	groups map[Point][]group
}

// group is one matcher with its handlers.
type group struct {
	matcher  matcher
	handlers []handler
}

// handler is one command.
type handler struct {
	command string
	timeout time.Duration
}

// Len is the number of handlers that can run.
func (f *File) Len() int {
	n := 0
	for _, gs := range f.groups {
		for _, g := range gs {
			n += len(g.handlers)
		}
	}
	return n
}

// Commands lists the handlers' command lines as "point matcher: command", in the
// file's order by point, for a person who is to judge them.
func (f *File) Commands() []string {
	var out []string
	for _, p := range []Point{SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop} {
		for _, g := range f.groups[p] {
			for _, h := range g.handlers {
				name := string(p)
				if g.matcher.text != "" {
					name += " " + g.matcher.text
				}
				out = append(out, name+": "+h.command)
			}
		}
	}
	return out
}

// Parse reads the text of a hook file: an object whose member "hooks" maps
// points to lists of {matcher?, hooks: [{type: "command", command, timeout?}]}.
// Other members are left alone, so a settings file will do. A part that cannot
// be used is left out and named in Problems; an error means that nothing of the
// file can be used.
func Parse(dialect Dialect, path string, text []byte) (*File, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("the hook file %s is longer than %d bytes", path, MaxFile)
	}
	root, err := jsonvalue.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the hook file %s is not JSON: %w", path, err)
	}
	if !root.IsObject() {
		return nil, fmt.Errorf(`the hook file %s is not a JSON object with a member "hooks"`, path)
	}
	f := &File{Dialect: dialect, Path: path, groups: map[Point][]group{}}
	for name := range root.Members() {
		if Point(name).known() {
			f.problem(`hooks for %s are not run: they have to be inside of the member "hooks"`, name)
		}
	}
	points, ok := root.Lookup("hooks")
	if !ok {
		return f, nil
	}
	if !points.IsObject() {
		return nil, fmt.Errorf(`"hooks" in the hook file %s is not an object`, path)
	}
	for name, list := range points.Members() {
		f.point(Point(name), list)
	}
	return f, nil
}

func (f *File) problem(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

func (f *File) point(p Point, list jsonvalue.Value) {
	if !p.known() {
		f.problem("hooks for %q are not run: there is no such point here", clip(string(p), maxSummary))
		return
	}
	if !list.IsArray() {
		f.problem("hooks for %s are not run: the value is not a list", p)
		return
	}
	for i, v := range list.Elements() {
		where := fmt.Sprintf("%s[%d]", p, i)
		g, err := f.group(p, where, v)
		if err != nil {
			f.problem("%s is not run: %v", where, err)
			continue
		}
		if len(g.handlers) > 0 {
			f.groups[p] = append(f.groups[p], g)
		}
	}
}

func (f *File) group(p Point, where string, v jsonvalue.Value) (group, error) {
	if !v.IsObject() {
		return group{}, errors.New("it is not an object")
	}
	var g group
	if m, ok := v.Lookup("matcher"); ok && p.matches() {
		text, isText := m.Str()
		if !isText {
			return group{}, errors.New("its matcher is not text")
		}
		var err error
		if g.matcher, err = compileMatcher(text); err != nil {
			return group{}, err
		}
	}
	list := v.Get("hooks")
	if !list.IsArray() {
		return group{}, errors.New(`it has no list "hooks"`)
	}
	for i, h := range list.Elements() {
		parsed, err := f.handler(fmt.Sprintf("%s.hooks[%d]", where, i), h)
		if err != nil {
			f.problem("%s.hooks[%d] is not run: %v", where, i, err)
			continue
		}
		g.handlers = append(g.handlers, parsed)
	}
	return g, nil
}

func (f *File) handler(where string, v jsonvalue.Value) (handler, error) {
	if !v.IsObject() {
		return handler{}, errors.New("it is not an object")
	}
	if typ := v.GetString("type"); typ != "command" {
		return handler{}, fmt.Errorf(`its type is not "command" but %q`, clip(typ, maxSummary))
	}
	h := handler{command: v.GetString("command"), timeout: DefaultTimeout}
	if strings.TrimSpace(h.command) == "" {
		return handler{}, errors.New("it has no command")
	}
	if strings.ContainsRune(h.command, 0) {
		return handler{}, errors.New("its command holds a NUL character")
	}
	for _, key := range []string{"timeout", "timeoutSec"} {
		t, ok := v.Lookup(key)
		if !ok {
			continue
		}
		seconds, isNumber := t.Float()
		if !isNumber || seconds <= 0 || math.IsNaN(seconds) {
			f.problem("%s: its timeout is not a positive number of seconds; %s holds", where, DefaultTimeout)
			continue
		}
		h.timeout = MaxTimeout
		if seconds < MaxTimeout.Seconds() {
			h.timeout = max(time.Millisecond, time.Duration(seconds*float64(time.Second)))
		}
	}
	// What narrows a hook and is not understood leaves the hook wide: it runs
	// more often than asked for, never less.
	for _, key := range []string{"if", "async", "once"} {
		if x, ok := v.Lookup(key); ok && !x.Equal(jsonvalue.Bool(false)) {
			f.problem("%s: %q has no effect here; the hook runs each time, and is waited for", where, key)
		}
	}
	return h, nil
}

// clip cuts text to at most n bytes at a character, and says so.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	const mark = " […]"
	cut := max(0, n-len(mark))
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + mark
}
