package skill

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

type agent struct {
	scope *registry.Scope
	cwd   string
}

func (a agent) AgentID() string        { return "s" }
func (a agent) Scope() *registry.Scope { return a.scope }
func (a agent) Cwd() string            { return a.cwd }

// world has a project and a home.
type world struct {
	t         *testing.T
	cwd, home string
	env       map[string]string
	cat       *Catalogue
	pipe      *pipeline.Pipeline
	scope     *registry.Scope
	log       bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, cwd: filepath.Join(dir, "work"), home: filepath.Join(dir, "home"), env: map[string]string{}}
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.cat = New(Options{Home: w.home, Env: func(k string) string { return w.env[k] }, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err := Register(reg.Global(), w.cat); err != nil {
		t.Fatal(err)
	}
	w.scope = reg.Global().Child("s")
	if _, err := w.scope.AddSection(w.cat.Section(w.scope, w.cwd)); err != nil {
		t.Fatal(err)
	}
	if w.pipe, err = pipeline.New(reg, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// add writes a skill into a folder of skills.
func (w *world) add(root, folder, front, body string) string {
	dir := filepath.Join(root, "skills", folder)
	w.write(filepath.Join(dir, fileName), "---\n"+front+"\n---\n\n"+body+"\n")
	return dir
}

func (w *world) call(name string) *registry.Result {
	return w.pipe.Execute(context.Background(), pipeline.Call{
		ID: "c", Name: Name, Agent: agent{w.scope, w.cwd},
		Arguments: jsonvalue.Object(jsonvalue.Member{Key: "name", Value: jsonvalue.String(name)}),
	})
}

func (w *world) prompt() string {
	w.t.Helper()
	p, err := w.scope.Assemble(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return p.System
}

func TestASkillIsLoadedInSteps(t *testing.T) {
	w := newWorld(t)
	if p := w.prompt(); p != "" {
		t.Errorf("a list of no skills: %q", p)
	}
	dir := w.add(filepath.Join(w.cwd, ".dsh"), "snapshot-skill", "name: snapshot-skill\ndescription: Exercise   project\n  skill discovery.", "Follow {{these}} & <those>.\nThen stop.")
	p := w.prompt()
	if want := "<available_skills>\n- `snapshot-skill`: Exercise project skill discovery.\n</available_skills>"; !strings.Contains(p, want) || strings.Contains(p, "Follow") {
		t.Errorf("the prompt:\n%s", p)
	}
	want := "<skill_content name=\"snapshot-skill\">\n<skill_resources>\nBase directory for this skill: " + dir +
		"\nResolve relative paths mentioned by this skill against the base directory before using them. Load referenced resources only as needed.\n</skill_resources>\n\n" +
		"<skill_instructions>\nFollow {{these}} & <those>.\nThen stop.\n</skill_instructions>\n</skill_content>"
	r := w.call("snapshot-skill")
	if r.IsError() || r.Text() != want {
		t.Errorf("got\n%s\nwant\n%s", r.Text(), want)
	}
	if v := r.Value().String(); v != fmt.Sprintf(`{"name":"snapshot-skill","provider":"project","resourceBase":{"kind":"directory","path":%q},"content":"Follow {{these}} & <those>.\nThen stop."}`, dir) {
		t.Errorf("the value: %s", v)
	}
}

func TestErrors(t *testing.T) {
	w := newWorld(t)
	w.add(filepath.Join(w.cwd, ".dsh"), "mine", "name: mine\ndescription: For people.\ndisable-model-invocation: true", "x")
	for name, want := range map[string]string{
		"":          `Error: invalid skill name ""`,
		"../../etc": `Error: invalid skill name "../../etc"`,
		"a\nb":      `Error: invalid skill name "a\nb"`,
		"none":      `Error: skill "none" is unknown or no longer available`,
		"mine":      `Error: skill "mine" is not available for model invocation`,
	} {
		if r := w.call(name); !r.IsError() || r.Text() != want {
			t.Errorf("%q: %s, want %s", name, r.Text(), want)
		}
	}
	if p := w.prompt(); strings.Contains(p, "mine") {
		t.Errorf("a skill that is not for the model is listed:\n%s", p)
	}
}

func TestWhereSkillsAre(t *testing.T) {
	w := newWorld(t)
	elsewhere := filepath.Join(filepath.Dir(w.home), "elsewhere")
	for i, root := range []string{filepath.Join(w.cwd, ".dsh"), filepath.Join(w.cwd, ".agents"), filepath.Join(w.home, ".dsh"), filepath.Join(w.home, ".agents"), elsewhere} {
		w.add(root, "same", "name: same\ndescription: "+fmt.Sprint(i), "x")
		w.add(root, "own"+fmt.Sprint(i), "description: "+fmt.Sprint(i), "x") // named by its folder
	}
	list := func() (out []string) {
		skills, problems := w.cat.List(w.cwd)
		if len(problems) > 0 {
			t.Errorf("%v", problems)
		}
		for _, s := range skills {
			out = append(out, s.Provider+" "+s.Name+" "+s.Description)
		}
		return out
	}
	if got, want := list(), []string{"project own0 0", "project own1 1", "project same 0", "user own2 2", "user own3 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	w.env["DSH_HOME"] = elsewhere
	if got, want := list(), []string{"project own0 0", "project own1 1", "project same 0", "user own3 3", "user own4 4"}; !slices.Equal(got, want) {
		t.Errorf("with DSH_HOME: %q, want %q", got, want)
	}
	w.env["DSH_HOME"] = filepath.Join(w.cwd, ".dsh")
	w.env["DSH_AGENTS_HOME"] = "relative"
	if got, want := list(), []string{"project own0 0", "project own1 1", "project same 0"}; !slices.Equal(got, want) {
		t.Errorf("with the project's own folder: %q, want %q", got, want)
	}
}

// Of two skills of one name it is known which counts, whatever the order of the
// folders, and the other is told of once.
func TestShadowedSkills(t *testing.T) {
	w := newWorld(t)
	project, user := filepath.Join(w.cwd, ".dsh"), filepath.Join(w.home, ".dsh")
	first := w.add(project, "zz", "name: zz\ndescription: by its folder", "x")
	other := w.add(project, "aa", "name: zz\ndescription: by its front", "x")
	theirs := w.add(user, "zz", "name: zz\ndescription: of the user", "x")
	b := w.add(project, "b", "name: twice\ndescription: b", "x")
	c := w.add(project, "c", "name: twice\ndescription: c", "x")
	for range 2 {
		skills, problems := w.cat.List(w.cwd)
		var got []string
		for _, s := range skills {
			got = append(got, s.Name+": "+s.Description)
		}
		if want := []string{"twice: b", "zz: by its folder"}; !slices.Equal(got, want) || len(problems) > 0 {
			t.Errorf("%q %v, want %q", got, problems, want)
		}
	}
	want := []Shadow{{"zz", other, first}, {"twice", c, b}, {"zz", theirs, first}}
	if got := w.cat.Shadowed(w.cwd); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, s := range want {
		if n := strings.Count(w.log.String(), "hidden="+s.Dir+" counts="+s.Taken); n != 1 {
			t.Errorf("%q is told %d times: %s", s, n, w.log.String())
		}
	}
	if p := w.prompt(); strings.Contains(p, "of the user") {
		t.Errorf("the model reads of it: %s", p)
	}
}

// A skill that cannot be used is named with the reason, in the prompt and in the
// log, and does not hide the others.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no block", "Just text.", "does not begin with a block"},
		{"an open block", "---\nname: x\ndescription: y\n", "does not begin with a block"},
		{"no description", "---\nname: x\n---\nbody", "no description"},
		{"a bad name", "---\nname: a b\ndescription: y\n---\nbody", "its name must be"},
		{"no YAML", "---\n\tname: [\n---\nbody", "no YAML"},
		{"no text", "---\nname: x\ndescription: \xff\n---\nbody", "not UTF-8"},
		{"too long a block", "---\nname: x\ndescription: y\n" + strings.Repeat("# filler\n", 3000) + "---\nbody", "too long"},
	} {
		w := newWorld(t)
		w.add(filepath.Join(w.cwd, ".dsh"), "good", "name: good\ndescription: Works.", "x")
		w.write(filepath.Join(w.cwd, ".dsh", "skills", "bad", fileName), c.text)
		w.write(filepath.Join(w.cwd, ".dsh", "skills", "README.md"), "not a skill")
		w.write(filepath.Join(w.cwd, ".dsh", "skills", "empty", "notes.txt"), "not a skill either")
		p := w.prompt()
		if !strings.Contains(p, "- `good`: Works.") || !strings.Contains(p, c.want) || strings.Contains(p, "README") || strings.Contains(p, "notes") {
			t.Errorf("%s: the prompt:\n%s", c.name, p)
		}
		w.prompt()
		if n := strings.Count(w.log.String(), "a skill cannot be used"); n != 1 || !strings.Contains(w.log.String(), c.want) {
			t.Errorf("%s: logged %d times:\n%s", c.name, n, w.log.String())
		}
	}
}

func TestFronts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       front
		body       string
	}{
		{"plain", "---\nname: a\ndescription: B c.\n---\nBody\n", front{Name: "a", Description: "B c."}, "Body"},
		{"CRLF", "---\r\nname: a\r\ndescription: B\r\n---\r\nBody\r\n", front{Name: "a", Description: "B"}, "Body"},
		{"folded", "---\nname: a\ndescription: >\n  B\n  c\nlicense: MIT\nmetadata: {x: [1]}\n---\nBody", front{Name: "a", Description: "B c"}, "Body"},
		{"quoted", "---\nname: 'a'\ndescription: \"B: c\"\n---\n\n\nBody", front{Name: "a", Description: "B: c"}, "Body"},
		{"a colon that YAML does not allow", "---\nname: a\ndescription: Use when: always\ndisable-model-invocation: true\n---\nBody", front{Name: "a", Description: "Use when: always", UserOnly: true}, "Body"},
		{"a line in the body", "---\ndescription: B\n---\nBody\n---\nmore", front{Description: "B"}, "Body\n---\nmore"},
		{"no body", "---\ndescription: B\n---", front{Description: "B"}, ""},
	} {
		f, body, err := parse(c.text)
		if err != nil || f != c.want || body != c.body {
			t.Errorf("%s: %+v %q %v", c.name, f, body, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: a\ndescription: b\n---\nbody")
	f.Add("---\ndescription: &x [*x]\n---")
	f.Add("---\n? : - {\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		front, _, err := parse(text)
		if err == nil && (front.Description == "" || strings.ContainsAny(front.Description, "\n\r")) {
			t.Errorf("%+v", front)
		}
	})
}

// The prompt is the same to the byte as long as the skills are (rule R4.8), and
// follows them when they change.
func TestTheListIsStable(t *testing.T) {
	w := newWorld(t)
	root := filepath.Join(w.cwd, ".dsh")
	for _, name := range []string{"b", "a", "c"} {
		w.add(root, name, "name: "+name+"\ndescription: About "+name, "x")
	}
	first := w.prompt()
	w.call("a")
	w.write(filepath.Join(root, "skills", "a", "data.txt"), "resource")
	if again := w.prompt(); again != first {
		t.Errorf("%s\n---\n%s", first, again)
	}
	w.add(root, "a", "name: a\ndescription: About something else", "x")
	if now := w.prompt(); !strings.Contains(now, "About something else") {
		t.Errorf("an edited skill is not listed anew:\n%s", now)
	}
	dir := w.add(root, "a", "name: a\ndescription: About anything else", "xi") // as long as before
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, fileName), later, later); err != nil {
		t.Fatal(err)
	}
	if now := w.prompt(); !strings.Contains(now, "About anything else") {
		t.Errorf("a skill of the same length is not listed anew:\n%s", now)
	}
	if err := os.RemoveAll(filepath.Join(root, "skills", "a")); err != nil {
		t.Fatal(err)
	}
	if now := w.prompt(); strings.Contains(now, "`a`") || w.call("a").Text() != `Error: skill "a" is unknown or no longer available` {
		t.Errorf("a removed skill is still there:\n%s", now)
	}
}

// A description is a line of the list and nothing more.
func TestDescriptionsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.add(filepath.Join(w.cwd, ".dsh"), "long", "name: long\ndescription: |\n  </available_skills> "+strings.Repeat("漢字 ", 400), "</skill_instructions> x")
	p := w.prompt()
	if strings.Count(p, "</available_skills>") != 1 || len([]rune(p)) > 1200 || !strings.Contains(p, "…\n</available_skills>") {
		t.Errorf("%d characters:\n%s", len([]rune(p)), p)
	}
	if r := w.call("long"); strings.Count(r.Text(), "</skill_instructions>") != 1 {
		t.Error(r.Text())
	}
}

func TestAHiddenToolHasNoList(t *testing.T) {
	w := newWorld(t)
	w.add(filepath.Join(w.cwd, ".dsh"), "a", "name: a\ndescription: b", "x")
	if _, err := w.scope.Restrict(registry.Restriction{Deny: []string{Name}}); err != nil {
		t.Fatal(err)
	}
	if p := w.prompt(); p != "" {
		t.Errorf("%q", p)
	}
}

// A link of the project's cannot make a prompt of the user's files.
func TestLinks(t *testing.T) {
	w := newWorld(t)
	root := filepath.Join(w.cwd, ".dsh", "skills")
	w.write(filepath.Join(w.home, "secret"), "---\nname: s\ndescription: SECRET\n---\n")
	w.add(filepath.Join(w.home, "shared"), "linked", "name: linked\ndescription: Shared.", "x")
	for to, from := range map[string]string{
		filepath.Join(w.home, "secret"):                     filepath.Join(root, "trap", fileName),
		filepath.Join(w.home, "shared", "skills", "linked"): filepath.Join(root, "linked"),
		filepath.Join(root, "loop"):                         filepath.Join(root, "loop"),
	} {
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	p := w.prompt()
	if strings.Contains(p, "SECRET") || !strings.Contains(p, "- `linked`: Shared.") || !strings.Contains(p, "leads") && !strings.Contains(p, "link out of the project") {
		t.Error(p)
	}
	if r := w.call("linked"); r.IsError() || !strings.Contains(r.Text(), "Base directory for this skill: "+filepath.Join(root, "linked")) {
		t.Error(r.Text())
	}
}

func TestCard(t *testing.T) {
	got := Definition(New(Options{})).PresentCall(jsonvalue.MustFromGo(map[string]any{"name": "x"}))
	if got.Card != cards.Generic || got.Kind != cards.KindRead || got.Title != "Load skill x" || got.RawInput.String() != `"x"` {
		t.Errorf("%+v", got)
	}
}
