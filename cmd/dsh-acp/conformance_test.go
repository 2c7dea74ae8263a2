package main

import (
	"strings"
	"testing"
	"time"
)

func TestConformanceArguments(t *testing.T) {
	a, err := parseConformance([]string{
		"--profile", "dsh-acp", "--only=1, 85", "--only", "3", "--timeout", "5s", "--limit=1m", "--prompt", "echo=say {text}", "--json",
		"--variant", "=A=b --x", "--trace", "t.txt", "--", "agent", "--acp", "--json",
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.profile != "dsh-acp" || len(a.opt.Only) != 3 || a.opt.Only[1] != 85 || a.opt.Timeout != 5*time.Second || a.opt.Limit != time.Minute ||
		a.prompts[0] != "echo=say {text}" || !a.json || a.variants[0] != "=A=b --x" || a.trace != "t.txt" || strings.Join(a.opt.Agent, " ") != "agent --acp --json" {
		t.Errorf("%+v", a)
	}
	for _, c := range []struct{ args, want string }{
		{"", "no agent"},
		{"agent", "unknown flag agent; the agent's command comes after --"},
		{"--only 86 -- a", "numbers from 1 to 85"},
		{"--only x -- a", "numbers from 1 to 85"},
		{"--timeout 0s -- a", "positive duration"},
		{"--patience 0 -- a", "from 1 to 100"},
		{"--patience NaN -- a", "from 1 to 100"},
		{"--timeout", "needs a value"},
		{"--profle x -- a", "unknown flag --profle"},
	} {
		if _, err := parseConformance(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}
