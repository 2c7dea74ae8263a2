package ask

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/elicit"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// plain is an agent without a way to its user.
type plain struct{ scope *registry.Scope }

func (a plain) AgentID() string        { return "a" }
func (a plain) Scope() *registry.Scope { return a.scope }

// person is an agent whose user answers in turn.
type person struct {
	plain
	asked   []elicit.Question
	answers []any // elicit.Answer, error or nil to wait for the end
}

func (p *person) Elicit(ctx context.Context, _, _ string, q elicit.Question) (elicit.Answer, error) {
	p.asked = append(p.asked, q)
	switch a := p.answers[len(p.asked)-1].(type) {
	case elicit.Answer:
		return a, nil
	case error:
		return elicit.Answer{}, a
	}
	<-ctx.Done()
	return elicit.Answer{}, ctx.Err()
}

func setup(t *testing.T) (*pipeline.Pipeline, *registry.Scope) {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Register(reg.Global()); err != nil {
		t.Fatal(err)
	}
	pipe, err := pipeline.New(reg, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return pipe, reg.Global()
}

const twoQuestions = `{"questions":[
	{"id":"db","question":"Which database?","header":"Storage","options":[{"label":"SQLite","description":"one file"},{"label":"Postgres"}],"multi_select":true},
	{"id":"name","question":"What is it called?"}]}`

func TestEveryQuestionIsAskedInOrder(t *testing.T) {
	pipe, scope := setup(t)
	p := &person{plain: plain{scope}, answers: []any{elicit.Answer{Selected: []string{"SQLite", "Postgres"}}, elicit.Answer{Custom: "Fred"}}}
	r := pipe.Execute(t.Context(), pipeline.Call{ID: "c", Name: Name, RawArguments: twoQuestions, Agent: p})
	const want = `{"answers":[{"id":"db","selected":["SQLite","Postgres"]},{"id":"name","selected":[],"custom":"Fred"}]}`
	if r.IsError() || r.Text() != want || r.Value().String() != want {
		t.Errorf("%v %s", r.IsError(), r.Text())
	}
	wantQ := elicit.Question{
		Text: "Which database?", Header: "Storage", Multi: true,
		Options: []elicit.Option{{Label: "SQLite", Description: "one file"}, {Label: "Postgres"}},
	}
	if fmt.Sprint(p.asked) != fmt.Sprint([]elicit.Question{wantQ, {Text: "What is it called?"}}) {
		t.Errorf("asked %v", p.asked)
	}
}

func TestQuestionsThatAreNotAnswered(t *testing.T) {
	pipe, scope := setup(t)
	for _, tt := range []struct {
		answer     error
		code, want string
	}{
		{elicit.ErrDismissed, CodeCancelled, "ask_user_question was cancelled by the user"},
		{elicit.ErrNoAnswer, CodeNoAnswer, "ask_user_question returned no answer"},
		{elicit.ErrFailed, CodeAskFailed, "ACP elicitation request failed"},
		{errors.Join(elicit.ErrFailed, errors.New("why")), CodeAskFailed, "ACP elicitation request failed"},
		{elicit.ErrNoChannel, CodeNoChannel, "the user's editor cannot show this question, so it was not asked: go on with what you know, or ask in your answer and end the turn"},
	} {
		p := &person{plain: plain{scope}, answers: []any{tt.answer}}
		r := pipe.Execute(t.Context(), pipeline.Call{ID: "c", Name: Name, RawArguments: twoQuestions, Agent: p})
		if r.Text() != "Error: "+tt.want || r.ErrorInfo().Code != tt.code || len(p.asked) != 1 {
			t.Errorf("%v: %q %+v, asked %d", tt.answer, r.Text(), r.ErrorInfo(), len(p.asked))
		}
	}
	if r := pipe.Execute(t.Context(), pipeline.Call{ID: "c", Name: Name, RawArguments: twoQuestions}); r.ErrorInfo().Code != CodeNoAgent || r.Text() != "Error: ACP user questions must come from an agent-owned request" {
		t.Errorf("without an agent: %q", r.Text())
	}
	if r := pipe.Execute(t.Context(), pipeline.Call{ID: "c", Name: Name, RawArguments: twoQuestions, Agent: plain{scope}}); r.Text() != "Error: no user-interaction provider is registered" {
		t.Errorf("without a user: %q", r.Text())
	}
	for args, want := range map[string]string{
		`{"questions":[]}`:                                                    "Error: ask_user_question requires at least one question",
		`{"questions":[{"id":"a","question":" "}]}`:                           "Error: invalid question: `question` must be a non-empty string",
		`{"questions":[{"id":"a","question":"b"},{"id":"c","question":""}]}`:  "Error: invalid question: `question` must be a non-empty string",
		`{"questions":[{"id":" ","question":"b"}]}`:                           "Error: invalid question: `id` must be a non-empty string",
		`{"questions":[{"id":"a","question":"b"},{"id":"a","question":"c"}]}`: `Error: invalid questions: duplicate id "a"`,
		`{"questions":[{"id":"a","question":"b","options":[{"label":""}]}]}`:  "Error: invalid question \"a\": `label` must be a non-empty string",
		`{"questions":[{"id":"a","question":"b"},{"id":"c","question":"d","options":[{"label":"S"},{"label":"T"},{"label":" S"}]}]}`: `Error: invalid question "c": duplicate label "S"`,
	} {
		p := &person{plain: plain{scope}}
		if r := pipe.Execute(t.Context(), pipeline.Call{ID: "c", Name: Name, RawArguments: args, Agent: p}); r.Text() != want || len(p.asked) != 0 {
			t.Errorf("%s: %q", args, r.Text())
		}
	}
}

func TestACancelledTurnWithdrawsTheQuestion(t *testing.T) {
	_, scope := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := &person{plain: plain{scope}, answers: []any{nil}}
	exec, err := scope.Registry().Begin(registry.ExecutionSpec{CallID: "c", Name: Name, Agent: p})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = Ask(ctx, exec, elicit.Question{Text: "Well?"})
	var coded pipeline.CodedError
	if !errors.As(err, &coded) || coded.Code() != CodeAskAborted || err.Error() != "ask_user_question was aborted before the user answered" {
		t.Errorf("%v", err)
	}
}
