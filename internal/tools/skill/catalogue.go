package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/textfile"
)

// The file of a skill, and the most that is read and listed.
const (
	fileName       = "SKILL.md"
	maxSkillFile   = 256 << 10 // bytes
	maxSkills      = 200       // listed
	maxDescription = 500       // characters of a description in the list
)

// validName is what a skill may be called.
var validName = lazyregexp.New(`^[\pL\pN][\pL\pN._-]{0,63}$`)

// Skill is one skill as the list shows it.
type Skill struct {
	Name        string
	Description string
	Dir         string // its folder, as it was found: links are not resolved
	Provider    string // "project" or "user"
	UserOnly    bool   // not for the model

	root string // where links of the file may lead besides Markdown; "" anywhere
}

// Summary is its description in one line.
func (s Skill) Summary() string {
	if s.Description == "" {
		return "Follow the skill " + s.Name
	}
	return summary(s.Description)
}

// Problem is a skill that cannot be used.
type Problem struct {
	Path   string
	Reason error
}

// Options say where skills are besides the project's own.
type Options struct {
	// Env reads the environment; nil means os.Getenv.
	Env func(string) string
	// Home is the user's home folder; "" means there is none.
	Home string
	// Logger gets the skills that cannot be used, each once; nil discards.
	Logger *slog.Logger
}

// Catalogue finds skills. Folders are looked at each time, and a file is read
// again when it changed. It is safe for concurrent use.
type Catalogue struct {
	o Options

	mu    sync.Mutex
	known map[string]entry // by path of the file
	told  map[string]bool
}

// entry is what a file said when it looked like that.
type entry struct {
	size     int64
	modified time.Time
	front    front
	err      error
}

// New makes a catalogue. It touches no file.
func New(o Options) *Catalogue {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Catalogue{o: o, known: map[string]entry{}, told: map[string]bool{}}
}

// place is a folder of skills.
type place struct{ dir, provider, root string }

// places are the folders in which skills are looked for. Of two skills of one
// name the first counts.
func (c *Catalogue) places(cwd string) []place {
	root := cwd
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		root = real
	}
	out := []place{
		{filepath.Join(cwd, ".dsh", "skills"), "project", root},
		{filepath.Join(cwd, ".agents", "skills"), "project", root},
	}
	for _, u := range []struct{ env, folder string }{{"DSH_HOME", ".dsh"}, {"DSH_AGENTS_HOME", ".agents"}} {
		dir := c.o.Env(u.env)
		if dir == "" && c.o.Home != "" {
			dir = filepath.Join(c.o.Home, u.folder)
		}
		// The user's own folder may be the project's: then it is there already.
		if p := filepath.Join(dir, "skills"); filepath.IsAbs(p) && p != out[0].dir && p != out[1].dir {
			out = append(out, place{p, "user", ""})
		}
	}
	return out
}

// Shadow is a skill that counts for nothing because another one has its name.
type Shadow struct {
	Name  string
	Dir   string // its folder
	Taken string // the folder of the one that counts
}

// Shadowed finds the skills that others hide, in the order of their precedence.
func (c *Catalogue) Shadowed(cwd string) []Shadow {
	_, _, shadows := c.find(cwd)
	return shadows
}

// List finds the skills for a working directory: those of the project before the
// user's, each group by name, one for each name. Of several of one name the first
// place counts, and in one place the folder that is called like that, else the
// first by its name; the others are logged. Folders without a SKILL.md are no
// skills; what cannot be read is a problem.
func (c *Catalogue) List(cwd string) (skills []Skill, problems []Problem) {
	skills, problems, shadows := c.find(cwd)
	c.report(problems, shadows)
	return skills, problems
}

func (c *Catalogue) find(cwd string) (skills []Skill, problems []Problem, shadows []Shadow) {
	taken := map[string]string{} // the folder that counts, by name
	for _, p := range c.places(cwd) {
		entries, err := os.ReadDir(p.dir) // sorted
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, Problem{p.dir, reason(err)})
			}
			continue
		}
		var here []Skill
		for _, e := range entries {
			dir := filepath.Join(p.dir, e.Name())
			f, err := c.front(filepath.Join(dir, fileName), p.root)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			s := Skill{Name: cmp.Or(f.Name, e.Name()), Description: f.Description, Dir: dir, Provider: p.provider, UserOnly: f.UserOnly, root: p.root}
			if err == nil && !validName.MatchString(s.Name) {
				err = errors.New("its name must be up to 64 letters, digits, dots, hyphens and underscores")
			}
			if err != nil {
				problems = append(problems, Problem{filepath.Join(dir, fileName), err})
				continue
			}
			here = append(here, s)
		}
		// A folder that is called like its skill has the better claim.
		slices.SortStableFunc(here, func(a, b Skill) int {
			return cmp.Compare(nameOfFolder(b), nameOfFolder(a))
		})
		for _, s := range here {
			if first := taken[s.Name]; first != "" {
				shadows = append(shadows, Shadow{s.Name, s.Dir, first})
				continue
			}
			taken[s.Name] = s.Dir
			skills = append(skills, s)
		}
	}
	slices.SortStableFunc(skills, func(a, b Skill) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name))
	})
	return skills, problems, shadows
}

// nameOfFolder is 1 when a skill has the name of its folder, else 0.
func nameOfFolder(s Skill) int {
	if filepath.Base(s.Dir) == s.Name {
		return 1
	}
	return 0
}

// front is what a file says about itself, from memory when it did not change.
func (c *Catalogue) front(path, root string) (front, error) {
	info, err := os.Stat(path)
	if err != nil {
		// The file of a folder that is a file itself is not there either.
		if parent, perr := os.Stat(filepath.Dir(path)); perr == nil && !parent.IsDir() {
			return front{}, fs.ErrNotExist
		}
		return front{}, reason(err)
	}
	c.mu.Lock()
	e, ok := c.known[path]
	c.mu.Unlock()
	if ok && e.size == info.Size() && e.modified.Equal(info.ModTime()) {
		return e.front, e.err
	}
	e = entry{size: info.Size(), modified: info.ModTime()}
	f, err := textfile.Read(path, root, maxSkillFile)
	if err == nil {
		e.front, _, err = parse(f.Text)
	}
	e.err = err
	c.mu.Lock()
	c.known[path] = e
	c.mu.Unlock()
	return e.front, e.err
}

// load reads the instructions of a skill.
func (c *Catalogue) load(s Skill) (string, error) {
	f, err := textfile.Read(filepath.Join(s.Dir, fileName), s.root, maxSkillFile)
	if err != nil {
		return "", err
	}
	_, body, err := parse(f.Text)
	if err == nil && f.Cut {
		body += fmt.Sprintf("\n\n[Cut: these are the first %d of %d bytes. Read the file for the rest.]", len(f.Raw), f.Size)
	}
	return body, err
}

// report logs each thing once.
func (c *Catalogue) report(problems []Problem, shadows []Shadow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := func(key string) bool {
		known := c.told[key]
		c.told[key] = true
		return !known
	}
	for _, p := range problems {
		if first(p.Path + "\x00" + p.Reason.Error()) {
			c.o.Logger.Warn("a skill cannot be used", "path", p.Path, "reason", p.Reason)
		}
	}
	for _, s := range shadows {
		if first(s.Dir + "\x00\x00" + s.Taken) {
			c.o.Logger.Warn("a skill is hidden by another one of its name", "skill", s.Name, "hidden", s.Dir, "counts", s.Taken)
		}
	}
}

// reason is a system error without its path.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// orderSkills puts the list behind everything that is the same in every project.
const orderSkills = registry.OrderGuidance + 94

// Section is the prompt's list of the skills for a working directory: names and
// descriptions, nothing more. It is empty when there is none, and when the scope
// cannot call the tool. The text is the same as long as the skills are (rule R4.8).
func (c *Catalogue) Section(scope *registry.Scope, cwd string) registry.Section {
	return registry.Section{
		Name: "skills", Order: orderSkills, Verbatim: true,
		Text: func(context.Context) (string, error) {
			if _, ok := scope.Get(Name); !ok {
				return "", nil
			}
			return describe(c.List(cwd)), nil
		},
	}
}

const listIntro = "A skill is a set of instructions for one kind of task. When the user names one, or the task is what its description says, load it with the tool `" + Name + "` before you do anything else, then follow it. The lines below are summaries; what a skill really says you only know once you have loaded it."

func describe(skills []Skill, problems []Problem) string {
	var b strings.Builder
	n := 0
	for _, s := range skills {
		if s.UserOnly {
			continue
		}
		if n++; n <= maxSkills {
			fmt.Fprintf(&b, "- `%s`: %s\n", s.Name, summary(s.Description))
		}
	}
	if n > maxSkills {
		fmt.Fprintf(&b, "(%d more are not listed.)\n", n-maxSkills)
	}
	list := ""
	if n > 0 {
		list = listIntro + "\n\n<available_skills>\n" + b.String() + "</available_skills>"
	}
	if len(problems) == 0 {
		return list
	}
	b.Reset()
	b.WriteString("Skills that cannot be used; tell the user when one of them was meant:\n")
	for i, p := range problems {
		if i == maxSkills {
			break
		}
		fmt.Fprintf(&b, "- %s: %s\n", oneLine(p.Path), oneLine(p.Reason.Error()))
	}
	note := strings.TrimSuffix(b.String(), "\n")
	if list == "" {
		return note
	}
	return list + "\n\n" + note
}

// summary cuts a description, whose whitespace is collapsed already.
func summary(s string) string {
	s = strings.ReplaceAll(oneLine(s), "</available_skills", "<\\/available_skills")
	if utf8.RuneCountInString(s) <= maxDescription {
		return s
	}
	return string([]rune(s)[:maxDescription-1]) + "…"
}

// oneLine makes a text harmless within a line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
