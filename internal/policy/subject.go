package policy

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/policy/shell"
)

// subject is what rules are matched against.
type subject struct {
	identity string // of a remote tool
	kind     Subject
	line     *shell.Line // of Shell; nil when the argument is no text
	text     string      // of Shell: what line was parsed from
	// elsewhere is the folder that a command is to run in, where that lies outside
	// of the workspace. The same words mean other files there, so nothing that was
	// allowed by them counts.
	elsewhere string
	paths     []target // of Path: the path as given, and where symbolic links lead
	texts     []string // of NoSubject
	site      *site    // of URL; nil when the argument is no web address
}

// target is a path with the folders of the workspace it is seen from. All are
// cleaned, with slashes.
type target struct {
	abs   string
	cwd   string   // may be ""
	roots []string // the workspace's further folders
}

func subjectOf(t Tool, c Call) subject {
	s := subject{kind: t.Subject, identity: t.Identity}
	switch t.Subject {
	case Shell:
		if text, ok := c.Arguments.Get(t.Argument).Str(); ok {
			s.line, s.text = shell.Parse(text), text
		}
		s.elsewhere = outside(c.Arguments.GetString(t.Dir), c)
	case Path:
		path, ok := c.Arguments.Get(t.Argument).Str()
		if !ok || path == "" {
			path = "."
		}
		s.paths = targets(path, c)
	case NoSubject:
		s.texts = texts(c.Arguments)
	case URL:
		if at, ok := siteOf(c.Arguments.GetString(t.Argument)); ok {
			s.site = &at
		}
	}
	return s
}

// outside is a folder if it lies outside of the workspace, by its name or by where
// that leads; "" otherwise.
func outside(dir string, c Call) string {
	if dir == "" {
		return ""
	}
	seen := targets(dir, c)
	for _, t := range seen {
		if _, ok := t.inside(); !ok {
			return t.abs
		}
	}
	if len(seen) == 0 {
		return dir
	}
	return ""
}

func targets(path string, c Call) []target {
	cwd := c.Cwd
	if !filepath.IsAbs(path) {
		if cwd == "" {
			return nil
		}
		path = filepath.Join(cwd, path)
	}
	given := target{abs: filepath.ToSlash(filepath.Clean(path))}
	if cwd != "" {
		given.cwd = filepath.ToSlash(filepath.Clean(cwd))
	}
	real := target{abs: filepath.ToSlash(resolve(filepath.Clean(path), 0))}
	if cwd != "" {
		real.cwd = filepath.ToSlash(resolve(filepath.Clean(cwd), 0))
	}
	for _, r := range c.Roots {
		given.roots = append(given.roots, filepath.ToSlash(filepath.Clean(r)))
		real.roots = append(real.roots, filepath.ToSlash(resolve(filepath.Clean(r), 0)))
	}
	if real.abs == given.abs && real.cwd == given.cwd && slices.Equal(real.roots, given.roots) {
		return []target{given}
	}
	return []target{given, real}
}

// resolve follows the symbolic links of a path whose end need not exist.
func resolve(path string, depth int) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	// A link that leads nowhere yet is where a new file will appear.
	if to, err := os.Readlink(path); err == nil && depth < 40 {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		return resolve(filepath.Clean(to), depth+1)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent, depth), filepath.Base(path))
}

// inside says whether the path lies in the workspace: in the working directory
// or else in another of its folders. rel is seen from that folder.
func (t target) inside() (rel string, ok bool) {
	if t.cwd == "" {
		return "", false
	}
	if rel, ok = under(t.cwd, t.abs); ok {
		return rel, true
	}
	for _, root := range t.roots {
		if rel, ok = under(root, t.abs); ok {
			return rel, true
		}
	}
	return "", false
}

// under says whether a path is a folder or lies in it.
func under(dir, path string) (rel string, ok bool) {
	if path == dir {
		return ".", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// matches says whether a path pattern applies. For a refusal the pattern also
// applies to everything below what it names.
func (t target) matches(pattern string, below bool) bool {
	if pattern == "" {
		return false
	}
	path, absolute := t.abs, strings.HasPrefix(pattern, "/")
	if !absolute {
		rel, ok := t.inside()
		if !ok {
			if t.cwd == "" {
				return false
			}
			r, err := filepath.Rel(t.cwd, t.abs)
			// Only a pattern that says .. itself reaches out of the folder.
			if err != nil || !strings.HasPrefix(pattern, "../") {
				return false
			}
			rel = filepath.ToSlash(r)
		}
		path = rel
	}
	if below && (runtime.GOOS == "darwin" || runtime.GOOS == "windows") {
		path, pattern = strings.ToLower(path), strings.ToLower(pattern)
	}
	for {
		if ok, err := doublestar.Match(pattern, path); err == nil && ok {
			return true
		}
		i := strings.LastIndexByte(path, '/')
		if !below || i <= 0 {
			return false
		}
		path = path[:i]
	}
}

func texts(v jsonvalue.Value) []string {
	var out []string
	add := func(v jsonvalue.Value) {
		if s, ok := v.Str(); ok && len(out) < 1000 {
			out = append(out, s)
		}
	}
	for _, m := range v.Members() {
		add(m)
		for _, e := range m.Elements() {
			add(e)
		}
	}
	return out
}

// judge asks a list of rules.
func (s subject) judge(rules []compiled, tool string, granted func(string) bool) verdict {
	if len(rules) == 0 {
		return verdict{}
	}
	mine := make([]compiled, 0, len(rules))
	for _, r := range rules {
		if r.tool.MatchText(tool) {
			mine = append(mine, r)
		}
	}
	if s.kind == Shell && s.line != nil {
		return judgeLine(s.line, mine, granted, s.elsewhere != "")
	}
	for _, r := range mine {
		what, ok := s.hit(r)
		if !ok {
			continue
		}
		if r.answer == answerAsk {
			if keys, _ := s.keys(tool); len(keys) == 1 && granted(keys[0]) {
				return verdict{answer: answerAllow, rule: r.rule}
			}
		}
		return verdict{answer: r.answer, rule: r.rule, what: what}
	}
	return verdict{}
}

// hit says whether a rule matches a call that is no command.
func (s subject) hit(r compiled) (what string, ok bool) {
	if r.rule.Match == "" {
		return "", true
	}
	switch s.kind {
	case URL:
		return s.hitSite(r)
	case Path:
		hits := 0
		for _, t := range s.paths {
			if t.matches(r.path, r.answer != answerAllow) {
				hits++
				what = t.abs
			}
		}
		if r.answer == answerAllow {
			// The name and where it leads must both be allowed.
			return what, hits > 0 && hits == len(s.paths)
		}
		return what, hits > 0
	case NoSubject:
		if r.answer == answerAllow {
			return "", false
		}
		for _, text := range s.texts {
			if r.text.MatchText(text) {
				return text, true
			}
		}
	}
	return "", false
}

// judgeLine judges every simple command of a line: one denial denies the line,
// and only when each command is allowed is the line. elsewhere says that it runs
// where only a rule for the whole tool allows it.
func judgeLine(line *shell.Line, rules []compiled, granted func(string) bool, elsewhere bool) verdict {
	var asks, unclear *verdict
	covered, whole, rest := true, true, false
	for _, c := range line.Commands {
		answer := answerNone
	search:
		for i := range rules {
			r := &rules[i]
			switch {
			case r.command == nil && c.Aside():
				break search // the command that it comes from is judged by this rule
			case r.command == nil:
				answer = r.answer
				v := verdict{answer: answer, rule: r.rule}
				if answer == answerDeny {
					return v
				}
				if answer == answerAsk {
					if remembered(c, granted) {
						answer, whole = answerAllow, false
					} else {
						asks = first(asks, v)
					}
				}
				break search
			case r.answer == answerAllow:
				if c.Hidden || !r.command.Covers(c) {
					// A hidden command is allowed with the one that runs it; this
					// rule may still say that it is none of the later ones' business.
					if c.Hidden && r.command.Covers(c) {
						break search
					}
					continue
				}
				answer, whole = answerAllow, false
				break search
			default:
				switch r.command.Hits(c) {
				case shell.Sure:
					v := verdict{answer: r.answer, rule: r.rule, what: c.String()}
					if r.answer == answerDeny {
						return v
					}
					answer = answerAsk
					if remembered(c, granted) {
						answer, whole = answerAllow, false
					} else {
						asks = first(asks, v)
					}
					break search
				case shell.Maybe:
					unclear = first(unclear, verdict{answer: answerAsk, rule: r.rule, unclear: true})
				}
			}
		}
		if c.Hidden {
			continue
		}
		if answer == answerNone {
			whole = false
			if remembered(c, granted) {
				answer = answerAllow
			}
		}
		rest = rest || answer == answerNone
		covered = covered && answer == answerAllow
	}
	if len(line.Commands) == 0 {
		covered, whole = false, false
		for _, r := range rules {
			if r.command == nil {
				return verdict{answer: r.answer, rule: r.rule}
			}
		}
	}
	switch {
	case unclear != nil:
		unclear.rest = rest
		return *unclear
	case asks != nil:
		asks.rest = rest
		return *asks
	case covered && (whole || len(line.Unsure) == 0 && !elsewhere):
		return verdict{answer: answerAllow}
	}
	return verdict{}
}

func remembered(c *shell.Command, granted func(string) bool) bool {
	key, ok := c.GrantKey()
	return ok && granted(commandKey(key))
}

func first(old *verdict, v verdict) *verdict {
	if old != nil {
		return old
	}
	return &v
}
