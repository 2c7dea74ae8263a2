package policy

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// A redirect gets a call no further than a call of its own would get.
func TestRedirectsAreJudgedByTheirPath(t *testing.T) {
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rules  []string
		preset Preset
		to     string
		want   bool
	}{
		{nil, WorkspaceWrite, "https://a.example/other", true},
		{nil, FullAccess, "https://a.example/other", true},
		{[]string{"deny web_fetch: a.example/private"}, WorkspaceWrite, "https://a.example/private/x", false},
		{[]string{"deny web_fetch: a.example/private"}, FullAccess, "https://a.example/private/x", false},
		{[]string{"deny web_fetch: a.example/private"}, WorkspaceWrite, "https://a.example/open", true},
		{[]string{"allow web_fetch: a.example/docs/*"}, WorkspaceWrite, "https://a.example/other", false},
		{[]string{"allow web_fetch: a.example/docs/*"}, WorkspaceWrite, "https://a.example/docs/other", true},
		{[]string{"ask web_fetch: a.example/private"}, WorkspaceWrite, "https://a.example/private/x", false},
	} {
		p := newPolicy(t, c.preset, c.rules...)
		exec, err := reg.Begin(registry.ExecutionSpec{
			CallID: "c", Name: "web_fetch", Agent: agent{reg.Global()},
			Arguments: jsonvalue.MustFromGo(map[string]any{"url": "https://a.example/docs/start"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.MayFollow(exec, c.to); got != c.want {
			t.Errorf("%s %q: to %s: %v", c.preset, c.rules, c.to, got)
		}
		reg.End(exec)
	}
}
