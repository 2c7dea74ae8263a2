// Package ask has the tool ask_user_question: the model's questions to the user.
package ask

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/elicit"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// Name is the tool's name.
const Name = "ask_user_question"

// The codes of the tool's failures.
const (
	CodeNoAgent    = "NO_AGENT"      // the call belongs to no agent
	CodeNoChannel  = "NO_CHANNEL"    // nobody can be asked, or not this
	CodeAskFailed  = "ASK_FAILED"    // the client failed
	CodeCancelled  = "ASK_CANCELLED" // the user dismissed the question
	CodeNoAnswer   = "NO_ANSWER"     // the user accepted and said nothing
	CodeAskAborted = "ASK_ABORTED"   // the turn was cancelled meanwhile
)

//go:embed ask.md
var description string

// Register adds the tool to a scope.
func Register(scope *registry.Scope) error {
	_, err := scope.Register(Definition())
	return err
}

// Definition is the ask_user_question tool. It asks through the
// [elicit.Elicitor] that the call's agent is.
func Definition() registry.Definition {
	return registry.Definition{
		Name:        Name,
		Description: strings.TrimSpace(description),
		Parameters: schema.Params{
			schema.Required("questions", schema.Array("The questions, in the order in which to ask them.", schema.OpenObject("",
				schema.Required("id", schema.String("Names the question in the result.")),
				schema.Required("question", schema.String("The whole question.")),
				schema.Optional("header", schema.String("A heading of one to three words.")),
				schema.Optional("options", schema.Array("Answers to choose from.", schema.OpenObject("",
					schema.Required("label", schema.String("The answer, in a few words.")),
					schema.Optional("description", schema.String("What choosing it means.")),
				))),
				schema.Optional("multi_select", schema.Boolean("Whether several options may be chosen.")),
			))),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("answers", schema.Array("One entry a question.", schema.ClosedObject("",
					schema.Required("id", schema.String("The question's id.")),
					schema.Required("selected", schema.Array("The labels that were chosen.", schema.String(""))),
					schema.Optional("custom", schema.String("The user's own words.")),
				))),
			)),
			Render: func(_, value jsonvalue.Value) ([]content.Block, error) {
				return []content.Block{content.Text(value.String())}, nil
			},
		},
		Execute: execute,
	}
}

func execute(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	questions := args.Get("questions")
	if questions.Len() == 0 {
		return jsonvalue.Value{}, errors.New("ask_user_question requires at least one question")
	}
	if err := check(questions); err != nil {
		return jsonvalue.Value{}, err
	}
	var answers []jsonvalue.Value
	for _, q := range questions.Elements() {
		a, err := Ask(ctx, run.Execution(), question(q))
		if err != nil {
			return jsonvalue.Value{}, err
		}
		answers = append(answers, answerValue(q.GetString("id"), a))
	}
	return jsonvalue.Object(jsonvalue.Member{Key: "answers", Value: jsonvalue.Array(answers...)}), nil
}

// check refuses what the user could not answer so that the model knows what was
// meant: before the first question is shown, since nobody likes to answer in vain.
func check(questions jsonvalue.Value) error {
	ids := map[string]bool{}
	for _, q := range questions.Elements() {
		id := q.GetString("id")
		switch {
		case strings.TrimSpace(q.GetString("question")) == "":
			return errors.New("invalid question: `question` must be a non-empty string")
		case strings.TrimSpace(id) == "":
			return errors.New("invalid question: `id` must be a non-empty string")
		case ids[id]:
			return fmt.Errorf("invalid questions: duplicate id %q", id)
		}
		ids[id] = true
		labels := map[string]bool{}
		for _, o := range q.Get("options").Elements() {
			label := strings.TrimSpace(o.GetString("label"))
			switch {
			case label == "":
				return fmt.Errorf("invalid question %q: `label` must be a non-empty string", id)
			case labels[label]:
				return fmt.Errorf("invalid question %q: duplicate label %q", id, label)
			}
			labels[label] = true
		}
	}
	return nil
}

// Ask puts one question to the user of the call's agent. Failures are the coded
// errors that the model reads; it is an error, too, when the agent has no way to
// its user.
func Ask(ctx context.Context, exec *registry.Execution, q elicit.Question) (elicit.Answer, error) {
	if exec.Agent() == nil {
		return elicit.Answer{}, failure(CodeNoAgent, "ACP user questions must come from an agent-owned request")
	}
	who, ok := exec.Agent().(elicit.Elicitor)
	if !ok {
		return elicit.Answer{}, failure(CodeNoChannel, "no user-interaction provider is registered")
	}
	a, err := who.Elicit(ctx, exec.CallID(), exec.RootCallID(), q)
	switch {
	case ctx.Err() != nil: // a late answer changes nothing
		return elicit.Answer{}, failure(CodeAskAborted, "ask_user_question was aborted before the user answered")
	case errors.Is(err, elicit.ErrNoChannel):
		return elicit.Answer{}, failure(CodeNoChannel, "the user's editor cannot show this question, so it was not asked: go on with what you know, or ask in your answer and end the turn")
	case errors.Is(err, elicit.ErrDismissed):
		return elicit.Answer{}, failure(CodeCancelled, "ask_user_question was cancelled by the user")
	case errors.Is(err, elicit.ErrUnanswered):
		return elicit.Answer{}, failure(CodeNoAnswer, "nobody answered the question in time, so it was withdrawn; nobody declined it: go on with what you know, or ask in your answer and end the turn")
	case errors.Is(err, elicit.ErrNoAnswer):
		return elicit.Answer{}, failure(CodeNoAnswer, "ask_user_question returned no answer")
	case err != nil:
		return elicit.Answer{}, failure(CodeAskFailed, "ACP elicitation request failed")
	}
	return a, nil
}

func failure(code, text string) error { return pipeline.NewError("UserQuestionError", code, text) }

func question(v jsonvalue.Value) elicit.Question {
	q := elicit.Question{Text: v.GetString("question"), Header: v.GetString("header")}
	q.Multi, _ = v.Get("multi_select").Bool()
	for _, o := range v.Get("options").Elements() {
		q.Options = append(q.Options, elicit.Option{Label: o.GetString("label"), Description: o.GetString("description")})
	}
	return q
}

func answerValue(id string, a elicit.Answer) jsonvalue.Value {
	selected := make([]jsonvalue.Value, len(a.Selected))
	for i, s := range a.Selected {
		selected[i] = jsonvalue.String(s)
	}
	v := jsonvalue.Object(
		jsonvalue.Member{Key: "id", Value: jsonvalue.String(id)},
		jsonvalue.Member{Key: "selected", Value: jsonvalue.Array(selected...)},
	)
	if a.Custom != "" {
		v = v.With("custom", jsonvalue.String(a.Custom))
	}
	return v
}

// mustSchema converts the literal of the output schema.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic(fmt.Sprintf("ask: the output schema is wrong: %v", err)) // a literal; tests build it
	}
	return v
}
