package shell

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/sandbox"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

// confine puts a command into the box that the call is to run in. nil when nobody
// asked for one.
func (s *Shell) confine(exec *registry.Execution, cmd *proc.Command) (*sandbox.Run, error) {
	if s.opts.Confine == nil {
		return nil, nil
	}
	box, err := s.opts.Confine(exec)
	if err != nil || box == nil {
		return nil, err
	}
	cmd.Wrap = box.Wrap
	cmd.Env = append(cmd.Env, box.Env...)
	return box, nil
}

// maxUndone bounds how much of what was undone is told.
const maxUndone = 20

// sandboxSchema describes how a command was confined.
func sandboxSchema() schema.Property {
	return schema.Optional("sandbox", schema.ClosedObject("How the command was confined.",
		schema.Required("mode", schema.String("The mode it ran under.")),
		schema.Required("denied", schema.Boolean("Whether it was kept from writing something.")),
		schema.Optional("enforcement", schema.String("What confined it; absent when nothing did.")),
		schema.Optional("undone", schema.Array("What it left where nothing may be left, and that was taken away or renamed when it had ended.", schema.String(""))),
		schema.Optional("runnerFailed", schema.Boolean("Set when the box could not be set up: the command was not run.")),
	))
}

// confined adds to a value how the command was confined, and what of its failure
// is the confinement's doing.
func confined(value jsonvalue.Value, out proc.Outcome, box *sandbox.Run, dir string) jsonvalue.Value {
	if box == nil {
		return value
	}
	// What a command that succeeded printed may be about anything.
	failed := out.Code != 0
	denied := box.Denied(out.Stderr.Text, dir) || failed && box.Denied(out.Stdout.Text, dir) || len(box.Undone()) > 0
	report := jsonvalue.Object(
		jsonvalue.Member{Key: "mode", Value: jsonvalue.String(string(box.Mode))},
		jsonvalue.Member{Key: "denied", Value: jsonvalue.Bool(denied)},
	)
	if box.Enforcement != "" {
		report = report.With("enforcement", jsonvalue.String(box.Enforcement))
	}
	if undone := box.Undone(); len(undone) > 0 {
		list := make([]jsonvalue.Value, min(len(undone), maxUndone))
		for i := range list {
			list[i] = jsonvalue.String(strings.ToValidUTF8(undone[i], "\uFFFD"))
		}
		report = report.With("undone", jsonvalue.Array(list...))
	}
	if why := box.Failure(); why != "" {
		report = report.With("runnerFailed", jsonvalue.Bool(true))
		text := fmt.Sprintf("the command was not run, because its sandbox could not be set up: %s\n", why)
		value = value.With("stderr", stream(proc.Output{Text: text + out.Stderr.Text}))
	}
	return value.With("sandbox", report)
}

// sandboxLines are what the model reads about the confinement, each for a line of
// its own. Output that speaks of a missing network is only an explanation when the
// command failed.
func sandboxLines(value jsonvalue.Value) []string {
	report := value.Get("sandbox")
	if report.IsUndefined() {
		return nil
	}
	mode := report.GetString("mode")
	var lines []string
	if denied, _ := report.Get("denied").Bool(); denied {
		lines = append(lines, tools.SandboxDenied(mode))
	}
	if undone := report.Get("undone"); undone.Len() > 0 {
		var names []string
		for _, u := range undone.Elements() {
			name, _ := u.Str()
			names = append(names, name)
		}
		lines = append(lines, fmt.Sprintf("[sandbox: removed, or renamed to *%s, because programs would run by it: %s]", sandbox.HeldBack, strings.Join(names, ", ")))
	}
	if code, ok := value.Get("exitCode").Int64(); (!ok || code != 0) && sandbox.LacksNetwork(report.GetString("enforcement")) &&
		sandbox.MissesNetwork(value.Get("stdout").GetString("text")+"\n"+value.Get("stderr").GetString("text")) {
		lines = append(lines, fmt.Sprintf("[sandbox: no network under %s mode]", mode))
	}
	if len(lines) > 0 {
		lines = append(lines, tools.EscalationHint("command"))
	}
	return lines
}
