package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// switches is a permission switch that remembers.
type switches struct {
	mu       sync.Mutex
	preset   string
	planning bool
}

func (*switches) Presets() []agent.Preset {
	return []agent.Preset{
		{Name: "strict", Sandbox: "ro", Approval: "ask"},
		{Name: "middle", Sandbox: "ws", Approval: "ask"},
		{Name: "free", Sandbox: "full", Approval: "never"},
	}
}
func (s *switches) Rules() []string { return nil }
func (s *switches) Preset() string  { s.mu.Lock(); defer s.mu.Unlock(); return s.preset }
func (s *switches) SetPreset(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.preset = name
	return nil
}
func (s *switches) SetPlanning(on bool) { s.mu.Lock(); defer s.mu.Unlock(); s.planning = on }

// brand is a provider with a catalogue of its own.
type brand struct {
	*scripted
	id     string
	models []model.Info
	err    error
}

func (b brand) ProviderID() string                           { return b.id }
func (b brand) Models(context.Context) ([]model.Info, error) { return b.models, b.err }

// events lists what the log has from one type on, with the data of the settings.
func (w *world) settingEvents(from int) []string {
	var out []string
	for _, ev := range w.log.Events()[from:] {
		switch ev.Type {
		case session.TypePermissionPreset, session.TypeSandboxMode, session.TypeApprovalPolicy, session.TypePlanMode, agent.TypeToolMode:
			out = append(out, ev.Type+" "+ev.Data.String())
		case session.TypeContextMessage:
			blocks, _ := content.ListFromValue(ev.Data.Get("content"))
			out = append(out, ev.Type+" "+content.JoinText(blocks))
		case session.TypeTurnStart, session.TypeStepStart, session.TypeUserMessage:
			out = append(out, ev.Type)
		}
	}
	return out
}

func expectEvents(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("events\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestChoicesWaitForThePromptAndAreLoggedWithIt(t *testing.T) {
	perms := &switches{preset: "free"}
	w := newWorld(t, agent.Config{Permissions: perms}, says("one"), says("two"), says("three"))
	for _, preset := range []string{"strict", "free", "middle"} { // the last word counts
		if err := w.s.SetPreset(preset); err != nil {
			t.Fatal(err)
		}
	}
	w.s.SetPlanning(true)
	if w.log.Len() != 0 || w.s.Settings().Preset != "middle" || perms.Preset() != "middle" || !perms.planning {
		t.Errorf("while idle: %d events, %+v, %+v", w.log.Len(), w.s.Settings(), perms)
	}
	w.prompt(t, "a")
	// Nothing was asked yet under other settings: the model need not be told.
	expectEvents(t, w.settingEvents(0), "turn/start", `permission/preset {"preset":"middle"}`, `sandbox/mode {"mode":"ws"}`,
		`approval/policy {"policy":"ask"}`, `plan/mode {"active":true}`, "user/message", "step/start")
	if ev := w.last(session.TypeTitle); ev.Data.Get("messageSeqs").String() != "[5]" {
		t.Errorf("the title cites %s", ev.Data.Get("messageSeqs"))
	}

	from := w.log.Len()
	_ = w.s.SetPreset("free")
	_ = w.s.SetPreset("middle") // back again: nothing changed
	w.s.SetPlanning(false)
	w.s.SetPlanning(true)
	w.prompt(t, "b")
	expectEvents(t, w.settingEvents(from), "turn/start", "user/message", "step/start")

	from = w.log.Len()
	_ = w.s.SetPreset("free")
	w.s.SetPlanning(false)
	w.prompt(t, "c")
	expectEvents(t, w.settingEvents(from), "turn/start", `permission/preset {"preset":"free"}`, `sandbox/mode {"mode":"full"}`,
		`approval/policy {"policy":"never"}`, `plan/mode {"active":false}`, "user/message",
		`context/message The approval policy changed from "ask" to "never" (changed by the user).`,
		"context/message The user switched this session back to the default mode.", "step/start")
}

func TestChoicesOfARunningTurnHoldFromTheNextStep(t *testing.T) {
	perms := &switches{preset: "middle"}
	var s *agent.Session
	w := newWorld(t, agent.Config{Permissions: perms, PlanPrompt: "make a plan"},
		callsTools(model.FinishToolCalls, "c1", "act", "{}"), callsTools(model.FinishToolCalls, "c2", "act", "{}"), says("done"))
	acts := []func(){
		func() { // freer: not before the step ends; stricter: at once
			_ = s.SetPreset("free")
			if perms.Preset() != "middle" || s.Settings().Preset != "free" {
				t.Errorf("freer in a step: %s, %+v", perms.Preset(), s.Settings())
			}
			s.SetPlanning(true)
			if !perms.planning {
				t.Error("plan mode does not hold at once")
			}
			s.SetPlanning(false)
			if !perms.planning {
				t.Error("plan mode ended within the step")
			}
		},
		func() {
			if perms.Preset() != "free" || perms.planning {
				t.Errorf("in the next step: %+v", perms)
			}
			_ = s.SetPreset("strict")
			if perms.Preset() != "strict" {
				t.Error("a stricter preset does not hold at once")
			}
			s.SetPlanning(true)
		},
	}
	_, err := w.reg.Global().Register(registry.Definition{
		Name: "act", Description: "act",
		Output: registry.Output{Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}), Render: func(_, _ jsonvalue.Value) ([]content.Block, error) { return nil, nil }},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			acts[0]()
			acts = acts[1:]
			return jsonvalue.String(""), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s = w.s
	w.prompt(t, "go")
	expectEvents(t, w.settingEvents(0), "turn/start", "user/message", "step/start",
		`permission/preset {"preset":"free"}`, `sandbox/mode {"mode":"full"}`, `approval/policy {"policy":"never"}`,
		`context/message The approval policy changed from "ask" to "never" (changed by the user).`, "step/start",
		`permission/preset {"preset":"strict"}`, `sandbox/mode {"mode":"ro"}`, `approval/policy {"policy":"ask"}`, `plan/mode {"active":true}`,
		`context/message The approval policy changed from "never" to "ask" (changed by the user).`,
		"context/message The user switched this session to plan mode.", "step/start")
	for i, want := range []bool{false, false, true} {
		if got := strings.Contains(w.model.requests[i].System, "make a plan"); got != want {
			t.Errorf("request %d: plan section %v", i+1, got)
		}
	}
}

func TestAnApprovedPlanEndsPlanModeWithTheStep(t *testing.T) {
	for _, last := range []bool{false, true} {
		perms := &switches{preset: "middle"}
		answers := []answer{callsTools(model.FinishToolCalls, "c1", "approve", "{}"), says("done")}
		var s *agent.Session
		w := newWorld(t, agent.Config{Permissions: perms}, answers...)
		_, err := w.reg.Global().Register(registry.Definition{
			Name: "approve", Description: "approve",
			Output: registry.Output{Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}), Render: func(_, _ jsonvalue.Value) ([]content.Block, error) { return nil, nil }},
			Execute: func(_ context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
				if !s.Planning() {
					t.Error("not planning")
				}
				s.PlanApproved()
				if !perms.planning {
					t.Error("calls of the same step may change things")
				}
				if last {
					run.ConcludeTurn()
				}
				return jsonvalue.String(""), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		s = w.s
		s.SetPlanning(true)
		w.prompt(t, "go")
		want := []string{"turn/start", `plan/mode {"active":true}`, "user/message", "step/start", `plan/mode {"active":false}`}
		if !last {
			want = append(want, "step/start")
		}
		expectEvents(t, w.settingEvents(0), want...) // and no narration
		if perms.planning || s.Planning() {
			t.Error("still planning")
		}
		from := w.log.Len()
		w.prompt(t, "again")
		expectEvents(t, w.settingEvents(from), "turn/start", "user/message", "step/start")
	}
}

func TestModelsAreSwitchedAtTheNextStep(t *testing.T) {
	w := newWorld(t, agent.Config{}, says("unused"))
	first := brand{&scripted{answers: []answer{says("1"), says("2")}}, "x", []model.Info{{ID: "a"}, {ID: "b", Efforts: []string{"low", "high"}}}, nil}
	other := brand{&scripted{answers: []answer{says("3")}}, "y", []model.Info{{ID: "a", Name: "A of y"}}, nil}
	broken := brand{&scripted{}, "z", nil, errors.New("no network")}
	cat := agent.NewCatalogue(nil, first, other, broken)
	defer cat.Close()
	log := session.NewMemory(session.Header{Cwd: "/work"}, session.Options{})
	s, err := agent.NewSession(agent.Config{Log: log, Provider: first, Model: "hidden", Pipeline: w.pipe, Scope: w.reg.Global().Child("models"), Catalogue: cat})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Models(); len(got) != 1 || got[0].Models[0].ID != "hidden" {
		t.Errorf("before the lists are there: %+v", got)
	}
	if cat.Fetch(t.Context()) {
		t.Error("a list that failed counts as known")
	}
	got := s.Models()
	if len(got) != 2 || got[0].Provider != "x" || len(got[0].Models) != 3 || got[0].Models[2].ID != "hidden" || got[1].Models[0].Title() != "A of y" {
		t.Errorf("%+v", got)
	}
	for _, bad := range [][2]string{{"x", "c"}, {"z", "a"}, {"", "a"}, {"y", "hidden"}} {
		if err := s.SetModel(bad[0], bad[1]); !errors.Is(err, agent.ErrUnknownValue) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	prompt := func() {
		if _, err := s.Prompt(t.Context(), []content.Block{content.Text("p")}); err != nil {
			t.Fatal(err)
		}
	}
	prompt()
	if err := s.SetEffort("high"); !errors.Is(err, agent.ErrUnknownValue) {
		t.Errorf("a level of a model that has none: %v", err)
	}
	_ = s.SetModel("x", "b")
	if err := s.SetEffort("high"); err != nil {
		t.Error(err)
	}
	prompt()
	_ = s.SetModel("y", "a")
	if set := s.Settings(); set.Effort != "" {
		t.Errorf("the level of another model stays: %+v", set)
	}
	prompt()
	if r := first.requests; len(r) != 2 || r[0].Model != "hidden" || r[1].Model != "b" || r[1].ReasoningEffort != "high" {
		t.Errorf("requests of x: %+v", r)
	}
	if r := other.requests; len(r) != 1 || r[0].Model != "a" || r[0].ReasoningEffort != "" {
		t.Errorf("requests of y: %+v", r)
	}
	var headers []string
	for _, ev := range log.Events() {
		switch ev.Type {
		case session.TypeRequestHeader:
			headers = append(headers, ev.Data.Get("header").Get("config").String())
		case session.TypeAssistantMessage:
			headers = append(headers, ev.Data.Get("provenance").String())
		}
	}
	want := `{"provider":"x","model":"hidden"} {"provider":"x","model":"hidden"} {"provider":"x","model":"b","reasoningEffort":"high"} {"provider":"x","model":"b"} {"provider":"y","model":"a"} {"provider":"y","model":"a"}`
	if strings.Join(headers, " ") != want {
		t.Errorf("logged %s", headers)
	}
	// A session of the same log goes on with the last one.
	again, err := agent.NewSession(agent.Config{Log: log, Provider: first, Model: "hidden", Pipeline: w.pipe, Scope: w.reg.Global().Child("again"), Catalogue: cat})
	if err != nil {
		t.Fatal(err)
	}
	if set := again.Settings(); set.Provider != "y" || set.Model != "a" {
		t.Errorf("%+v", set)
	}
}

func TestSettingsComeBackFromTheLog(t *testing.T) {
	type ev struct {
		typ  string
		data jsonvalue.Value
	}
	asked := ev{session.TypeRequestHeader, session.Data("header", session.Data("config", session.Data("provider", "scripted", "model", "old")))}
	for _, tt := range []struct {
		name   string
		events []ev
		want   agent.Settings
		told   string
	}{
		{"nothing", nil, agent.Settings{Provider: "scripted", Model: "m", Preset: "middle", ToolMode: "native"}, ""},
		{"all", []ev{
			{session.TypePermissionPreset, session.Data("preset", "free")},
			{session.TypeSandboxMode, session.Data("mode", "full")},
			{session.TypeApprovalPolicy, session.Data("policy", "never")},
			{session.TypePlanMode, session.Data("active", true)},
			{agent.TypeToolMode, session.Data("mode", "both")},
			asked,
		}, agent.Settings{Provider: "scripted", Model: "old", Preset: "free", Planning: true, ToolMode: "both"}, ""},
		{"knobs without their preset", []ev{{session.TypeSandboxMode, session.Data("mode", "ro")}}, agent.Settings{Provider: "scripted", Model: "m", Preset: "strict", ToolMode: "native"}, ""},
		{"knobs of no preset", []ev{{session.TypeSandboxMode, session.Data("mode", "custom")}}, agent.Settings{Provider: "scripted", Model: "m", Preset: "middle", ToolMode: "native"}, ""},
		{"an unknown preset", []ev{{session.TypePermissionPreset, session.Data("preset", "nonsense")}}, agent.Settings{Provider: "scripted", Model: "m", Preset: "middle", ToolMode: "native"}, ""},
		{"another provider", []ev{{session.TypeRequestHeader, session.Data("header", session.Data("config", session.Data("provider", "gone", "model", "old")))}}, agent.Settings{Provider: "scripted", Model: "m", Preset: "middle", ToolMode: "native"}, ""},
		{
			"changed after the last request",
			[]ev{asked, {session.TypePlanMode, session.Data("active", true)}},
			agent.Settings{Provider: "scripted", Model: "old", Preset: "middle", Planning: true, ToolMode: "native"},
			"The user switched this session to plan mode.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, agent.Config{}, says("ok"))
			log := session.NewMemory(session.Header{Cwd: "/work"}, session.Options{})
			for _, e := range tt.events {
				if _, err := log.Append(session.Draft{Type: e.typ, Data: e.data}); err != nil {
					t.Fatal(err)
				}
			}
			perms := &switches{preset: "middle"}
			var presented registry.Mode
			s, err := agent.NewSession(agent.Config{
				Log: log, Provider: w.model, Model: "m", Pipeline: w.pipe, Scope: w.reg.Global().Child("restored"), Permissions: perms,
				PresentTools: func(m registry.Mode) error { presented = m; return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Settings(); got != tt.want || perms.preset != tt.want.Preset || perms.planning != tt.want.Planning {
				t.Errorf("%+v, %+v; want %+v", got, perms, tt.want)
			}
			if tt.want.ToolMode != "native" && presented != tt.want.ToolMode {
				t.Errorf("presented as %q", presented)
			}
			if _, err := s.Prompt(t.Context(), []content.Block{content.Text("p")}); err != nil {
				t.Fatal(err)
			}
			told := ""
			for _, ev := range log.Events() {
				if ev.Type == session.TypeContextMessage {
					told += ev.Data.Get("content").At(0).GetString("text")
				}
			}
			if told != tt.told {
				t.Errorf("told %q, want %q", told, tt.told)
			}
		})
	}
}

func TestToolModesAreSwitchedBetweenSteps(t *testing.T) {
	var presented []registry.Mode
	fail := false
	w := newWorld(t, agent.Config{PresentTools: func(m registry.Mode) error {
		if fail {
			return errors.New("no worker")
		}
		presented = append(presented, m)
		return nil
	}}, says("a"), says("b"), says("c"))
	if err := w.s.SetToolMode("sideways"); !errors.Is(err, agent.ErrUnknownValue) {
		t.Error(err)
	}
	_ = w.s.SetToolMode(registry.ModeBoth)
	_ = w.s.SetToolMode(registry.ModeCode)
	if len(presented) != 0 {
		t.Errorf("presented at once: %v", presented)
	}
	w.prompt(t, "a")
	w.prompt(t, "b")
	if len(presented) != 1 || presented[0] != registry.ModeCode || w.last(agent.TypeToolMode).Data.GetString("mode") != "code" {
		t.Errorf("presented %v", presented)
	}
	fail = true
	_ = w.s.SetToolMode(registry.ModeNative)
	var turn *agent.TurnError
	if _, err := w.s.Prompt(t.Context(), []content.Block{content.Text("c")}); !errors.As(err, &turn) || turn.Message != "no worker" {
		t.Errorf("%v", err)
	}
}

// slowBrand lists its models when it is let.
type slowBrand struct {
	brand
	let chan struct{}
}

func (b slowBrand) Models(ctx context.Context) ([]model.Info, error) {
	select {
	case <-b.let:
		return b.models, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b slowBrand) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] { return nil }

// turningBrand lists old models, late, when it is asked first, and then new ones.
type turningBrand struct {
	brand
	began, first chan struct{}
	asked        atomic.Int32
}

func (b *turningBrand) Models(context.Context) ([]model.Info, error) {
	if b.asked.Add(1) == 1 {
		close(b.began)
		<-b.first
		return []model.Info{{ID: "old"}}, nil
	}
	return []model.Info{{ID: "new"}}, nil
}

func (b *turningBrand) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return nil
}

func TestNobodyWaitsForASlowCatalogue(t *testing.T) {
	b := slowBrand{brand{id: "slow", models: []model.Info{{ID: "m"}}}, make(chan struct{})}
	cat := agent.NewCatalogue(nil, b)
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if cat.Fetch(short) || len(cat.Known()[0].Models) != 0 {
		t.Error("known before it came")
	}
	close(b.let)
	if !cat.Fetch(t.Context()) || cat.Known()[0].Models[0].ID != "m" {
		t.Errorf("%+v", cat.Known())
	}
	cat.Close()

	// A list that was asked for before it was forgotten does not count when it comes.
	turned := &turningBrand{brand: brand{id: "turned"}, began: make(chan struct{}), first: make(chan struct{})}
	cat = agent.NewCatalogue(nil, turned)
	_ = cat.Fetch(short)
	<-turned.began
	cat.Forget()
	patient, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if !cat.Fetch(patient) {
		t.Error("not asked again")
	}
	close(turned.first)
	cat.Close()
	if got := cat.Known()[0].Models; len(got) != 1 || got[0].ID != "new" {
		t.Errorf("%+v", got)
	}

	never := agent.NewCatalogue(nil, slowBrand{brand{id: "never"}, make(chan struct{})})
	_ = never.Fetch(short)
	never.Close() // ends the fetch
}
