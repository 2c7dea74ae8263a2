// Package subagent has the tools subagent and subagent_fork: a task that is
// handed to another session. Who runs that session is behind [Runner].
package subagent

import (
	"context"
	_ "embed" // the tools' descriptions
	"errors"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// The names of the tools.
const (
	Name     = "subagent"      // begins with nothing but its prompt
	ForkName = "subagent_fork" // begins with the conversation of the one who calls
)

//go:embed subagent.md
var description string

//go:embed fork.md
var forkDescription string

// Request is one task.
type Request struct {
	Call registry.Run
	// Fork: the session begins with the caller's conversation.
	Fork bool
	// Description is a title of a few words, Prompt the task. Neither is blank.
	Description, Prompt string
	// OutputSchema is the shape that the result must have; Undefined: any text.
	OutputSchema jsonvalue.Value
}

// Outcome is what came of a task.
type Outcome struct {
	RunID string // of the session that did it
	// Output is its last message.
	Output []content.Block
	// Value is the result where an OutputSchema was given; it has that shape.
	Value jsonvalue.Value
}

// Runner has another session do a task. Run returns when that session has ended,
// with everything it started; the end of ctx ends it.
type Runner interface {
	Run(ctx context.Context, r Request) (Outcome, error)
}

// Options configure the tools.
type Options struct {
	Runner Runner
	// Alone: calls never overlap with others.
	Alone bool
}

// Register adds both tools to a scope.
func Register(scope *registry.Scope, o Options) error {
	if o.Runner == nil {
		return errors.New("subagent: a runner is needed")
	}
	for _, d := range []registry.Definition{o.definition(Name, description, false), o.definition(ForkName, forkDescription, true)} {
		if _, err := scope.Register(d); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) definition(name, text string, fork bool) registry.Definition {
	return registry.Definition{
		Name:        name,
		Description: strings.TrimSpace(text),
		Parameters: schema.Params{
			schema.Required("description", schema.String("The task in three to six words; people see it.")),
			schema.Required("prompt", schema.String("The task, with everything that the subagent must know.")),
			schema.Optional("outputSchema", schema.JSON("A JSON Schema with an object root that the result must fit. Leave it out for a result in words.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("kind", schema.Enum("How it ran: foreground, to its end.", "foreground")),
				schema.Required("runId", schema.String("The id of the subagent's session.")),
				schema.Required("output", schema.Array("The content blocks of its last message.", schema.JSON(""))),
				schema.Optional("value", schema.JSON("The result, where outputSchema was given.")),
			)),
			Render: render,
		},
		Execute: func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			return o.execute(ctx, args, run, fork)
		},
		// Whether the work of two subagents overlaps is for whoever hands it out
		// to say: each call of theirs is decided by itself, and no file is
		// written that changed since its writer read it.
		ConcurrencySafe: func(jsonvalue.Value) bool { return !o.Alone },
	}
}

func (o Options) execute(ctx context.Context, args jsonvalue.Value, run registry.Run, fork bool) (jsonvalue.Value, error) {
	r := Request{
		Call: run, Fork: fork,
		Description: strings.TrimSpace(args.GetString("description")), Prompt: args.GetString("prompt"),
		OutputSchema: args.Get("outputSchema"),
	}
	switch {
	case r.Description == "":
		return jsonvalue.Value{}, errors.New("invalid description: expected a non-empty string")
	case strings.TrimSpace(r.Prompt) == "":
		return jsonvalue.Value{}, errors.New("invalid prompt: expected a non-empty string")
	}
	if r.OutputSchema.IsNull() {
		r.OutputSchema = jsonvalue.Value{}
	}
	if !r.OutputSchema.IsUndefined() {
		if err := schema.AssertObject(r.OutputSchema); err != nil {
			return jsonvalue.Value{}, err
		}
	}
	out, err := o.Runner.Run(ctx, r)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	v := jsonvalue.Object(
		jsonvalue.Member{Key: "kind", Value: jsonvalue.String("foreground")},
		jsonvalue.Member{Key: "runId", Value: jsonvalue.String(out.RunID)},
		jsonvalue.Member{Key: "output", Value: content.ToValue(out.Output)},
	)
	if !out.Value.IsUndefined() {
		v = v.With("value", out.Value)
	}
	return v, nil
}

// render gives the model the structured result, else the last message.
func render(_, value jsonvalue.Value) ([]content.Block, error) {
	if v := value.Get("value"); !v.IsUndefined() {
		return []content.Block{content.Text(v.String())}, nil
	}
	blocks, err := content.ListFromValue(value.Get("output"))
	if err != nil {
		return nil, err
	}
	text := content.JoinText(blocks)
	if strings.TrimSpace(text) == "" {
		text = "(the subagent ended without a message)"
	}
	return []content.Block{content.Text(text)}, nil
}

// mustSchema converts the literal of the output schema.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic("subagent: the output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}
