package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/repeat"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/spill"
	"github.com/dsh-acp/dsh-acp/internal/tools/skill"
	"github.com/dsh-acp/dsh-acp/internal/workspace"
)

// registerSkills adds the tool that loads skills.
func (a *app) registerSkills(global *registry.Scope) error {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then only the project has skills
	}
	a.skills = skill.New(skill.Options{Home: home, Logger: a.logger})
	return skill.Register(global, a.skills)
}

// installWorkspace gives a session what the model is told of its project, and
// the listeners that keep its context useful. No file is read here.
func (a *app) installWorkspace(cfg *config.Config, log *session.Log, scope *registry.Scope, more []string) error {
	h := log.Header()
	ws := workspace.New(workspace.Options{Agent: h.ID, Cwd: h.Cwd, Additional: more, Opened: time.Now(), Logger: a.logger})
	guard := &repeat.Guard{}
	follow := func(events []session.Event, ev session.Event) {
		switch ev.Type {
		case session.TypeContextMessage:
			ws.Logged(ev.Seq, ev.Data)
		case session.TypeUserMessage, session.TypeSteeringMessage:
			guard.Reset(h.ID)
		}
		if ev.SurfaceOp.IsObject() {
			ws.Replaced(session.Replaced(events, ev))
		}
	}
	before, _ := log.SubscribeFrom(func(ev session.Event) { follow(log.Kept(), ev) })
	for _, ev := range before {
		follow(before, ev)
	}
	if err := ws.Install(scope, a.pipeline); err != nil {
		return err
	}
	_, listErr := scope.AddSection(a.skills.Section(scope, h.Cwd))
	_, guardErr := guard.Install(scope, a.pipeline)
	long := spill.Options{
		MaxInline: cfg.Tools.MaxInlineBytes, Dir: filepath.Join(a.store.Dir(h.ID), "results"), Conceal: a.guard.Text, Logger: a.logger,
	}
	_, logErr := a.codeMode.transport.OnDispatchLog(scope, long.Logged)
	return errors.Join(listErr, guardErr, logErr, spill.Install(scope, a.pipeline, long))
}
