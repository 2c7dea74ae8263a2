package policy

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// What was allowed by its words was allowed for the workspace: rm -r build, ./x.sh
// and make are other commands in another folder.
func TestWhatIsAllowedHereIsNotAllowedElsewhere(t *testing.T) {
	in := func(dir, command string) Call {
		c := bash(command)
		c.Arguments = c.Arguments.With("workdir", jsonvalue.String(dir))
		return c
	}
	for _, command := range []string{"./x.sh a", "rm -r build", "make", "npm run build"} {
		p := newPolicy(t, WorkspaceWrite)
		g, ok := p.GrantForCall(bash(command))
		if !ok {
			t.Fatal(command)
		}
		p.Grants().Remember(g)
		ruled := newPolicy(t, WorkspaceWrite, "allow bash: "+command+"*")
		all := newPolicy(t, WorkspaceWrite, "allow bash")
		for _, dir := range []string{"", ".", "sub", "/work/sub", "sub/../other"} {
			if !p.DecideCall(in(dir, command)).IsAllow() || !ruled.DecideCall(in(dir, command)).IsAllow() {
				t.Errorf("%s asks in %q", command, dir)
			}
		}
		for _, dir := range []string{"..", "/", "/work2", "sub/../../x", "/tmp"} {
			call := in(dir, command)
			if d := p.DecideCall(call); !d.IsAsk() {
				t.Errorf("%s is granted in %q", command, dir)
			}
			if d := ruled.DecideCall(call); !d.IsAsk() {
				t.Errorf("%s is allowed by its rule in %q", command, dir)
			}
			if g, ok := p.GrantForCall(call); ok {
				t.Errorf("%s in %q offers %q", command, dir, g.Label)
			}
			if d := all.DecideCall(call); !d.IsAllow() {
				t.Errorf("%s in %q asks although the tool is allowed", command, dir)
			}
		}
	}
	if d := newPolicy(t, WorkspaceWrite).DecideCall(in("/etc", "ls")); d.Reason() != "bash runs a command in /etc, outside of the workspace (preset workspace-write)" {
		t.Error(d.Reason())
	}
	if d := newPolicy(t, FullAccess).DecideCall(in("/etc", "ls")); !d.IsAllow() {
		t.Error(d.Reason())
	}
	// What is denied is denied everywhere, and confinement asks nothing.
	if d := newPolicy(t, WorkspaceWrite, "deny bash: make*").DecideCall(in("/etc", "make")); !d.IsDeny() {
		t.Error("not denied")
	}
	p := newPolicy(t, WorkspaceWrite)
	p.ConfinedBy(func() bool { return true })
	if d := p.DecideCall(in("/etc", "make")); !d.IsAllow() {
		t.Error(d.Reason())
	}
}
