package policy

import (
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func remotePolicy(t *testing.T, preset Preset, tool Tool, rules ...Rule) (*Policy, Call) {
	t.Helper()
	tool.Class, tool.Remote = Other, "put of the MCP server files"
	p, err := New(Config{Preset: preset, Rules: rules, Describe: func(name string) (Tool, bool) { return tool, name == "mcp__files__put" }})
	if err != nil {
		t.Fatal(err)
	}
	return p, Call{Tool: "mcp__files__put", Arguments: jsonvalue.Object()}
}

func TestRemoteTools(t *testing.T) {
	for _, c := range []struct {
		preset Preset
		tool   Tool
		want   string
	}{
		{WorkspaceWrite, Tool{}, "ask: put of the MCP server files may change something (preset workspace-write)"},
		{WorkspaceWrite, Tool{ReadOnly: true}, "allow"},
		{WorkspaceWrite, Tool{Destructive: true}, "ask: put of the MCP server files says that it may destroy something (preset workspace-write)"},
		{WorkspaceWrite, Tool{ReadOnly: true, Destructive: true}, "ask: put of the MCP server files says that it may destroy something (preset workspace-write)"},
		{ReadOnly, Tool{ReadOnly: true}, "ask: put of the MCP server files says that it only reads (preset read-only)"},
		{ReadOnly, Tool{}, "ask: put of the MCP server files may change something (preset read-only)"},
		{FullAccess, Tool{Destructive: true}, "allow"},
	} {
		p, call := remotePolicy(t, c.preset, c.tool)
		d := p.DecideCall(call)
		got := "allow"
		if d.IsAsk() {
			got = "ask: " + d.Reason()
		}
		if d.IsDeny() || got != c.want {
			t.Errorf("%s %+v: %s, want %s", c.preset, c.tool, got, c.want)
		}
	}
}

func TestRemoteToolsInPlanMode(t *testing.T) {
	for _, c := range []struct {
		preset Preset
		tool   Tool
		deny   bool
	}{{FullAccess, Tool{}, true}, {FullAccess, Tool{ReadOnly: true}, false}, {WorkspaceWrite, Tool{}, false}, {WorkspaceWrite, Tool{ReadOnly: true}, false}} {
		p, call := remotePolicy(t, c.preset, c.tool)
		p.SetPlanning(true)
		if d := p.DecideCall(call); d.IsDeny() != c.deny {
			t.Errorf("%s %+v: denied %v", c.preset, c.tool, d.IsDeny())
		}
	}
}

func TestGrantsOfRemoteTools(t *testing.T) {
	p, call := remotePolicy(t, WorkspaceWrite, Tool{Identity: "one"})
	g, ok := p.GrantForCall(call)
	if !ok || g.Label != "Allow always: put of the MCP server files (this session)" {
		t.Fatalf("%+v", g)
	}
	p.Grants().Remember(g)
	if !p.DecideCall(call).IsAllow() {
		t.Error("what was allowed asks")
	}
	if list, _ := p.Grants().List(); len(list) != 1 || list[0].Label != "mcp__files__put" {
		t.Errorf("%+v", list)
	}
	// Another tool under that name is another matter.
	p.describe = func(string) (Tool, bool) { return Tool{Class: Other, Remote: "put", Identity: "two"}, true }
	if !p.DecideCall(call).IsAsk() {
		t.Error("another tool is allowed, too")
	}
	// What destroys is asked about each time, and no option says otherwise.
	p.describe = func(string) (Tool, bool) {
		return Tool{Class: Other, Remote: "put", Identity: "one", Destructive: true}, true
	}
	if !p.DecideCall(call).IsAsk() {
		t.Error("destroying is allowed for good")
	}
	if g, ok := p.GrantForCall(call); ok {
		t.Errorf("%+v", g)
	}
	// A rule of the user's comes first.
	p, call = remotePolicy(t, WorkspaceWrite, Tool{Destructive: true}, Rule{Tool: "mcp__files__*", Decision: "allow"})
	if d := p.DecideCall(call); !d.IsAllow() {
		t.Error(strings.TrimSpace(d.Reason()))
	}
}
