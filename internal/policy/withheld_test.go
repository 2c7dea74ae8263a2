package policy

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// What was granted while more was free counts neither under read-only nor, for
// what may change something, in plan mode; and it is there again afterwards.
func TestGrantsThatDoNotCount(t *testing.T) {
	args := func(key, value string) jsonvalue.Value { return jsonvalue.Object().With(key, jsonvalue.String(value)) }
	tools := FirstParty()
	tools["mcp__files__put"] = Tool{Class: Other, Remote: "put of the MCP server files"}
	for _, c := range []struct {
		call     Call
		readOnly string // the answer under read-only with the grant
		planning string // the answer in plan mode with it
	}{
		{Call{Tool: "mcp__files__put", Arguments: jsonvalue.Object()}, "ask", "ask"},
		{Call{Tool: "unheard_of", Arguments: jsonvalue.Object()}, "ask", "ask"},
		{Call{Tool: "web_fetch", Arguments: args("url", "https://example.com/x")}, "ask", "allow"},
		{Call{Tool: "web_search", Arguments: args("query", "x")}, "ask", "allow"},
		{bash("ls -l"), "ask", "allow"},
		{bash("npm run build"), "deny", "deny"},
		{file("edit", "a"), "deny", "deny"},
	} {
		p, err := New(Config{Preset: WorkspaceWrite, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		grant, ok := p.GrantForCall(c.call)
		if !ok {
			t.Fatalf("%s: no grant is offered under %s", c.call.Tool, WorkspaceWrite)
		}
		p.Grants().Remember(grant)
		see := func(when, want string) {
			if got := word(p.DecideCall(c.call)); got != want {
				t.Errorf("%s %s, granted: %s, want %s", c.call.Tool, when, got, want)
			}
		}
		see("as granted", "allow")
		p.SetPlanning(true)
		see("in plan mode", c.planning)
		p.SetPlanning(false)
		if err := p.SetPreset(ReadOnly); err != nil {
			t.Fatal(err)
		}
		see("under read-only", c.readOnly)
		if g, ok := p.GrantForCall(c.call); ok {
			t.Errorf("%s under read-only: %q is offered and would not count", c.call.Tool, g.Label)
		}
		if err := p.SetPreset(WorkspaceWrite); err != nil {
			t.Fatal(err)
		}
		see("back again", "allow")
	}
}
