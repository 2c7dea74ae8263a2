package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/conformance"
)

// notOurs are the items that do not apply to this agent, with the reason.
var notOurs = map[int]string{
	78: "commands are run by the agent, never in the client's terminals",
}

// The program passes every item of the checklist that applies to it.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	results, err := conformance.Run(t.Context(), conformance.Options{
		Agent: []string{bin}, Profile: conformance.Profiles()["dsh-acp"],
		Timeout:   2 * time.Minute, // other tests run beside it
		Limit:     10 * time.Minute,
		Patience:  20,
		MCPServer: []string{bin, "conformance", "--serve-mcp"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 85 {
		t.Errorf("%d items were tried", len(results))
	}
	for _, r := range results {
		want := conformance.Pass
		if notOurs[r.ID] != "" {
			want = conformance.Skip
		}
		if r.Status != want {
			t.Errorf("%s", r.Line())
		}
	}
}

// The command line: a table or JSON, and an exit code that a build can use.
func TestConformanceCommand(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.txt")
	run := func(args ...string) (string, string, int) {
		cmd := exec.Command(bin, append([]string{"conformance"}, args...)...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			if _, exited := err.(*exec.ExitError); !exited {
				t.Fatal(err)
			}
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	out, errs, code := run("--profile", "dsh-acp", "--timeout", "2m", "--limit", "10m", "--only", "2,13,33,47", "--trace", trace, "--", bin)
	if code != 0 || !strings.Contains(out, "PASS   13  initialization") || !strings.HasSuffix(out, "4 of 4 items pass, 0 fail, 0 are skipped\n") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	checkTrace(t, trace)
	out, _, code = run("--only", "13,47,59", "--json", "--", "false")
	var report struct {
		Results []struct{ Status, Why string }
		Counts  map[string]int
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 1 || report.Counts["fail"] != 3 || !strings.Contains(report.Results[0].Why, "the agent ended") {
		t.Errorf("code %d, %v\n%s", code, err, out)
	}
	if out, _, code = run("--only", "13", "--", "/no/such/agent"); code != 1 || !strings.Contains(out, "BROKEN 13") {
		t.Errorf("code %d\n%s", code, out)
	}
	if _, errs, code = run(); code != 2 || !strings.Contains(errs, "no agent") {
		t.Errorf("code %d: %s", code, errs)
	}
	if out, _, code = run("--list"); code != 0 || strings.Count(out, "\n") < 85 || !strings.Contains(out, "85  ") {
		t.Errorf("code %d\n%s", code, out)
	}
}
