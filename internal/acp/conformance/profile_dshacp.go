package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// dshACP is the profile of the agent of this repository: its model is the kit's
// own server, and writing asks.
func dshACP() Profile {
	bash := func(command string) string {
		return `!call bash {"command":"` + command + `","description":"Do what the check needs"}`
	}
	todos := func(first, second string) string {
		return `!call todo_write {"todos":[{"content":"look","status":"` + first + `"},{"content":"leap","status":"` + second + `"}]}`
	}
	p := Profile{
		Name: "dsh-acp",
		Prompts: map[Purpose]string{
			Hello:    "!say Hello.",
			Echo:     "!say {text}",
			Slow:     "!slow 300",
			Command:  bash("{command:json}"),
			Read:     `!call read {"file_path":"{path:json}"}`,
			Write:    `!call write {"file_path":"{path:json}","content":"{content:json}"}`,
			Edit:     `!call read {"file_path":"{path:json}"}` + "\n!then\n" + `!call edit {"file_path":"{path:json}","old_string":"{old:json}","new_string":"{new:json}"}`,
			Think:    "!think {text}\n!say I have thought.",
			Plan:     todos("in_progress", "pending") + "\n!then\n" + todos("completed", "in_progress"),
			Remember: "!say Noted.\nThe word is {text}.",
			Recall:   "!recall",
			Large:    "!say ok\n{text}",
			Failing:  "!status {code}",
			Finish:   "!finish {reason}",
			Loop:     "!loop bash " + `{"command":"true","description":"Go on"}`,
			MCP:      "!call mcp__{server}__{tool} {}",
		},
		Launch:     launchDshACP,
		AuthMethod: "key",
		GiveKey: func(home string) error {
			dir := filepath.Join(home, "dsh-acp")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "credentials.json"), []byte(`{"deepseek":"sk-conformance"}`), 0o600)
		},
		NotApplicable: map[int]string{
			78: "the agent runs commands itself and never uses the client's terminals",
		},
	}
	for purpose, template := range p.Prompts {
		p.Prompts[purpose] = "!new\n" + template
	}
	return p
}

func launchDshACP(r LaunchRequest) (Launch, error) {
	config := map[string]any{
		"model":       map[string]any{"provider": "openai", "name": "scripted", "base_url": r.ModelURL, "context_window": 100_000},
		"permissions": map[string]any{"rules": []any{map[string]any{"tool": "write", "decision": "ask"}, map[string]any{"tool": "edit", "decision": "ask"}}},
		"sessions":    map[string]any{"dir": filepath.Join(r.Home, "sessions")},
		"limits":      map[string]any{"mcp_wait": "60s"}, // the kit's servers start, however slow the machine
	}
	switch r.Variant {
	case "":
	case NoKey:
		config["model"] = map[string]any{"provider": "deepseek"}
	case FewSteps:
		config["limits"] = map[string]any{"max_steps": 3, "mcp_wait": "60s"}
	default:
		return Launch{}, ErrNoVariant
	}
	text, err := json.Marshal(config) // JSON is YAML
	if err != nil {
		return Launch{}, err
	}
	file := filepath.Join(r.Home, "conformance.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return Launch{}, err
	}
	return Launch{
		Args: []string{"--config", file},
		Env:  []string{"HOME=" + r.Home, "XDG_CONFIG_HOME=" + r.Home, "XDG_STATE_HOME=" + r.Home, "DEEPSEEK_API_KEY=", "OPENAI_API_KEY="},
	}, nil
}
