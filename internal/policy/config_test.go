package policy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/config"
)

// The configuration warns about tools that do not exist, and refuses patterns
// that the policy could not read. It has its own list and its own check, since
// it knows nothing of the packages above it; here the two are compared.
func TestConfigurationAgrees(t *testing.T) {
	if want := slices.Sorted(maps.Keys(FirstParty())); !slices.Equal(config.ToolNames, want) {
		t.Errorf("config.ToolNames is %q, the tools are %q", config.ToolNames, want)
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	rapid.Check(t, func(t *rapid.T) {
		tool := rapid.SampledFrom([]string{"bash", "read", "*", "b*", "mcp__x"}).Draw(t, "tool")
		match := rapid.StringOfN(rapid.SampledFrom([]rune(`ab /.*?[]{},'"\-!^~ `)), 1, 8, -1).Draw(t, "match")
		text := fmt.Sprintf("permissions: {rules: [{tool: %q, match: %q, decision: deny}]}\n", tool, match)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, loaded := config.Load(config.Options{ConfigFile: file, Home: "/home/u", Env: func(string) string { return "" }})
		_, compiled := New(Config{Rules: []Rule{{Tool: tool, Match: match, Decision: "deny"}}, Home: "/home/u"})
		if (loaded == nil) != (compiled == nil) {
			t.Fatalf("%s %q: the configuration says %v, the policy %v", tool, match, loaded, compiled)
		}
	})
}
