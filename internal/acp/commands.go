package acp

import (
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// command is a slash command of the bridge. It runs without a model turn.
type command struct {
	model.Command
	// run does it, with everything behind the name, and gives what to tell the
	// user. A prompt that is not empty is then sent to the model.
	run func(l *liveSession, args string) (reply, prompt string)
}

// commands are the bridge's own.
var commands = []command{
	{model.Command{Name: "plan", Description: "Enter or leave plan mode", Hint: "[off|message]"}, (*liveSession).runPlan},
}

// commandsOf are all commands of a session: the bridge's own, then those of its
// model. The bridge wins where both have a name.
func (s *Server) commandsOf(a *agent.Session) []model.Command {
	var list []model.Command
	own := map[string]bool{}
	for _, c := range commands {
		list = append(list, c.Command)
		own[c.Name] = true
	}
	for _, c := range s.opt.Backend.Commands(a) {
		if !own[c.Name] {
			list = append(list, c)
		}
	}
	return list
}

// findCommand finds the bridge's command that a prompt begins with. Anything
// else with a slash is for the model.
func findCommand(prompt string) (c *command, args string) {
	rest, ok := strings.CutPrefix(prompt, "/")
	if !ok {
		return nil, ""
	}
	name := rest
	if i := strings.IndexAny(rest, "\t\n\r "); i >= 0 {
		name, args = rest[:i], rest[i:]
	}
	for i := range commands {
		if commands[i].Name == name {
			return &commands[i], args
		}
	}
	return nil, ""
}

// runCommand runs the command of a job and shows what it says. It gives the
// prompt that remains for the model, "" when there is none.
func (l *liveSession) runCommand(job *promptJob) (prompt string) {
	reply, prompt := job.command.run(l, job.args)
	if reply != "" {
		l.commandsRun++
		id := "command-" + strconv.Itoa(l.commandsRun)
		l.server.update(l.agent.SessionID(), protocol.AgentChunk(id, protocol.TextBlock(reply)))
	}
	return prompt
}

// runPlan enters plan mode, or leaves it with "off".
func (l *liveSession) runPlan(args string) (reply, prompt string) {
	defer l.syncMode()
	args = strings.TrimSpace(args)
	if args != "off" {
		l.agent.SetPlanning(true)
		return "Entering plan mode (applies from the next step). Use /plan off to leave.", args
	}
	active, next := l.agent.PlanState()
	l.agent.SetPlanning(false)
	switch {
	case active:
		return "Leaving plan mode (applies from the next step).", ""
	case next:
		return "Plan mode entry cancelled.", ""
	}
	return "Plan mode is already inactive.", ""
}
