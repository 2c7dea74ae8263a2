package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
)

func rules(lines ...string) []Rule {
	var out []Rule
	for _, l := range lines {
		decision, rest, _ := strings.Cut(l, " ")
		tool, match, _ := strings.Cut(rest, ": ")
		out = append(out, Rule{Tool: tool, Match: match, Decision: decision})
	}
	return out
}

func newPolicy(t testing.TB, preset Preset, lines ...string) *Policy {
	t.Helper()
	p, err := New(Config{Preset: preset, Rules: rules(lines...), Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bash(command string) Call {
	return Call{Tool: "bash", Arguments: jsonvalue.Object(jsonvalue.Member{Key: "command", Value: jsonvalue.String(command)}), Cwd: "/work"}
}

func file(tool, path string) Call {
	return Call{Tool: tool, Arguments: jsonvalue.Object(jsonvalue.Member{Key: "file_path", Value: jsonvalue.String(path)}), Cwd: "/work"}
}

func word(d pipeline.Decision) string {
	switch {
	case d.IsAllow():
		return "allow"
	case d.IsAsk():
		return "ask"
	case d.IsDeny():
		return "deny"
	}
	return "nothing"
}

func TestPresets(t *testing.T) {
	none := Call{Tool: "todo_write", Arguments: jsonvalue.Object()}
	unknown := Call{Tool: "mcp__x__y", Arguments: jsonvalue.Object()}
	for _, c := range []struct {
		name              string
		call              Call
		read, write, full string
	}{
		{"read", file("read", "a"), "allow", "allow", "allow"},
		{"edit", file("edit", "a"), "deny", "ask", "allow"},
		{"write", file("write", "a"), "deny", "ask", "allow"},
		{"reading command", bash("ls | head"), "ask", "ask", "allow"},
		{"command", bash("make"), "deny", "ask", "allow"},
		{"broken command", bash("make '"), "deny", "ask", "allow"},
		{"command that is no text", Call{Tool: "bash", Arguments: jsonvalue.Object()}, "deny", "ask", "allow"},
		{"session tool", none, "allow", "allow", "allow"},
		{"unknown tool", unknown, "ask", "ask", "allow"},
	} {
		for preset, want := range map[Preset]string{ReadOnly: c.read, WorkspaceWrite: c.write, FullAccess: c.full} {
			if got := word(newPolicy(t, preset).DecideCall(c.call)); got != want {
				t.Errorf("%s under %s: %s, want %s", c.name, preset, got, want)
			}
		}
	}
}

func TestShellRules(t *testing.T) {
	for _, c := range []struct {
		rules, command, write, full string
	}{
		{"allow bash: git *", "git status", "allow", "allow"},
		{"allow bash: git *", "git status; ls", "ask", "allow"},
		{"allow bash: git *|allow bash: ls", "git status; ls", "allow", "allow"},
		{"allow bash: git *", "git log > x", "ask", "allow"},
		{"deny bash: rm *", "ls && rm x", "deny", "deny"},
		{"deny bash: rm *", "ls", "ask", "allow"},
		{"deny bash: rm *", "$x", "ask", "deny"},
		{"deny bash: rm *", "ls $x", "ask", "allow"},
		{"deny bash: rm *", "ls '", "ask", "deny"},
		{"deny bash: rm *|allow bash", "env rm x", "deny", "deny"},
		{"deny bash: rm *|allow bash", "make > x", "allow", "allow"},
		{"deny bash: rm *|allow bash", "$x", "ask", "deny"},
		{"allow bash: rm *.tmp|deny bash: rm *", "rm a.tmp", "allow", "allow"},
		{"allow bash: rm *.tmp|deny bash: rm *", "rm a.tmp; rm b", "deny", "deny"},
		{"allow bash: rm *.tmp|deny bash: rm *", "env rm a.tmp", "ask", "allow"},
		{"allow bash|deny bash: rm *", "rm x", "allow", "allow"},
		{"allow bash|deny bash: rm *", "rm '", "allow", "allow"},
		{"allow bash: sudo *|deny bash: rm *", "sudo rm x", "deny", "deny"},
		{"allow bash: bash *|deny bash: rm *", "bash -c 'rm x'", "deny", "deny"},
		{"allow bash: bash *|deny bash: rm *", "bash -c 'ls'", "allow", "allow"},
		{"ask bash: git push*|allow bash: git *", "git push", "ask", "deny"},
		{"ask bash: git push*|allow bash: git *", "git -C x push", "ask", "deny"},
		{"ask bash: git push*|allow bash: git *", "git pull", "allow", "allow"},
		{"deny b*: rm *", "rm x", "deny", "deny"},
		{"deny *", "ls", "deny", "deny"},
		{"deny bash", "", "deny", "deny"},
		{"deny bash: rm *|allow bash: echo *", "echo $(rm x)", "deny", "deny"},
		{"allow bash: echo *", "echo $(ls)", "ask", "allow"},
		{"allow bash: echo *|allow bash: ls", "echo $(ls)", "allow", "allow"},
		{"allow bash: *", "$x", "ask", "allow"},
		{"deny bash: * > /etc/*", "echo x > /etc/passwd", "deny", "deny"},
		{"deny bash: * > /etc/*|allow bash: *", "python x.py y", "allow", "allow"},
		// Programs that run others, under an allowed wildcard.
		{"deny bash: rm *|allow bash: git *", `git grep -O"rm" hello`, "deny", "deny"},
		{"allow bash: git *|deny bash: rm *", `git grep -O"rm" hello`, "deny", "deny"},
		{"deny bash: rm *|allow bash: git *", "git zz", "ask", "deny"},
		{"deny bash: rm *|allow bash: git *", "git push origin main", "allow", "allow"},
		{"deny bash: rm *|allow bash: git *", "git rm x", "allow", "allow"},
		{"allow bash: git *", "git zz", "allow", "allow"},
		{"ask bash: rm *|allow bash: split *", "split --filter='rm x' x", "ask", "deny"},
		{"deny bash: rm *|allow bash: split *", "split --filter='ls' x", "ask", "allow"},
		{"deny bash: rm *|allow bash: find *", "find . -name x $(echo -exec rm {} +)", "ask", "deny"},
		{"deny bash: rm *|allow bash: awk *", `awk 'BEGIN{system("rm x")}'`, "ask", "deny"},
		{"deny bash: rm *|allow bash: awk *", `awk '{print $1}' x`, "allow", "allow"},
		{"allow bash: awk *", `awk 'BEGIN{system("rm x")}'`, "allow", "allow"},
		{"deny bash: rm *|allow bash", `awk 'BEGIN{system("rm x")}'`, "ask", "deny"},
		{"allow bash|deny bash: rm *", `awk 'BEGIN{system("rm x")}'`, "allow", "allow"},
		{"ask bash|deny bash: rm *", `make CC=cc`, "ask", "deny"},
	} {
		for preset, want := range map[Preset]string{WorkspaceWrite: c.write, FullAccess: c.full} {
			d := newPolicy(t, preset, strings.Split(c.rules, "|")...).DecideCall(bash(c.command))
			if got := word(d); got != want {
				t.Errorf("%q on %q under %s: %s (%s), want %s", c.rules, c.command, preset, got, d.Reason(), want)
			}
		}
	}
}

// What the arguments of a granted command may mean is no command of its own.
func TestGrantedUnderARuleThatAsks(t *testing.T) {
	p := newPolicy(t, WorkspaceWrite, "ask bash")
	for _, call := range []Call{bash("npm test -- -t x"), bash("cargo test rm"), bash("git zz")} {
		g, ok := p.GrantForCall(call)
		if !ok {
			t.Errorf("%v: no grant is offered", call.Arguments)
			continue
		}
		p.Grants().Remember(g)
		if got := word(p.DecideCall(call)); got != "allow" {
			t.Errorf("%v: %s", call.Arguments, got)
		}
	}
	// A grant does not answer for a rule about another program.
	p = newPolicy(t, WorkspaceWrite, "deny bash: rm *")
	if g, ok := p.GrantForCall(bash("cargo test rm")); ok {
		t.Errorf("%q would not stop the question", g.Label)
	}
	p.Grants().Remember(Grant{Key: "command prefix cargo test"})
	if got := word(p.DecideCall(bash("cargo test rm"))); got != "ask" {
		t.Errorf("%s", got)
	}
}

func TestRestrictionsOnlyTighten(t *testing.T) {
	p, err := New(Config{
		Rules:        rules("allow bash: git *", "deny bash: rm *", "allow write"),
		Restrictions: rules("ask bash: git push*", "ask bash: rm *", "deny write: secret/**"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[*Call]string{
		ref(bash("git status")):             "allow",
		ref(bash("git push")):               "ask",
		ref(bash("rm x")):                   "deny",
		ref(file("write", "a")):             "allow",
		ref(file("write", "secret/a")):      "deny",
		ref(file("write", "x/../secret/a")): "deny",
	} {
		if got := word(p.DecideCall(*call)); got != want {
			t.Errorf("%s %v: %s, want %s", call.Tool, call.Arguments, got, want)
		}
	}
	if _, err := New(Config{Restrictions: rules("allow bash")}); err == nil {
		t.Error("a restriction allows")
	}
}

// A question of the workspace does not soften what the preset refuses.
func TestRestrictionsAndPreset(t *testing.T) {
	p, err := New(Config{Preset: ReadOnly, Restrictions: rules("ask bash", "ask edit")})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []Call{bash("make"), file("edit", "a")} {
		if got := word(p.DecideCall(call)); got != "deny" {
			t.Errorf("%s: %s", call.Tool, got)
		}
	}
}

func ref[T any](v T) *T { return &v }

func TestPathRules(t *testing.T) {
	for _, c := range []struct {
		rules, tool, path, want string
	}{
		{"allow write: docs/**", "write", "docs/a/b.md", "allow"},
		{"allow write: docs/**", "write", "/work/docs/a", "allow"},
		{"allow write: docs/**", "write", "docs/../main.go", "ask"},
		{"allow write: docs/**", "write", "/etc/docs/a", "ask"},
		{"allow write: **", "write", "/etc/passwd", "ask"},
		{"allow write: **", "write", "../x", "ask"},
		{"allow write: ../x/*", "write", "../x/y", "allow"},
		{"allow write: /tmp/**", "write", "/tmp/../etc/x", "ask"},
		{"allow write: *.md", "write", "a.md", "allow"},
		{"allow write: *.md", "write", "x/a.md", "ask"},
		{"allow *: ./docs/**", "edit", "docs/x", "allow"},
		{"deny *: **/.env", "read", ".env", "deny"},
		{"deny *: **/.env", "read", "a/b/.env", "deny"},
		{"deny *: **/.env", "edit", "x/../.env", "deny"},
		{"deny read: secrets", "read", "secrets/a/b", "deny"},
		{"deny read: /etc", "read", "/etc/passwd", "deny"},
		{"deny read: ~/.ssh/", "read", "/home/u/.ssh/id", "deny"},
		{"deny write: {a,b}/**", "write", "b/c", "deny"},
		{"ask read: x", "read", "x", "ask"},
		{"allow write: docs", "write", "docs/a", "ask"},
	} {
		d := newPolicy(t, WorkspaceWrite, c.rules).DecideCall(file(c.tool, c.path))
		if got := word(d); got != c.want {
			t.Errorf("%q on %s %s: %s (%s), want %s", c.rules, c.tool, c.path, got, d.Reason(), c.want)
		}
	}
}

func TestPathRulesFollowLinks(t *testing.T) {
	root := t.TempDir()
	cwd := filepath.Join(root, "work")
	outside := filepath.Join(root, "outside")
	for _, d := range []string{cwd, outside, filepath.Join(cwd, "docs")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"docs/out": outside, "docs/new": filepath.Join(outside, "absent"), "plain": filepath.Join(cwd, "secret")} {
		if err := os.Symlink(to, filepath.Join(cwd, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := newPolicy(t, WorkspaceWrite, "deny read: secret", "allow write: docs/**")
	for _, c := range []struct{ tool, path, want string }{
		{"write", "docs/a", "allow"}, {"write", "docs/out/a", "ask"}, {"write", "docs/new", "ask"}, {"read", "plain", "deny"}, {"read", "plain/x", "deny"},
	} {
		call := file(c.tool, c.path)
		call.Cwd = cwd
		if got := word(p.DecideCall(call)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.path, got, c.want)
		}
	}
	call := file("write", "docs/out/a")
	call.Cwd = cwd
	g, ok := p.GrantForCall(call)
	if !ok || strings.Contains(g.Label, "workspace") {
		t.Errorf("a link out of the workspace is covered by %q", g.Label)
	}
}

func TestOtherTools(t *testing.T) {
	call := Call{Tool: "mcp__fs__put", Arguments: jsonvalue.MustFromGo(map[string]any{"to": "/etc/passwd", "list": []any{"deep"}}), Cwd: "/work"}
	for rule, want := range map[string]string{
		"allow mcp__*": "allow", "deny mcp__fs__*": "deny", "deny mcp__*: /etc/*": "deny", "deny mcp__*: deep": "deny", "allow mcp__*: /etc/*": "ask", "deny mcp__*: /usr/*": "ask",
	} {
		if got := word(newPolicy(t, WorkspaceWrite, rule).DecideCall(call)); got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
}

func TestGrants(t *testing.T) {
	p := newPolicy(t, WorkspaceWrite, "allow bash: go vet > x", "ask bash: git push*")
	for _, c := range []struct {
		call  Call
		label string // "" when there is no grant to offer
	}{
		{bash("git push origin"), "Allow always: git push (this session)"},
		{bash("cd x && npm run build && npm run build --y"), "Allow always: cd, npm run build (this session)"},
		{bash("go vet > x; go test"), "Allow always: go test (this session)"},
		{bash("rm a b"), "Allow always: rm a b (this session)"},
		{bash("ls > x"), ""},
		{bash("sudo ls"), ""},
		{bash("ls $(rm x)"), "Allow always: ls, rm x (this session)"},
		{bash("$x"), ""},
		{bash("ls '"), ""},
		{bash(""), ""},
		{file("edit", "a"), "Allow always: edit in this workspace (this session)"},
		{file("edit", "/etc/hosts"), "Allow always: edit /etc/hosts (this session)"},
		{file("edit", ".git/hooks/x"), "Allow always: edit /work/.git/hooks/x (this session)"},
		{Call{Tool: "mcp__fs__put", Arguments: jsonvalue.Object()}, "Allow always: mcp__fs__put (this session)"},
	} {
		g, ok := p.GrantForCall(c.call)
		if g.Label != c.label || ok != (c.label != "") {
			t.Errorf("%v: %q, want %q", c.call.Arguments, g.Label, c.label)
			continue
		}
		if !ok {
			continue
		}
		if got := word(p.DecideCall(c.call)); got != "ask" {
			t.Errorf("%v before: %s", c.call.Arguments, got)
		}
		p.Grants().Remember(g)
		if got := word(p.DecideCall(c.call)); got != "allow" {
			t.Errorf("%v after: %s", c.call.Arguments, got)
		}
	}
	for _, call := range []Call{bash("git pull"), bash("git push > x"), bash("sudo git push"), bash("git push; git pull"), bash("rm a"), bash("git push $(make)"), bash("A=1 git push"), bash("git -c a=b push"), file("write", "a"), file("edit", "../a"), file("edit", ".git/config"), file("edit", "x/../.dsh-acp.yaml"), file("edit", ".vscode/tasks.json"), file("edit", "a/.npmrc"), file("edit", ".github/workflows/x.yml"), file("edit", "AGENTS.md"), file("edit", "sub/CLAUDE.md"), file("edit", ".envrc"), file("edit", ".Husky/pre-commit")} {
		if got := word(p.DecideCall(call)); got != "ask" {
			t.Errorf("%v: a grant reaches too far: %s", call.Arguments, got)
		}
	}
	list, err := p.Grants().List()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range list {
		if err := p.Grants().Revoke(g); err != nil {
			t.Errorf("%q is not revoked: %v", g.Key, err)
		}
	}
	if got := word(p.DecideCall(bash("git push origin"))); got != "ask" {
		t.Errorf("after forgetting: %s", got)
	}
}

// A grant for the workspace is about its sources and build files.
func TestWorkspaceGrantReaches(t *testing.T) {
	p := newPolicy(t, WorkspaceWrite)
	p.Grants().Remember(Grant{Key: "workspace edit"})
	for _, path := range []string{"a.go", "package.json", "Makefile", ".gitignore", "docs/claude.txt", ".env"} {
		if got := word(p.DecideCall(file("edit", path))); got != "allow" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestGrantsDoNotSoften(t *testing.T) {
	p := newPolicy(t, WorkspaceWrite, "deny bash: rm *")
	p.Grants().Remember(Grant{Key: "command exact rm x"})
	p.Grants().Remember(Grant{Key: "command prefix make-it"})
	p.Grants().Remember(Grant{Key: "workspace edit"})
	if got := word(p.DecideCall(bash("rm x"))); got != "deny" {
		t.Errorf("%s", got)
	}
	if err := p.SetPreset(ReadOnly); err != nil {
		t.Fatal(err)
	}
	for _, call := range []Call{bash("make-it"), file("edit", "a")} {
		if got := word(p.DecideCall(call)); got != "deny" {
			t.Errorf("read-only, %v: %s", call.Arguments, got)
		}
	}
	if err := p.SetPreset("yolo"); err == nil || p.Preset() != ReadOnly {
		t.Errorf("%v %s", err, p.Preset())
	}
}

func TestReasons(t *testing.T) {
	p, err := New(Config{Rules: []Rule{{Tool: "bash", Match: "rm *", Decision: "deny", Reason: "Use trash."}, {Tool: "bash", Match: "dd *", Decision: "deny"}, {Tool: "bash", Match: "git push*", Decision: "ask", Reason: "Pushes are reviewed."}}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"rm x": "Use trash.", "sudo dd if=a": `"dd if=a" is denied by the permission rule "bash: dd *"`, "git push": "Pushes are reviewed.", "ls": "bash runs a command (preset workspace-write)",
		"$x": `bash may do what the permission rule "bash: rm *" is about, which is only known when it runs`,
	} {
		if got := p.DecideCall(bash(command)).Reason(); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	_, err = New(Config{Rules: []Rule{{Tool: "bash", Match: "'", Decision: "deny", Origin: "c.yaml:7"}}})
	if err == nil || err.Error() != `c.yaml:7: pattern "'": a quote is not closed` {
		t.Errorf("%v", err)
	}
}

// nest puts a command into something that runs it.
var nests = []string{
	"( %s\n)", "{ %s; }", "ls && %s", "%s || ls", "ls; %s", "ls\n%s", "ls | %s", "%s &", "! %s", "if ls; then %s; fi", "while %s; do ls; done", "for i in 1 2; do %s; done",
	"case a in a) %s;; esac", "f() { %s; }", "echo $( %s )", "echo \"$( %s )\"", "cat <( %s )", "x=$( %s )", "time %s", "echo ${x:-$( %s )}", "cat <<EOF\n$( %s )\nEOF", "[[ -n $( %s ) ]]",
}

var prefixes = []string{"env ", "sudo -u root ", "nohup ", "command ", "exec ", "env A=1 ", "timeout 5 ", "xargs ", "nice -n 3 ", "busybox ", "find . -exec "}

var texts3 = []string{"bash -c ", "sh -ec ", "eval ", "su -c ", "env bash -c "}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func TestDenialSurvivesNesting(t *testing.T) {
	p := newPolicy(t, FullAccess, "deny bash: rm *", "allow bash")
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom([]string{"rm x", `r\m x`, `"rm" x`, "/bin/rm -rf x", `$'\x72m' x`, "rm"}).Draw(t, "command")
		simple := true
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				command = strings.Replace(rapid.SampledFrom(nests).Draw(t, "nest"), "%s", command, 1)
				simple = false
			case 1:
				if simple {
					command = rapid.SampledFrom(prefixes).Draw(t, "prefix") + command
				}
			case 2:
				command = rapid.SampledFrom(texts3).Draw(t, "text") + quoteShell(command)
				simple = true
			}
		}
		if strings.Contains(command, "EOF") && strings.Count(command, "EOF") > 2 {
			t.Skip("here-documents of one name do not nest")
		}
		d := p.DecideCall(bash(command))
		if !d.IsDeny() {
			t.Fatalf("%q: %s", command, word(d))
		}
	})
}

func TestMoreCommandsNeverSoften(t *testing.T) {
	commands := []string{"ls", "rm x", "git push", "git status", "echo $(ls)", "$x", "sudo ls", "ls > x", "make", "A=1 ls", "bash -c 'rm x'"}
	all := []string{"deny bash: rm *", "ask bash: git push*", "allow bash: git *", "allow bash: ls", "allow bash: echo *", "allow bash", "deny bash: make"}
	rank := map[string]int{"allow": 0, "ask": 1, "deny": 2}
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(0, 5).Draw(t, "rules") {
			lines = append(lines, rapid.SampledFrom(all).Draw(t, "rule"))
		}
		p, err := New(Config{Preset: rapid.SampledFrom(Presets()).Draw(t, "preset"), Rules: rules(lines...)})
		if err != nil {
			t.Fatal(err)
		}
		a, b := rapid.SampledFrom(commands).Draw(t, "a"), rapid.SampledFrom(commands).Draw(t, "b")
		join := rapid.SampledFrom([]string{" && ", " || ", " | ", "; ", "\n", " & "}).Draw(t, "join")
		one, both := word(p.DecideCall(bash(a))), word(p.DecideCall(bash(a+join+b)))
		if rank[both] < rank[one] {
			t.Fatalf("%q is %s, with %q after it %s", a, one, b, both)
		}
		if one == "deny" && word(p.DecideCall(bash(b+join+a))) == "allow" {
			t.Fatalf("%q is denied, and %q before it allows", a, b)
		}
	})
}

// A freer preset never refuses what a stricter one lets through.
func TestPresetsAreOrdered(t *testing.T) {
	rank := map[string]int{"allow": 0, "ask": 1, "deny": 2}
	for _, call := range []Call{bash("ls"), bash("make"), bash("ls '"), file("edit", "a"), file("read", "a"), {Tool: "x", Arguments: jsonvalue.Object()}} {
		last := 3
		for _, preset := range Presets() {
			got := rank[word(newPolicy(t, preset).DecideCall(call))]
			if got > last {
				t.Errorf("%s %v under %s is stricter than before", call.Tool, call.Arguments, preset)
			}
			last = got
		}
	}
}

func FuzzShellRule(f *testing.F) {
	for _, s := range append(append([]string{"ls", "rm x", "echo $(", "a 'b", "cat <<E\nx", "x=$((1", "${a", "case x in", "f() {", "\\", "#", "env -S 'rm'", "a=(b"}, nests...), prefixes...) {
		f.Add(s)
	}
	denying := newPolicy(f, WorkspaceWrite, "deny bash: zzdeny *", "allow bash: *", "allow bash: env *")
	free := newPolicy(f, FullAccess, "deny bash: zzdeny *")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		a := denying.DecideCall(bash(text))
		if word(a) == "nothing" || word(a) != word(denying.DecideCall(bash(text))) {
			t.Fatalf("%q: %s", text, word(a))
		}
		// A refused command before or after any text is never let through.
		if d := denying.DecideCall(bash("zzdeny x\n" + text)); !d.IsDeny() && !strings.HasPrefix(d.Reason(), "bash may do") {
			t.Fatalf("%q: %s %s", text, word(d), d.Reason())
		}
		for _, line := range []string{text + "\nzzdeny x", text + "\n(zzdeny x)", "zzdeny x\n" + text} {
			if d := free.DecideCall(bash(line)); d.IsAllow() && !swallowed(line) {
				t.Fatalf("%q is allowed", line)
			}
		}
		if g, ok := denying.GrantForCall(bash(text)); ok && (g.Key == "" || g.Label == "" || !a.IsAsk()) {
			t.Fatalf("%q: %+v for a call that is %s", text, g, word(a))
		}
	})
}

// swallowed says whether the appended line may have become data: the body of
// a here-document, a case pattern or a comment after a continued line.
func swallowed(line string) bool {
	return strings.Contains(line, "<<") || strings.Contains(line, "case") || strings.Contains(line, "\\\n") || strings.Contains(line, "=(") || strings.Contains(line, " in") || strings.ContainsAny(line, "'\"`")
}
