package main

import (
	"os"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/policy"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// sessionPolicy is one session's policy, and the agent's view of what may be
// allowed for good.
type sessionPolicy struct {
	*policy.Policy
	preferProject bool // "always" means the project where an editor shows one such option
}

// installPolicy puts the configured presets and rules before the calls that a
// session's scope sees. grants is what was answered for longer than once: a
// session that another one starts gets that one's. vain says of which calls nobody
// need be asked.
func installPolicy(cfg *config.Config, pipe *pipeline.Pipeline, scope *registry.Scope, describe func(string) (policy.Tool, bool), grants *policy.Grants, vain func(policy.Call) string) (sessionPolicy, error) {
	preset, err := policy.ParsePreset(cfg.Permissions.Preset)
	if err != nil {
		return sessionPolicy{}, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // patterns with ~/ then stay as they are
	}
	p, err := policy.New(policy.Config{
		Preset: preset, Rules: policyRules(cfg.Permissions.Rules), Restrictions: policyRules(cfg.Permissions.Restrictions), Home: home, Describe: describe,
		Approver: pipe, Grants: grants, Vain: vain,
	})
	if err != nil {
		return sessionPolicy{}, err
	}
	// The listeners end with the scope.
	if _, err := p.Install(pipe, scope); err != nil {
		return sessionPolicy{}, err
	}
	return sessionPolicy{Policy: p, preferProject: cfg.Permissions.Remember == string(policy.ThisProject)}, nil
}

func policyRules(in []config.Rule) []policy.Rule {
	out := make([]policy.Rule, len(in))
	for i, r := range in {
		out[i] = policy.Rule{Tool: r.Tool, Match: r.Match, Decision: r.Decision, Reason: r.Reason, Origin: r.Origin}
	}
	return out
}

// switchable is a policy as the user may switch it.
type switchable struct{ *policy.Policy }

// presets are the presets with what they stand for, from strict to free.
var presets = []agent.Preset{
	{
		Name: string(policy.ReadOnly), Sandbox: "read-only", Approval: "ask",
		Description: "Look at everything, change nothing; commands that only read require approval.",
	},
	{
		Name: string(policy.WorkspaceWrite), Sandbox: "workspace-write", Approval: "ask",
		Description: "Write inside the workspace and permitted temporary directories; wider retries require approval.",
	},
	{
		Name: string(policy.FullAccess), Sandbox: "danger-full-access", Approval: "never",
		Description: "Full file access without approval prompts.",
	},
}

// Rules are the user's rules, then those of the workspace.
func (s switchable) Rules() []string { return s.Policy.Rules() }

// Presets lists what can be chosen.
func (switchable) Presets() []agent.Preset { return presets }

// Preset is the name of the one in force.
func (s switchable) Preset() string { return string(s.Policy.Preset()) }

// SetPreset puts one in force.
func (s switchable) SetPreset(name string) error { return s.Policy.SetPreset(policy.Preset(name)) }
