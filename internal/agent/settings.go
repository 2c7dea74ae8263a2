package agent

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// TypeToolMode records in the log how the model gets at the tools from here on:
// {mode}. It is this program's own addition to the recorded vocabulary.
const TypeToolMode = "tools/mode"

// Preset is a permission preset that a session can be switched to.
type Preset struct {
	Name, Description string
	Sandbox           string // the sandbox mode it stands for
	Approval          string // the approval policy it stands for
}

// Permissions is what decides about a session's calls, as far as it can be
// switched. It is safe for concurrent use.
type Permissions interface {
	// Presets lists what can be chosen, from strict to free.
	Presets() []Preset
	// Preset is the name of the one in force.
	Preset() string
	// SetPreset puts one of Presets in force for every call decided from now on.
	SetPreset(name string) error
	// SetPlanning switches what may change something off and on again.
	SetPlanning(on bool)
	// Rules are the configured rules, one a line, for people.
	Rules() []string
}

// Settings are what the user chose for a session: what holds from the next step
// on, whether that has begun or not.
type Settings struct {
	Provider, Model string
	Effort          string        // the thought level; "" is the model's own
	Preset          string        // "" when the session has no permissions to switch
	Planning        bool          // plan mode
	ToolMode        registry.Mode // how the model gets at the tools
}

// ErrUnknownValue is a choice that is not among those offered.
var ErrUnknownValue = errors.New("this value is not offered")

// choices are a session's settings: as they were written to the log last, and
// as they were chosen since. Guarded by Session.mu.
type choices struct {
	now, next Settings
	// sandbox and approval are the knobs of the preset that the log has.
	sandbox, approval string
	// approved: the plan was approved, which ends plan mode with the step and
	// needs no telling.
	approved bool
	// turnOpen: calls may be running.
	turnOpen bool
	// told is what the model was working under when it was last asked.
	told struct {
		asked    bool
		planning bool
		approval string
	}
}

// Settings gives what was chosen last.
func (s *Session) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set.next
}

// Planning says whether plan mode is on, or was switched on for the next step.
func (s *Session) Planning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set.now.Planning || s.set.next.Planning
}

// PlanState says whether plan mode is on, and whether it is from the next step on.
func (s *Session) PlanState() (active, next bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set.now.Planning, s.set.next.Planning
}

// Presets lists the permission presets that can be chosen.
func (s *Session) Presets() []Preset {
	if s.cfg.Permissions == nil {
		return nil
	}
	return s.cfg.Permissions.Presets()
}

// PermissionRules are the rules that decide before the preset, for people.
func (s *Session) PermissionRules() []string {
	if s.cfg.Permissions == nil {
		return nil
	}
	return s.cfg.Permissions.Rules()
}

// Grants is what was answered for longer than once; nil when nothing is
// remembered.
func (s *Session) Grants() Grants { return s.cfg.Grants }

// Models lists the models that can be chosen, as far as they are known. The
// current one is always among them.
func (s *Session) Models() []ProviderModels {
	set := s.Settings()
	var lists []ProviderModels
	found := false
	for _, l := range s.cfg.Catalogue.Known() {
		if l.Provider == set.Provider && !slices.ContainsFunc(l.Models, func(m model.Info) bool { return m.ID == set.Model }) {
			l.Models = append(l.Models, model.Info{ID: set.Model, Name: set.Model})
		}
		found = found || l.Provider == set.Provider
		if len(l.Models) > 0 {
			lists = append(lists, l)
		}
	}
	if !found {
		lists = append(lists, ProviderModels{Provider: set.Provider, Models: []model.Info{{ID: set.Model, Name: set.Model}}})
	}
	return lists
}

// Efforts lists the thought levels of the current model; none when it has no
// such levels.
func (s *Session) Efforts() []string {
	set := s.Settings()
	info, _ := s.cfg.Catalogue.info(set.Provider, set.Model)
	return info.Efforts
}

// ModelInfo is what is known of the current model: what it can hold, and whether
// it takes images. It never blocks.
func (s *Session) ModelInfo() model.Info {
	set := s.Settings()
	return s.describe(s.cfg.Catalogue.provider(set.Provider), set.Provider, set.Model)
}

// describe asks a provider that can say at once, else the catalogue.
func (s *Session) describe(p model.Provider, provider, id string) model.Info {
	if p == nil {
		p = s.cfg.Provider
	}
	listed, found := s.cfg.Catalogue.info(provider, id)
	if d, ok := p.(model.Describer); ok {
		info := d.Describe(id)
		if info.Name == "" {
			info.Name = listed.Name
		}
		if info.ContextWindow > 0 || !found {
			return info
		}
	}
	if !found {
		return model.Info{ID: id}
	}
	return listed
}

// Catalogue is where the session's models come from.
func (s *Session) Catalogue() *Catalogue { return s.cfg.Catalogue }

// SetModel switches the model from the next step on. It blocks on nothing.
func (s *Session) SetModel(provider, id string) error {
	for _, l := range s.Models() {
		if l.Provider == provider && slices.ContainsFunc(l.Models, func(m model.Info) bool { return m.ID == id }) {
			info, _ := s.cfg.Catalogue.info(provider, id)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.set.next.Provider, s.set.next.Model = provider, id
			if !slices.Contains(info.Efforts, s.set.next.Effort) {
				s.set.next.Effort = ""
			}
			return nil
		}
	}
	return ErrUnknownValue
}

// SetEffort switches the thought level from the next step on; "" is the model's
// own.
func (s *Session) SetEffort(word string) error {
	if word != "" && !slices.Contains(s.Efforts(), word) {
		return ErrUnknownValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.next.Effort = word
	return nil
}

// SetPreset switches the permission preset. A stricter one holds at once; any
// other from the next step on, so that no call is let through that was refused
// when the model asked for it.
func (s *Session) SetPreset(name string) error {
	presets := s.Presets()
	rank := func(name string) int { return slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name }) }
	if rank(name) < 0 {
		return ErrUnknownValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.next.Preset = name
	if !s.set.turnOpen || rank(name) < rank(s.cfg.Permissions.Preset()) {
		return s.cfg.Permissions.SetPreset(name)
	}
	return nil
}

// SetPlanning switches plan mode. What it forbids is forbidden at once, and
// allowed again with the next step.
func (s *Session) SetPlanning(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.next.Planning, s.set.approved = on, false
	if s.cfg.Permissions != nil && (on || !s.set.turnOpen) {
		s.cfg.Permissions.SetPlanning(on)
	}
}

// PlanApproved ends plan mode with the step that runs.
func (s *Session) PlanApproved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.next.Planning, s.set.approved = false, true
}

// SetToolMode switches how the model gets at the tools, from the next step on.
func (s *Session) SetToolMode(mode registry.Mode) error {
	if !slices.Contains(s.ToolModes(), mode) {
		return ErrUnknownValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.next.ToolMode = mode
	return nil
}

// ToolModes lists the tool modes that can be chosen.
func (s *Session) ToolModes() []registry.Mode {
	if s.cfg.PresentTools == nil {
		return nil
	}
	return []registry.Mode{registry.ModeNative, registry.ModeCode, registry.ModeBoth}
}

// settle puts what was chosen into force and gives the events that say so, and
// those that tell the model. It is called by the turn's goroutine between steps.
func (s *Session) settle() (events, told []session.Draft, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.set
	add := func(typ string, pairs ...any) {
		events = append(events, session.Draft{Type: typ, Data: session.Data(pairs...)})
	}
	if c.next.Preset != c.now.Preset {
		p := s.preset(c.next.Preset)
		add(session.TypePermissionPreset, "preset", p.Name)
		if p.Sandbox != c.sandbox {
			add(session.TypeSandboxMode, "mode", p.Sandbox)
		}
		if p.Approval != c.approval {
			add(session.TypeApprovalPolicy, "policy", p.Approval)
		}
		c.sandbox, c.approval = p.Sandbox, p.Approval
	}
	if c.next.Planning != c.now.Planning {
		add(session.TypePlanMode, "active", c.next.Planning)
	}
	if c.next.ToolMode != c.now.ToolMode {
		if err := s.cfg.PresentTools(c.next.ToolMode); err != nil {
			return nil, nil, err
		}
		add(TypeToolMode, "mode", string(c.next.ToolMode))
	}
	if s.cfg.Permissions != nil {
		if err := s.cfg.Permissions.SetPreset(c.next.Preset); err != nil {
			return nil, nil, err
		}
		s.cfg.Permissions.SetPlanning(c.next.Planning)
	}
	told = c.narrate()
	c.now, c.approved = c.next, false
	return events, told, nil
}

// narrate tells the model of what changed since it was last asked.
func (c *choices) narrate() (told []session.Draft) {
	if !c.told.asked {
		return nil
	}
	if c.told.approval != c.approval {
		told = append(told, narration("user-approval",
			fmt.Sprintf("The approval policy changed from %q to %q (changed by the user).", c.told.approval, c.approval)))
		c.told.approval = c.approval
	}
	if c.told.planning != c.next.Planning {
		text := "The user switched this session back to the default mode."
		if c.next.Planning {
			text = "The user switched this session to plan mode."
		}
		if !c.approved {
			told = append(told, narration("plan-mode", text))
		}
		c.told.planning = c.next.Planning
	}
	return told
}

func narration(plugin, text string) session.Draft {
	return contextDraft(registry.Context{
		Content: []content.Block{content.Text(text)}, Source: session.Data("kind", "plugin", "plugin", plugin),
	})
}

// approvedExit gives the event that ends plan mode after an approval, when no
// step follows in which settle would.
func (s *Session) approvedExit() (events []session.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.turnOpen = false
	if !s.set.approved {
		return nil
	}
	s.set.approved, s.set.now.Planning, s.set.told.planning = false, false, false
	if s.cfg.Permissions != nil {
		s.cfg.Permissions.SetPlanning(false)
	}
	return []session.Draft{{Type: session.TypePlanMode, Data: session.Data("active", false)}}
}

// target is what a step asks.
type target struct {
	provider model.Provider
	model    string
	effort   string
}

// target is what was settled last. Asking it is what the model then works under.
func (s *Session) target() target {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.set
	c.told.asked, c.told.planning, c.told.approval = true, c.now.Planning, c.approval
	t := target{provider: s.cfg.Catalogue.provider(c.now.Provider), model: c.now.Model, effort: c.now.Effort}
	if t.provider == nil {
		t.provider = s.cfg.Provider
	}
	return t
}

func (s *Session) preset(name string) Preset {
	for _, p := range s.Presets() {
		if p.Name == name {
			return p
		}
	}
	return Preset{Name: name}
}

// restore makes the settings of a log those of the session: the last of each
// kind. What the log does not say is as it was configured.
func (s *Session) restore(events []session.Event) error {
	c := &s.set
	c.now = Settings{Provider: s.cfg.Provider.ProviderID(), Model: s.cfg.Model, Effort: s.cfg.Effort, ToolMode: s.cfg.Scope.Mode()}
	if s.cfg.Permissions != nil {
		p := s.preset(s.cfg.Permissions.Preset())
		c.now.Preset, c.sandbox, c.approval = p.Name, p.Sandbox, p.Approval
	}
	mode := c.now.ToolMode
	for _, ev := range events {
		switch ev.Type {
		case session.TypeRequestHeader:
			cfg := ev.Data.Get("header").Get("config")
			if id := cfg.GetString("model"); id != "" && s.cfg.Catalogue.provider(cfg.GetString("provider")) != nil {
				c.now.Provider, c.now.Model, c.now.Effort = cfg.GetString("provider"), id, cfg.GetString("reasoningEffort")
			}
			c.told.asked, c.told.planning, c.told.approval = true, c.now.Planning, c.approval
		case session.TypeAssistantMessage:
			c.told.planning, c.told.approval = c.now.Planning, c.approval
		case session.TypePlanMode:
			c.now.Planning, _ = ev.Data.Get("active").Bool()
		case session.TypePermissionPreset:
			if name := ev.Data.GetString("preset"); slices.ContainsFunc(s.Presets(), func(p Preset) bool { return p.Name == name }) {
				c.now.Preset = name
			}
		case session.TypeSandboxMode:
			c.sandbox = ev.Data.GetString("mode")
		case session.TypeApprovalPolicy:
			c.approval = ev.Data.GetString("policy")
		case TypeToolMode:
			if m, err := registry.ParseMode(ev.Data.GetString("mode")); err == nil && s.cfg.PresentTools != nil {
				mode = m
			}
		}
	}
	c.now.Preset = s.matching(c.now.Preset)
	if mode != c.now.ToolMode {
		if err := s.cfg.PresentTools(mode); err != nil {
			return err
		}
		c.now.ToolMode = mode
	}
	c.next = c.now
	if s.cfg.Permissions == nil {
		return nil
	}
	s.cfg.Permissions.SetPlanning(c.now.Planning)
	return s.cfg.Permissions.SetPreset(c.now.Preset)
}

// matching is the preset that goes with the knobs of the log: the recorded one
// if they still are its own, else the first that has them, else the recorded one.
func (s *Session) matching(recorded string) string {
	fits := func(p Preset) bool { return p.Sandbox == s.set.sandbox && p.Approval == s.set.approval }
	if fits(s.preset(recorded)) {
		return recorded
	}
	for _, p := range s.Presets() {
		if fits(p) {
			return p.Name
		}
	}
	p := s.preset(recorded)
	s.set.sandbox, s.set.approval = p.Sandbox, p.Approval
	return recorded
}

// headerConfig is what the log keeps of a step's target.
func (t target) headerConfig() jsonvalue.Value {
	v := session.Data("provider", t.provider.ProviderID(), "model", t.model)
	if t.effort != "" {
		v = v.With("reasoningEffort", jsonvalue.String(t.effort))
	}
	return v
}
