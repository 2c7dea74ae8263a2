// Package todo has the tool todo_write: the model's list of what it has to do,
// which the user sees as the session's plan.
package todo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// Name is the tool's name.
const Name = "todo_write"

// eventType is the session event that carries a list.
const eventType = "todo/write"

//go:embed todo.md
var description string

// Register adds the tool to a scope.
func Register(scope *registry.Scope) error {
	_, err := scope.Register(Definition())
	return err
}

// Definition is the todo_write tool. A call writes the session event
// todo/write, which an editor shows as the plan, before its result.
func Definition() registry.Definition {
	item := func(object func(string, ...schema.Property) schema.Spec) schema.Spec {
		return object("One thing to do.",
			schema.Required("content", schema.String("What is to be done.")),
			schema.Required("status", schema.Enum("How far it is.", "pending", "in_progress", "completed")),
		)
	}
	count := func(of string) schema.Spec { return schema.Integer("How many items are " + of + ".") }
	return registry.Definition{
		Name:        Name,
		Description: strings.TrimSpace(description),
		Parameters: schema.Params{
			schema.Required("todos", schema.Array("The whole list, in the order of the work.", item(schema.OpenObject))),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("todos", schema.Array("The list as it is now.", item(schema.ClosedObject))),
				schema.Required("counts", schema.ClosedObject("How many items are in each state.",
					schema.Required("pending", count("pending")),
					schema.Required("inProgress", count("in progress")),
					schema.Required("completed", count("completed")),
				)),
			)),
			Render: render,
		},
		Execute:     execute,
		PresentCall: presentCall,
	}
}

func execute(_ context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	todos, counts, err := parse(args.Get("todos"))
	if err != nil {
		return jsonvalue.Value{}, err
	}
	if run.Execution().Agent() == nil {
		return jsonvalue.Value{}, errors.New("todo_write requires an owning agent session")
	}
	if err := run.Emit(eventType, jsonvalue.Object(jsonvalue.Member{Key: "todos", Value: todos})); err != nil {
		return jsonvalue.Value{}, fmt.Errorf("todo_write requires an owning agent session: %w", err)
	}
	return jsonvalue.Object(
		jsonvalue.Member{Key: "todos", Value: todos},
		jsonvalue.Member{Key: "counts", Value: counts},
	), nil
}

// parse checks a list and drops what does not belong to its items.
func parse(list jsonvalue.Value) (todos, counts jsonvalue.Value, err error) {
	seen := map[string]bool{}
	in := map[string]int64{}
	var items []jsonvalue.Value
	for _, t := range list.Elements() {
		text, status := strings.TrimSpace(t.GetString("content")), t.GetString("status")
		switch {
		case text == "":
			return todos, counts, errors.New("invalid todo: `content` must be a non-empty string")
		case seen[text]:
			return todos, counts, fmt.Errorf("invalid todos: duplicate content %s", jsonvalue.String(text))
		}
		seen[text] = true
		in[status]++
		items = append(items, jsonvalue.Object(
			jsonvalue.Member{Key: "content", Value: jsonvalue.String(text)},
			jsonvalue.Member{Key: "status", Value: jsonvalue.String(status)},
		))
	}
	if n := in["in_progress"]; n > 1 {
		return todos, counts, fmt.Errorf("invalid todos: at most one task may be in_progress, got %d", n)
	}
	return jsonvalue.Array(items...), jsonvalue.Object(
		jsonvalue.Member{Key: "pending", Value: jsonvalue.Int(in["pending"])},
		jsonvalue.Member{Key: "inProgress", Value: jsonvalue.Int(in["in_progress"])},
		jsonvalue.Member{Key: "completed", Value: jsonvalue.Int(in["completed"])},
	), nil
}

func render(_, value jsonvalue.Value) ([]content.Block, error) {
	n := func(key string) int64 {
		i, _ := value.Get("counts").Get(key).Int64()
		return i
	}
	return []content.Block{content.Text(fmt.Sprintf("Updated todo list: %d pending, %d in progress, %d completed.",
		n("pending"), n("inProgress"), n("completed")))}, nil
}

func presentCall(args jsonvalue.Value) *cards.Call {
	return &cards.Call{Card: cards.Generic, Kind: cards.KindOther, Title: "Update todo list", RawInput: args.Get("todos")}
}

// mustSchema converts the literal of the output schema.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic("todo: the output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}
