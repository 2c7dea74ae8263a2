// Package plan has the tool exit_plan_mode: the model presents a plan, the user
// reviews it, and only then the work begins.
package plan

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/elicit"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools/ask"
)

// Name is the tool's name.
const Name = "exit_plan_mode"

var (
	//go:embed plan.md
	description string
	//go:embed mode.md
	modeText string
)

// ModeText is what the model is told while plan mode is on.
func ModeText() string { return strings.TrimSpace(modeText) }

// Planner is the agent whose plan mode the tool ends.
type Planner interface {
	// Planning says whether plan mode is on.
	Planning() bool
	// PlanApproved ends plan mode with the step that runs.
	PlanApproved()
}

const (
	approve      = "Approve"
	keepPlanning = "Keep planning"
)

// Register adds the tool to a scope.
func Register(scope *registry.Scope) error {
	_, err := scope.Register(Definition())
	return err
}

// Definition is the exit_plan_mode tool. It works for agents that are
// [Planner]s and can put questions to their user.
func Definition() registry.Definition {
	return registry.Definition{
		Name:        Name,
		Description: strings.TrimSpace(description),
		Parameters: schema.Params{
			schema.Required("plan", schema.String("The whole plan, in Markdown, beginning with a # heading.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("approved", schema.Boolean("Always true: a plan that was not approved is an error.").WithConst(true)),
			)),
			Render: func(_, _ jsonvalue.Value) ([]content.Block, error) {
				return []content.Block{content.Text("Plan approved — plan mode exited; carry out the plan starting with your next step.")}, nil
			},
		},
		Execute:       execute,
		PresentCall:   presentCall,
		PresentResult: presentResult,
	}
}

func execute(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	exec := run.Execution()
	planner, ok := exec.Agent().(Planner)
	if !ok || !planner.Planning() {
		return jsonvalue.Value{}, errors.New("exit_plan_mode is only available in plan mode")
	}
	text := args.GetString("plan")
	if !strings.HasPrefix(strings.TrimSpace(text), "#") {
		return jsonvalue.Value{}, errors.New("exit_plan_mode requires a non-empty markdown plan starting with a # heading")
	}
	a, err := ask.Ask(ctx, exec, elicit.Question{
		Header: "Plan review", Text: "Approve this plan and leave plan mode?", Detail: text,
		Options: []elicit.Option{
			{Label: approve, Description: "Leave plan mode; the plan is carried out from the next step."},
			{Label: keepPlanning, Description: "Stay in plan mode; feedback goes back to the model."},
		},
	})
	if err != nil {
		return jsonvalue.Value{}, reviewError(err)
	}
	if a.Custom != "" {
		return jsonvalue.Value{}, review("The user chose to keep planning; their feedback: " + a.Custom)
	}
	if len(a.Selected) != 1 || a.Selected[0] != approve {
		return jsonvalue.Value{}, kept
	}
	planner.PlanApproved()
	return jsonvalue.Object(jsonvalue.Member{Key: "approved", Value: jsonvalue.Bool(true)}), nil
}

// review is a verdict that the model reads as a sentence.
type review string

// Error is the sentence.
func (r review) Error() string { return string(r) }

const kept = review("The user chose to keep planning; revise the plan and present it again.")

// reviewError says what a review that did not come about means. A dismissed
// review is no approval.
func reviewError(err error) error {
	var coded pipeline.CodedError
	if errors.As(err, &coded) {
		switch coded.Code() {
		case ask.CodeNoChannel, ask.CodeNoAgent:
			return pipeline.NewError(coded.ErrorName(), coded.Code(), "no user-interaction channel is available to review the plan; ask the user to switch the session mode instead")
		case ask.CodeCancelled, ask.CodeNoAnswer:
			return kept
		}
	}
	return err
}

func presentCall(args jsonvalue.Value) *cards.Call {
	text := args.GetString("plan")
	return &cards.Call{
		Card: cards.Generic, Kind: cards.KindOther, Title: heading(text),
		Content: []content.Block{content.Text(text)},
	}
}

func presentResult(_ jsonvalue.Value, r cards.ResultInput) *cards.Result {
	return &cards.Result{Card: cards.Generic, Title: "Plan review", Content: r.Content}
}

// heading is the text of the plan's first heading.
func heading(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		title := strings.TrimLeft(line, "#")
		if level := len(line) - len(title); level == 0 || level > 6 || !strings.HasPrefix(title, " ") && !strings.HasPrefix(title, "\t") {
			continue
		}
		if title = strings.TrimSpace(title); title != "" {
			return title
		}
	}
	return "Plan"
}

// mustSchema converts the literal of the output schema.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic("plan: the output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}
