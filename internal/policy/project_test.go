package policy

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func openTestProject(t testing.TB, folder, dir string) (*Project, *strings.Builder) {
	t.Helper()
	said := &strings.Builder{}
	return OpenProject(folder, dir, slog.New(slog.NewTextHandler(said, nil))), said
}

func saved(key string) []Granted {
	return []Granted{{Key: key, Lifetime: ThisProject, At: time.Now(), Session: "s"}}
}

func keysOf(t testing.TB, p *Project) []string {
	t.Helper()
	list, err := p.List()
	if err != nil {
		t.Error(err)
	}
	var out []string
	for _, x := range list {
		out = append(out, x.Key)
	}
	return out
}

func TestProjectGrantsAreSaved(t *testing.T) {
	folder, dir := filepath.Join(t.TempDir(), "a", "grants"), t.TempDir()
	p, _ := openTestProject(t, folder, dir)
	if got := keysOf(t, p); got != nil {
		t.Errorf("new: %v", got)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("looking made a folder")
	}
	for _, key := range []string{"command prefix git push", "workspace edit", "command prefix git push"} {
		if err := p.add(saved(key)); err != nil {
			t.Fatal(err)
		}
	}
	// The same project by another name, as another process would see it.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	again, _ := openTestProject(t, folder, link+"/.")
	list, err := again.List()
	if err != nil || len(list) != 2 || list[0].Key != "command prefix git push" || list[0].Label != "git push" || list[0].Session != "s" || list[0].At.IsZero() || list[1].Label != "edit in this workspace" {
		t.Errorf("%+v %v", list, err)
	}
	if !again.has("workspace edit") || again.has("workspace write") {
		t.Error("what is granted is not what was")
	}
	for path, want := range map[string]os.FileMode{p.File(): 0o600, p.File() + ".lock": 0o600, folder: 0o700} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if err := again.remove(list[0]); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, p); !slices.Equal(got, []string{"workspace edit"}) {
		t.Errorf("the first does not see the change: %v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if other, _ := openTestProject(t, folder, t.TempDir()); len(keysOf(t, other)) != 0 {
		t.Error("another project has them too")
	}
}

// A file that is not what was written grants nothing, is said, and kept aside
// before anything is written over it.
func TestADamagedFileGrantsNothing(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "no JSON": "{", "cut": `{"version":1,"project":` + fmt.Sprintf("%q", CanonicalDir(dir)) + `,"grants":[{"key":"workspace ed`,
		"another project": `{"version":1,"project":"/elsewhere","grants":[{"key":"workspace edit"}]}`, "no version": `{"project":"x"}`,
		"other types": `{"version":1,"project":` + fmt.Sprintf("%q", CanonicalDir(dir)) + `,"grants":{"key":"workspace edit"}}`, "too long": strings.Repeat(" ", maxProjectFile+1),
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			p, said := openTestProject(t, folder, dir)
			if err := os.WriteFile(p.File(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if list, err := p.List(); err == nil || len(list) != 0 || p.has("workspace edit") {
				t.Errorf("%v %v", list, err)
			}
			if n := strings.Count(said.String(), "cannot be used"); n != 1 {
				t.Errorf("said %d times: %s", n, said)
			}
			if err := p.add(saved("workspace write")); err != nil {
				t.Fatal(err)
			}
			if got := keysOf(t, p); !slices.Equal(got, []string{"workspace write"}) {
				t.Errorf("afterwards: %v", got)
			}
			aside, _ := filepath.Glob(p.File() + ".damaged-*")
			if len(aside) != 1 {
				t.Fatalf("kept aside: %v", aside)
			}
			if kept, err := os.ReadFile(aside[0]); err != nil || string(kept) != text {
				t.Errorf("kept aside: %.100q %v", kept, err)
			}
		})
	}
}

func TestAFileThatIsNotOursToChange(t *testing.T) {
	dir := t.TempDir()
	newer := `{"version":2,"project":` + fmt.Sprintf("%q", CanonicalDir(dir)) + `,"grants":[{"key":"workspace edit"}]}`
	good := strings.Replace(newer, "2", "1", 1)
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"newer", newer, 0o600, "newer version"},
		{"writable by others", good, 0o666, "others may write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.mode != 0o600 && runtime.GOOS == "windows" {
				t.Skip("Windows has no such modes")
			}
			p, _ := openTestProject(t, t.TempDir(), dir)
			if err := os.WriteFile(p.File(), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(p.File(), c.mode); err != nil {
				t.Fatal(err)
			}
			if list, err := p.List(); err == nil || !strings.Contains(err.Error(), c.want) || len(list) != 0 {
				t.Errorf("%v %v", list, err)
			}
			g := NewSessionGrants(GrantsOptions{Project: p})
			if err := g.Allow(Grant{Key: "workspace edit"}, ThisProject); err == nil || !g.has("workspace edit") {
				t.Errorf("what cannot be saved holds for the session, and that is said: %v", err)
			}
			if text, err := os.ReadFile(p.File()); err != nil || string(text) != c.text {
				t.Errorf("it was changed: %s %v", text, err)
			}
		})
	}
	// A link would have us write, or trust, what lies elsewhere.
	p, _ := openTestProject(t, t.TempDir(), dir)
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, p.File()); err != nil {
		t.Skip(err)
	}
	if _, err := p.List(); err == nil || p.has("workspace edit") {
		t.Error("a link is followed")
	}
}

// Goroutines and processes change the file at once; no change is lost.
func TestManyChangeAProject(t *testing.T) {
	folder, dir := os.Getenv("POLICY_TEST_FOLDER"), os.Getenv("POLICY_TEST_DIR")
	const each = 8
	if folder != "" { // one of the processes
		p, _ := openTestProject(t, folder, dir)
		for i := range each {
			if err := p.add(saved(fmt.Sprintf("tool %d-%d", os.Getpid(), i))); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	folder, dir = t.TempDir(), t.TempDir()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestManyChangeAProject$")
			cmd.Env = append(os.Environ(), "POLICY_TEST_FOLDER="+folder, "POLICY_TEST_DIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	shared, _ := openTestProject(t, folder, dir)
	for n := range 3 {
		all.Go(func() {
			for i := range each {
				if err := shared.add(saved(fmt.Sprintf("tool go%d-%d", n, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := len(keysOf(t, shared)); got != 6*each {
		t.Errorf("%d grants are saved, of %d", got, 6*each)
	}
	text, err := os.ReadFile(shared.File())
	if err != nil || !json.Valid(text) {
		t.Errorf("%s %v", text, err)
	}
}

func TestRejectionsAreRemembered(t *testing.T) {
	p := newPolicy(t, WorkspaceWrite, "ask bash")
	reject := func(c Call) string {
		g := p.OfferForCall(c).RejectSession
		if err := p.Grants().Reject(g); err != nil {
			t.Fatal(err)
		}
		return g.Label
	}
	for _, c := range []struct {
		call  Call
		label string
		deny  []Call
		ask   []Call
	}{
		{
			bash("git push origin"), "Reject always: git push (this session)",
			[]Call{bash("git push"), bash("ls; git push -f"), bash("git push $(ls)")},
			[]Call{bash("git pull"), bash("env git push")},
		},
		{
			bash("cd x && npm run build"), "Reject always: cd, npm run build (this session)",
			[]Call{bash("npm run build --x; cd y"), bash("cd y && npm run build && ls > f")},
			[]Call{bash("cd x"), bash("npm run build")},
		},
		{
			bash("git log > f"), "Reject always: exactly git log > f (this session)",
			[]Call{bash(" git log > f\n")},
			[]Call{bash("git log"), bash("git log > g")},
		},
		{bash("$x '"), "Reject always: exactly $x ' (this session)", []Call{bash("$x '")}, []Call{bash("$x")}},
		{file("edit", "a"), "Reject always: edit in this workspace (this session)", []Call{file("edit", "b")}, []Call{file("write", "a"), file("edit", ".git/config"), file("edit", "/etc/hosts")}},
		{file("write", "/etc/hosts"), "Reject always: write /etc/hosts (this session)", []Call{file("write", "/etc/../etc/hosts")}, []Call{file("write", "/etc/passwd")}},
	} {
		if got := word(p.DecideCall(c.call)); got != "ask" {
			t.Errorf("%v before: %s", c.call.Arguments, got)
		}
		if got := reject(c.call); got != c.label {
			t.Errorf("%v: %q, want %q", c.call.Arguments, got, c.label)
		}
		for _, call := range append(c.deny, c.call) {
			if d := p.DecideCall(call); !d.IsDeny() || !strings.Contains(d.Reason(), "the user rejected this and said to reject it always in this session") {
				t.Errorf("%v: %s %s", call.Arguments, word(d), d.Reason())
			}
			if o := p.OfferForCall(call); o.AllowSession.Key != "" || o.AllowProject.Key != "" {
				t.Errorf("%v: a grant is offered against a rejection", call.Arguments)
			}
		}
		for _, call := range c.ask {
			if got := word(p.DecideCall(call)); got != "ask" {
				t.Errorf("%v: the rejection of %v reaches too far: %s", call.Arguments, c.call.Arguments, got)
			}
		}
	}
	// No preset and no grant turns a rejection around; taking it back does.
	p.Grants().Remember(Grant{Key: "command prefix git push"})
	for _, preset := range Presets() {
		_ = p.SetPreset(preset)
		if got := word(p.DecideCall(bash("git push"))); got != "deny" {
			t.Errorf("%s: %s", preset, got)
		}
	}
	_ = p.SetPreset(WorkspaceWrite)
	list, _ := p.Grants().List()
	numbers := map[int]bool{}
	for _, x := range list {
		if numbers[x.Number] || x.Number == 0 {
			t.Errorf("the number %d is not one entry's", x.Number)
		}
		numbers[x.Number] = true
		if x.Rejected {
			if err := p.Grants().Revoke(x); err != nil {
				t.Error(err)
			}
		}
	}
	if got := word(p.DecideCall(bash("git push"))); got != "allow" {
		t.Errorf("after taking it back: %s", got)
	}
	if again, _ := p.Grants().List(); len(again) != 1 || again[0].Number != len(list) && !numbers[again[0].Number] {
		t.Errorf("%+v", again)
	}
}

// What is recorded gives the same store again.
func TestGrantsAreRestored(t *testing.T) {
	type change struct {
		x         Granted
		forgotten bool
	}
	var log []change
	g := NewSessionGrants(GrantsOptions{Record: func(x Granted, forgotten bool) error { log = append(log, change{x, forgotten}); return nil }})
	_ = g.Allow(Grant{Key: "command prefix a" + keySeparator + "command prefix b"}, ThisSession)
	_ = g.Allow(Grant{Key: "command prefix a"}, ThisSession) // known
	_ = g.Reject(Grant{Key: "command prefix c" + keySeparator + "command prefix d"})
	list, _ := g.List()
	_ = g.Revoke(list[0])
	_ = g.Revoke(list[0])
	if len(log) != 4 {
		t.Errorf("%d records: %+v", len(log), log)
	}
	again := NewSessionGrants(GrantsOptions{Record: func(Granted, bool) error { t.Error("restoring records"); return nil }})
	for _, c := range log {
		again.Restore(c.x, c.forgotten)
	}
	got, _ := again.List()
	want, _ := g.List()
	if fmt.Sprint(labels(got)) != fmt.Sprint(labels(want)) || fmt.Sprint(labels(got)) != "[b c, d]" {
		t.Errorf("%v, want %v", labels(got), labels(want))
	}
	if err := g.Keep(want[0]); err == nil {
		t.Error("there is no project to keep it for")
	}
}

func labels(list []Granted) (out []string) {
	for _, x := range list {
		out = append(out, x.Label)
	}
	return out
}

// Sessions of a project hear of each other's answers.
func TestChangesAreTold(t *testing.T) {
	p, _ := openTestProject(t, t.TempDir(), t.TempDir())
	a, b := NewSessionGrants(GrantsOptions{Project: p}), NewSessionGrants(GrantsOptions{Project: p})
	for name, do := range map[string]func() error{
		"allow": func() error { return a.Allow(Grant{Key: "tool x"}, ThisProject) }, "reject": func() error { return a.Reject(Grant{Key: "tool y"}) },
	} {
		told := b.Changed()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-told:
		default:
			t.Errorf("%s: nobody is told", name)
		}
	}
	if !b.has("tool x") {
		t.Error("what is the project's is not the other session's")
	}
}

// An answer keeps its number when it is kept for the project, and no number is
// ever that of two answers.
func TestAKeptAnswerKeepsItsNumber(t *testing.T) {
	project, _ := openTestProject(t, t.TempDir(), t.TempDir())
	g := NewSessionGrants(GrantsOptions{Project: project})
	allow := func(key string) {
		t.Helper()
		if err := g.Allow(Grant{Key: key}, ThisSession); err != nil {
			t.Fatal(err)
		}
	}
	list := func() map[string]int {
		t.Helper()
		all, err := g.List()
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		taken := map[int]bool{}
		for _, x := range all {
			if taken[x.Number] {
				t.Errorf("the number %d is that of two: %+v", x.Number, all)
			}
			taken[x.Number] = true
			out[x.Label+map[Lifetime]string{ThisSession: " session", ThisProject: " project"}[x.Lifetime]] = x.Number
		}
		return out
	}
	allow("command prefix a")
	allow("command prefix b")
	before := list()
	all, _ := g.List()
	if err := g.Keep(all[0]); err != nil {
		t.Fatal(err)
	}
	if after := list(); after["a project"] != before["a session"] || after["b session"] != before["b session"] || len(after) != 2 {
		t.Errorf("%v, then %v", before, after)
	}
	allow("command prefix c")
	all, _ = g.List()
	for _, x := range all {
		if x.Lifetime == ThisSession {
			if err := g.Keep(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := list()
	all, _ = g.List()
	for _, x := range all {
		if x.Label == "a" {
			if err := g.Revoke(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	allow("command prefix a")
	if again := list(); again["b project"] != kept["b project"] || again["c project"] != kept["c project"] || again["a session"] == 0 || len(again) != 3 {
		t.Errorf("%v, then %v", kept, again)
	}
}
