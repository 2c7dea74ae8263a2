package acp

import (
	"context"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// Command is a slash command that the program carries out itself, without a
// turn of the model. It runs on the session's goroutine, between turns.
type Command struct {
	model.Command
	// Run does it, with everything behind the name. An error is shown to the
	// person like an answer and fails nothing; its text says what to do next.
	Run func(ctx context.Context, s *agent.Session, args string) (CommandAnswer, error)
}

// CommandAnswer is what a command gives.
type CommandAnswer struct {
	// Text is shown to the person, in Markdown; it may be empty.
	Text string
	// Prompt is sent to the model afterwards, unless it is empty.
	Prompt string
}

// builtinCommands are the bridge's own, one a file.
func builtinCommands() []Command {
	return []Command{planCommand(), permissionsCommand(), modelCommand(), toolsCommand(), statusCommand(), compactCommand()}
}

// CommandBackend is implemented by a Backend that has commands of its own.
type CommandBackend interface {
	// SessionCommands are the commands of a session besides the bridge's, in the
	// order of a menu. Of two of one name the bridge's counts.
	SessionCommands(s *agent.Session) []Command
}

// runnable are the commands that run without the model.
func (s *Server) runnable(a *agent.Session) []Command {
	list := s.withConsents(s.withSources(builtinCommands()))
	if b, ok := s.opt.Backend.(CommandBackend); ok {
		list = append(list, b.SessionCommands(a)...)
	}
	return list
}

// commandsOf are all commands of a session: those that run without the model,
// then those that the model understands. The first of a name counts.
func (s *Server) commandsOf(a *agent.Session) []model.Command {
	var list []model.Command
	taken := map[string]bool{}
	add := func(c model.Command) {
		if !taken[c.Name] {
			taken[c.Name] = true
			list = append(list, c)
		}
	}
	for _, c := range s.runnable(a) {
		add(c.Command)
	}
	for _, c := range s.opt.Backend.Commands(a) {
		add(c)
	}
	return list
}

// sendCommands tells the client all commands.
func (l *liveSession) sendCommands(list []model.Command) {
	l.shownCommands = list
	l.server.update(l.agent.SessionID(), commandsUpdate(list))
}

// syncCommands tells the client the commands again when they have changed since:
// skills come and go with their files.
func (l *liveSession) syncCommands() {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	if now := l.server.commandsOf(l.agent); !slices.Equal(now, l.shownCommands) {
		l.sendCommands(now)
	}
}

// findCommand finds the command that a prompt begins with. Anything else with a
// slash is for the model.
func (s *Server) findCommand(a *agent.Session, prompt string) (c *Command, args string) {
	name, args, ok := splitCommand(prompt)
	if !ok {
		return nil, ""
	}
	for _, c := range s.runnable(a) {
		if c.Name == name {
			return &c, args
		}
	}
	return nil, ""
}

// splitCommand splits a prompt that begins with a slash into the name and what
// follows it, the separator included.
func splitCommand(prompt string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(prompt, "/")
	if !ok {
		return "", "", false
	}
	if i := strings.IndexAny(rest, "\t\n\r "); i >= 0 {
		return rest[:i], rest[i:], true
	}
	return rest, "", true
}

// runCommand runs the command of a job. What it says is logged, and shown
// because it is logged. What remains for the model becomes the job's prompt; done
// says that nothing does.
func (l *liveSession) runCommand(job *promptJob) (done bool, err error) {
	answer, failure := job.command.Run(job.ctx, l.agent, job.args)
	if failure != nil {
		if job.ctx.Err() != nil {
			return true, nil // there is nobody left to tell
		}
		answer = CommandAnswer{Text: "Error: " + failure.Error()}
	}
	if answer.Text != "" {
		if err := l.agent.LogCommand("/"+job.command.Name+job.args, answer.Text); err != nil {
			return true, err
		}
	}
	l.syncView()
	if answer.Prompt == "" {
		return true, nil
	}
	// The person sees what they typed: it is there already when the command has
	// been logged.
	switch {
	case answer.Text != "":
		job.shown = []content.Block{}
	case job.shown == nil:
		job.shown = job.prompt
	}
	job.prompt = job.sent.withText(answer.Prompt)
	return false, nil
}
