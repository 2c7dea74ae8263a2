package policy

import (
	"strings"
	"testing"
)

// The additional folders of a workspace are inside it for rules and grants.
func TestAdditionalRootsAreInsideTheWorkspace(t *testing.T) {
	p, err := New(Config{Preset: WorkspaceWrite, Rules: []Rule{
		{Tool: "write", Match: "secret/**", Decision: "deny"},
		{Tool: "write", Match: "src/**", Decision: "allow"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	with := func(path string, roots ...string) Call {
		c := file("write", path)
		c.Roots = roots
		return c
	}
	for _, c := range []struct {
		path  string
		roots []string
		want  string
	}{
		{"/work/src/a", nil, "allow"},
		{"/lib/src/a", nil, "ask"},
		{"/lib/src/a", []string{"/work", "/lib"}, "allow"},
		{"/lib/secret/a", []string{"/work", "/lib"}, "deny"},
		{"/lib/secret/a", nil, "ask"},
		{"/library/src/a", []string{"/work", "/lib"}, "ask"},
		{"/lib/../etc/src/a", []string{"/work", "/lib"}, "ask"},
	} {
		d := p.DecideCall(with(c.path, c.roots...))
		got := map[bool]string{d.IsAllow(): "allow", d.IsAsk(): "ask", d.IsDeny(): "deny"}[true]
		if got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.path, c.roots, got, c.want)
		}
	}
	if g, ok := p.GrantForCall(with("/lib/x", "/work", "/lib")); !ok || !strings.Contains(g.Label, "in this workspace") {
		t.Errorf("the grant is %+v", g)
	}
	if g, ok := p.GrantForCall(with("/other/x", "/work", "/lib")); !ok || strings.Contains(g.Label, "in this workspace") {
		t.Errorf("the grant outside is %+v", g)
	}
}
