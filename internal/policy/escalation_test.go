package policy

import (
	"context"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// answers is an approver that gives one outcome and keeps the reasons.
type answers struct {
	outcome pipeline.ApprovalOutcome
	reasons []string
}

func (a *answers) RequestApproval(_ context.Context, r pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	a.reasons = append(a.reasons, r.Reason)
	return a.outcome, nil
}

// desk is a policy in front of tools that note the mode they ran under.
type desk struct {
	pipe   *pipeline.Pipeline
	scope  *registry.Scope
	policy *Policy
	asked  *answers
	modes  []Preset
}

func newDesk(t *testing.T, preset Preset, outcome pipeline.ApprovalOutcome, lines ...string) *desk {
	t.Helper()
	d := &desk{asked: &answers{outcome: outcome}}
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.pipe, err = pipeline.New(reg, pipeline.Options{Approver: d.asked}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bash", "write", "read", "mystery"} {
		_, err = reg.Global().Register(registry.Definition{
			Name: name, Description: name,
			Output: registry.Output{
				Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
				Render: func(_, _ jsonvalue.Value) ([]content.Block, error) { return []content.Block{content.Text("ran")}, nil },
			},
			Execute: func(_ context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
				d.modes = append(d.modes, d.policy.Mode(run.Execution()))
				return jsonvalue.String(""), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	d.scope = reg.Global().Child("session")
	t.Cleanup(d.scope.Close)
	if d.policy, err = New(Config{Preset: preset, Rules: rules(lines...), Approver: d.asked}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.policy.Install(d.pipe, d.scope); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) call(tool string, args map[string]any) string {
	return d.pipe.Execute(context.Background(), pipeline.Call{ID: "c", Name: tool, Arguments: jsonvalue.MustFromGo(args), Agent: agent{d.scope}}).Text()
}

func TestAnEscalationIsAskedOnceAndRunsOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		preset  Preset
		outcome pipeline.ApprovalOutcome
		rules   []string
		tool    string
		mode    any
		why     any
		want    string
		asks    int
		ran     Preset
	}{
		{"approved", WorkspaceWrite, pipeline.AllowedOnce, nil, "bash", "danger-full-access", "needs the network", "ran", 1, FullAccess},
		{"approved for a file", ReadOnly, pipeline.AllowedOnce, nil, "write", "workspace-write", "the user wants it", "ran", 1, WorkspaceWrite},
		{"approved although a rule asks too", WorkspaceWrite, pipeline.AllowedOnce, []string{"ask bash"}, "bash", "danger-full-access", "x", "ran", 1, FullAccess},
		{"asked although a rule allows", WorkspaceWrite, pipeline.AllowedOnce, []string{"allow bash"}, "bash", "danger-full-access", "x", "ran", 1, FullAccess},
		{"rejected", WorkspaceWrite, pipeline.Rejected, nil, "bash", "danger-full-access", "x", `Error: the user rejected escalating this command to "danger-full-access"`, 1, ""},
		{"rejected for a file", WorkspaceWrite, pipeline.Rejected, nil, "write", "danger-full-access", "x", `Error: the user rejected escalating this operation to "danger-full-access"`, 1, ""},
		{"cancelled", WorkspaceWrite, pipeline.Cancelled, nil, "bash", "danger-full-access", "x", `Error: approval for escalating to "danger-full-access" was cancelled`, 1, ""},
		{"nobody there", WorkspaceWrite, pipeline.Unavailable, nil, "bash", "danger-full-access", "x", `Error: sandbox escalation to "danger-full-access" requires approval, but no approval channel is available`, 1, ""},
		{"not wider", WorkspaceWrite, pipeline.AllowedOnce, nil, "bash", "workspace-write", "x", `Error: sandbox escalation to "workspace-write" is not strictly wider than this call's current "workspace-write" mode`, 0, ""},
		{"never wider", FullAccess, pipeline.AllowedOnce, nil, "bash", "danger-full-access", "x", `Error: sandbox escalation to "danger-full-access" is not strictly wider than this call's current "danger-full-access" mode`, 0, ""},
		{"denied by a rule", WorkspaceWrite, pipeline.AllowedOnce, []string{"deny bash: rm *"}, "bash", "danger-full-access", "x", `Error: "rm f" is denied by the permission rule "bash: rm *"`, 0, ""},
		{"no reason", WorkspaceWrite, pipeline.AllowedOnce, nil, "bash", "danger-full-access", nil, "Error: invalid escalation: sandbox_permissions requires a justification", 0, ""},
		{"blank reason", WorkspaceWrite, pipeline.AllowedOnce, nil, "bash", "danger-full-access", " ", "Error: invalid justification: expected a non-empty sentence", 0, ""},
		{"only a reason", WorkspaceWrite, pipeline.AllowedOnce, nil, "bash", nil, "x", "Error: invalid escalation: justification is only valid together with sandbox_permissions", 0, ""},
		{"no such mode", WorkspaceWrite, pipeline.AllowedOnce, nil, "bash", "read-only", "x", `Error: invalid sandbox_permissions: expected "workspace-write" or "danger-full-access"`, 0, ""},
		{"a tool that is not confined", WorkspaceWrite, pipeline.AllowedOnce, nil, "read", "danger-full-access", "x", "ran", 0, WorkspaceWrite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, tt.preset, tt.outcome, tt.rules...)
			args := map[string]any{"command": "rm f", "file_path": "f"}
			if tt.mode != nil {
				args["sandbox_permissions"] = tt.mode
			}
			if tt.why != nil {
				args["justification"] = tt.why
			}
			if got := d.call(tt.tool, args); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if len(d.asked.reasons) != tt.asks {
				t.Errorf("asked %q", d.asked.reasons)
			}
			for _, r := range d.asked.reasons {
				if want := "escalate sandbox to " + tt.mode.(string) + ": " + tt.why.(string); r != want {
					t.Errorf("reason %q, want %q", r, want)
				}
			}
			if tt.ran == "" && len(d.modes) != 0 || tt.ran != "" && (len(d.modes) != 1 || d.modes[0] != tt.ran) {
				t.Errorf("ran under %v, want %q", d.modes, tt.ran)
			}
			// The approval was for that run alone, and nothing is left of it.
			d.policy.escalated.calls.Range(func(any, any) bool { t.Error("an approval outlived its call"); return false })
			if g, ok := d.policy.GrantForCall(Call{Tool: tt.tool, Arguments: jsonvalue.MustFromGo(args), Cwd: "/work"}); ok && tt.mode != nil {
				t.Errorf("an escalation can be granted for good: %+v", g)
			}
		})
	}
}

func TestWithoutAnApproverNothingIsEscalated(t *testing.T) {
	d := newDesk(t, WorkspaceWrite, pipeline.AllowedOnce)
	d.policy.approver = nil
	args := map[string]any{"command": "ls", "sandbox_permissions": "danger-full-access", "justification": "x"}
	if got := d.call("bash", args); got != `Error: sandbox escalation to "danger-full-access" requires approval, but no approval service is composed` || len(d.modes) != 0 {
		t.Errorf("%q", got)
	}
}

func TestPlanModeOnlyReads(t *testing.T) {
	escalated := map[string]any{"command": "ls", "sandbox_permissions": "danger-full-access", "justification": "x"}
	for _, tt := range []struct {
		preset Preset
		tool   string
		args   map[string]any
		want   string // the beginning
		asks   int
	}{
		{FullAccess, "read", map[string]any{"file_path": "f"}, "ran", 0},
		{FullAccess, "bash", map[string]any{"command": "cat f | head"}, "ran", 0},
		{WorkspaceWrite, "bash", map[string]any{"command": "cat f"}, "ran", 1},
		{FullAccess, "bash", map[string]any{"command": "cat f > g"}, "Error: plan mode allows no command that is not recognised as reading only", 0},
		{WorkspaceWrite, "bash", map[string]any{"command": "make"}, "Error: plan mode allows no command", 0},
		{FullAccess, "write", map[string]any{"file_path": "f"}, "Error: write changes files, which plan mode does not allow: present the plan with exit_plan_mode first", 0},
		{FullAccess, "mystery", map[string]any{}, "Error: what mystery does is not known, so plan mode does not allow it", 0},
		{WorkspaceWrite, "mystery", map[string]any{}, "ran", 1},
		{WorkspaceWrite, "bash", escalated, "Error: plan mode allows no escalation", 0},
	} {
		// No rule and no grant softens plan mode.
		d := newDesk(t, tt.preset, pipeline.AllowedOnce, "allow write")
		d.policy.Grants().Remember(Grant{Key: commandKey("make")})
		d.policy.SetPlanning(true)
		if got := d.call(tt.tool, tt.args); !strings.HasPrefix(got, tt.want) || len(d.asked.reasons) != tt.asks {
			t.Errorf("%s %s %v: %q, asked %q; want %q", tt.preset, tt.tool, tt.args, got, d.asked.reasons, tt.want)
		}
		for _, m := range d.modes {
			if m != ReadOnly {
				t.Errorf("ran under %s", m)
			}
		}
		d.policy.SetPlanning(false)
		if got := d.call("write", map[string]any{"file_path": "f"}); got != "ran" {
			t.Errorf("after plan mode: %q", got)
		}
	}
}

func TestConfinedCommandsNeedNoQuestion(t *testing.T) {
	confined := true
	p, err := New(Config{Preset: WorkspaceWrite, Rules: rules("ask bash: git push*", "deny bash: rm *"), Confined: func() bool { return confined }})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		call            Call
		confined, loose string
	}{
		{bash("make && echo x > y"), "allow", "ask"},
		{bash("git push"), "ask", "ask"},
		{bash("rm x"), "deny", "deny"},
		{file("edit", "a"), "ask", "ask"},
		{Call{Tool: "mcp__x__y", Arguments: jsonvalue.Object()}, "ask", "ask"},
	} {
		for _, confined = range []bool{true, false} {
			want := tt.loose
			if confined {
				want = tt.confined
			}
			if got := word(p.DecideCall(tt.call)); got != want {
				t.Errorf("confined %v, %s %s: %s, want %s", confined, tt.call.Tool, tt.call.Arguments, got, want)
			}
		}
	}
	confined = true
	if err := p.SetPreset(ReadOnly); err != nil {
		t.Fatal(err)
	}
	if got := word(p.DecideCall(bash("make"))); got != "deny" {
		t.Errorf("read-only, confined: %s", got)
	}
}
