package shell

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/tools/jobs"
)

// render writes what the model reads of a finished command.
func render(_, value jsonvalue.Value) ([]content.Block, error) {
	if value.GetString("kind") == "background" {
		return []content.Block{content.Text(jobs.StartedText(value))}, nil
	}
	var t transcript
	stdout, stderr := value.Get("stdout"), value.Get("stderr")
	t.stream(stdout)
	if stderr.GetString("text") != "" {
		t.line("[stderr]")
		t.text("\n")
		t.stream(stderr)
	}
	if t.Len() == 0 {
		t.text("(no output)")
	}
	for _, m := range markers(value) {
		t.line(m)
	}
	return []content.Block{content.Text(t.String())}, nil
}

// markers are the lines that say how the command ended, in their order.
func markers(value jsonvalue.Value) []string {
	lines := sandboxLines(value)
	if timedOut, _ := value.Get("timedOut").Bool(); timedOut {
		lines = append(lines, fmt.Sprintf("[timed out after %sms]", value.Get("timeoutMs").Canonical()))
	}
	if signal := value.GetString("signal"); signal != "" {
		lines = append(lines, fmt.Sprintf("[killed by signal: %s]", signal))
	} else if code, ok := value.Get("exitCode").Int64(); ok && code != 0 {
		lines = append(lines, fmt.Sprintf("[exit code: %d]", code))
	}
	return lines
}

// transcript collects output and the lines that comment on it.
type transcript struct{ strings.Builder }

func (t *transcript) text(s string) { t.WriteString(s) }

// line puts s on a line of its own, without ending it: what follows does.
func (t *transcript) line(s string) {
	if t.Len() > 0 && !strings.HasSuffix(t.String(), "\n") {
		t.WriteByte('\n')
	}
	t.WriteString(s)
}

func (t *transcript) stream(v jsonvalue.Value) {
	t.text(v.GetString("text"))
	if truncated, _ := v.Get("truncated").Bool(); truncated {
		path := v.GetString("spillPath")
		if path == "" {
			path = "(unavailable)"
		}
		t.line(fmt.Sprintf("[output truncated; full output: %s]", path))
	}
}
