package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// The ids of the config options. The option of the modes is what clients that
// know no modes see instead of them; both always say the same.
const (
	optionModel      = "model"
	optionMode       = "mode"
	optionPermission = "permission"
	optionTools      = "tools"
	optionThought    = "thought_level"
)

// The ids of the modes.
const (
	modeDefault = "default"
	modePlan    = "plan"
)

// catalogueWait is how long an answer is held back for a list of models that is
// not known yet; see [Server.listWait]. A list that comes later is sent as an
// update.
const catalogueWait = 100 * time.Millisecond

// defaultEffort is the value that leaves the thought level to the model.
const defaultEffort = "default"

func modeID(planning bool) string {
	if planning {
		return modePlan
	}
	return modeDefault
}

// state is what the answers that open a session say of its settings.
func state(a *agent.Session) protocol.SessionState {
	return protocol.SessionState{
		Modes: &protocol.Modes{
			CurrentModeID: modeID(a.Settings().Planning),
			AvailableModes: []protocol.Mode{
				{ID: modeDefault, Name: modeDefault, Description: "Do what is asked."},
				{ID: modePlan, Name: modePlan, Description: "Look, change nothing, and present a plan to review."},
			},
		},
		ConfigOptions: configOptions(a),
	}
}

// configOptions is the complete list, the most important first.
func configOptions(a *agent.Session) []protocol.ConfigOption {
	set := a.Settings()
	options := []protocol.ConfigOption{
		protocol.SelectOption{
			ID: optionModel, Name: "Model", Description: "Sets this session's provider and model.",
			Category: protocol.CategoryModel, CurrentValue: modelValue(set.Provider, set.Model), Options: modelChoices(a.Models()),
		},
		protocol.SelectOption{
			ID: optionMode, Name: "Mode", Description: "Whether the agent works, or plans first and changes nothing.",
			Category: protocol.CategoryMode, CurrentValue: modeID(set.Planning), Options: protocol.Flat(
				protocol.Choice{Value: modeDefault, Name: modeDefault, Description: "Do what is asked."},
				protocol.Choice{Value: modePlan, Name: modePlan, Description: "Look, change nothing, and present a plan to review."},
			),
		},
	}
	if presets := a.Presets(); len(presets) > 0 {
		var choices []protocol.Choice
		for _, p := range presets {
			choices = append(choices, protocol.Choice{Value: p.Name, Name: p.Name, Description: p.Description})
		}
		options = append(options, protocol.SelectOption{
			ID: optionPermission, Name: "Permissions",
			Description: "The session permission preset: each choice bundles a sandbox mode and an approval policy.",
			Category:    protocol.CategoryMode, CurrentValue: set.Preset, Options: protocol.Flat(choices...),
		})
	}
	if modes := a.ToolModes(); len(modes) > 0 {
		about := map[registry.Mode]string{
			registry.ModeNative: "The model calls tools one by one.",
			registry.ModeCode:   "The model writes programs that call the tools.",
			registry.ModeBoth:   "The model does either.",
		}
		var choices []protocol.Choice
		for _, m := range modes {
			choices = append(choices, protocol.Choice{Value: string(m), Name: string(m), Description: about[m]})
		}
		options = append(options, protocol.SelectOption{
			ID: optionTools, Name: "Tools", Description: "How the model gets at the tools.",
			CurrentValue: string(set.ToolMode), Options: protocol.Flat(choices...),
		})
	}
	if efforts := a.Efforts(); len(efforts) > 0 {
		choices := []protocol.Choice{{Value: defaultEffort, Name: defaultEffort, Description: "What the model does by itself."}}
		for _, e := range efforts {
			choices = append(choices, protocol.Choice{Value: e, Name: e})
		}
		current := set.Effort
		if current == "" {
			current = defaultEffort
		}
		options = append(options, protocol.SelectOption{
			ID: optionThought, Name: "Thought level", Description: "How long the model thinks before it answers.",
			Category: protocol.CategoryThoughtLevel, CurrentValue: current, Options: protocol.Flat(choices...),
		})
	}
	return options
}

// modelValue is the value that stands for a model: the JSON text of an array.
func modelValue(provider, id string) string {
	return "[" + quoted(provider) + "," + quoted(id) + "]"
}

// parseModelValue reads what modelValue writes, however it is spaced.
func parseModelValue(value string) (provider, id string, ok bool) {
	var pair []string
	if json.Unmarshal([]byte(value), &pair) != nil || len(pair) != 2 {
		return "", "", false
	}
	return pair[0], pair[1], true
}

// modelChoices are flat for one provider, else one group a provider.
func modelChoices(lists []agent.ProviderModels) protocol.Choices {
	var groups []protocol.ChoiceGroup
	for _, l := range lists {
		g := protocol.ChoiceGroup{Group: l.Provider, Name: l.Provider}
		for _, m := range l.Models {
			name := m.Title()
			if name == "" { // a provider that chooses the model itself
				name = modeDefault
			}
			g.Options = append(g.Options, protocol.Choice{Value: modelValue(l.Provider, m.ID), Name: name, Description: m.Description})
		}
		groups = append(groups, g)
	}
	if len(groups) == 1 {
		return protocol.Flat(groups[0].Options...)
	}
	return protocol.Grouped(groups...)
}

// setMode switches between the modes. The choice is taken on the reading
// goroutine, so that a prompt right behind it sees it.
func (s *Server) setMode(req *wire.Request, l *liveSession, p protocol.SetModeRequest) *protocol.Error {
	if p.ModeID != modeDefault && p.ModeID != modePlan {
		return invalidValue("unknown session mode " + quoted(p.ModeID) + " — available modes: " + modeDefault + ", " + modePlan)
	}
	l.agent.SetPlanning(p.ModeID == modePlan)
	wire.Go(req, func(context.Context) (any, error) {
		l.viewMu.Lock()
		defer l.viewMu.Unlock()
		l.sendMode()
		l.sendOptions()
		s.reply(req, protocol.Empty{})
		return nil, nil
	})
	return nil
}

// setConfigOption changes one option and answers with all of them.
func (s *Server) setConfigOption(req *wire.Request, l *liveSession, p protocol.SetConfigOptionRequest) *protocol.Error {
	if perr := l.choose(p); perr != nil {
		return perr
	}
	wire.Go(req, func(context.Context) (any, error) {
		l.viewMu.Lock()
		defer l.viewMu.Unlock()
		if p.ConfigID == optionMode {
			l.sendMode()
		}
		list := configOptions(l.agent)
		l.optionsSeen(list)
		s.reply(req, protocol.SetConfigOptionResponse{ConfigOptions: list})
		return nil, nil
	})
	return nil
}

// choose takes one choice. It blocks on nothing.
func (l *liveSession) choose(p protocol.SetConfigOptionRequest) *protocol.Error {
	known := false
	for _, o := range configOptions(l.agent) {
		if sel, ok := o.(protocol.SelectOption); ok && sel.ID == p.ConfigID {
			known = true
		}
	}
	if !known {
		return invalidValue("unknown config option " + quoted(p.ConfigID))
	}
	if p.Bool != nil {
		return invalidValue("config option " + p.ConfigID + " is a select; boolean values are not accepted")
	}
	err := agent.ErrUnknownValue
	switch p.ConfigID {
	case optionModel:
		if provider, id, ok := parseModelValue(p.Value); ok {
			err = l.agent.SetModel(provider, id)
		}
	case optionMode:
		if p.Value == modeDefault || p.Value == modePlan {
			l.agent.SetPlanning(p.Value == modePlan)
			err = nil
		}
	case optionPermission:
		err = l.agent.SetPreset(p.Value)
	case optionTools:
		err = l.agent.SetToolMode(registry.Mode(p.Value))
	case optionThought:
		word := p.Value
		if word == defaultEffort {
			word = ""
		}
		if p.Value != "" {
			err = l.agent.SetEffort(word)
		}
	}
	switch {
	case errors.Is(err, agent.ErrUnknownValue):
		return invalidValue("unknown " + p.ConfigID + " value " + quoted(p.Value))
	case err != nil:
		return protocol.InternalError(err.Error())
	}
	return nil
}

// invalidValue is the error for a value that is not offered.
func invalidValue(what string) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeInvalidParams, Message: "Invalid params: " + what}
}

// optionsSeen remembers that the client has got these options. The caller holds
// viewMu.
func (l *liveSession) optionsSeen(list []protocol.ConfigOption) {
	l.shownOptions, _ = json.Marshal(list) // plain data always marshals
}

// sendMode tells the client the mode. The caller holds viewMu.
func (l *liveSession) sendMode() {
	l.shownMode = modeID(l.agent.Settings().Planning)
	l.server.update(l.agent.SessionID(), protocol.CurrentMode{CurrentModeID: l.shownMode})
}

// sendOptions tells the client all options. The caller holds viewMu.
func (l *liveSession) sendOptions() {
	list := configOptions(l.agent)
	l.optionsSeen(list)
	l.server.update(l.agent.SessionID(), protocol.ConfigOptions{ConfigOptions: list})
}

// syncView tells the client what changed of the mode and the options since it
// was last told, because the agent itself or a command has changed it.
func (l *liveSession) syncView() {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	if modeID(l.agent.Settings().Planning) != l.shownMode {
		l.sendMode()
	}
	if now, _ := json.Marshal(configOptions(l.agent)); !bytes.Equal(now, l.shownOptions) {
		l.sendOptions()
	}
}

// followModels sends the options again when the lists of models have come after
// the answer and say more than it did. It ends with the session.
func (l *liveSession) followModels() {
	l.server.workers.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		known := make(chan bool, 1)
		var fetch sync.WaitGroup
		fetch.Go(func() { known <- l.agent.Catalogue().Fetch(ctx) })
		defer fetch.Wait()
		defer cancel()
		select {
		case <-l.done:
		case <-known:
			l.syncView()
		}
	})
}
