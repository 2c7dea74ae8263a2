package main

import (
	"context"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/tools/skill"
)

// SessionCommands are the slash commands of a session besides the bridge's own.
func (a *app) SessionCommands(s *agent.Session) []acp.Command {
	return a.skillCommands(s)
}

// skillCommands are the session's skills: typing one's name puts its
// instructions before the model, with what follows the name.
func (a *app) skillCommands(s *agent.Session) []acp.Command {
	if _, ok := s.Scope().Get(skill.Name); !ok {
		return nil
	}
	skills, _ := a.skills.List(s.Cwd())
	var list []acp.Command
	for _, k := range skills {
		list = append(list, acp.Command{
			Command: model.Command{Name: k.Name, Description: k.Summary(), Hint: "[what to do]"},
			Run: func(_ context.Context, s *agent.Session, args string) (acp.CommandAnswer, error) {
				prompt, err := a.skills.Prompt(s.Cwd(), k.Name, args)
				return acp.CommandAnswer{Prompt: prompt}, err
			},
		})
	}
	return list
}
