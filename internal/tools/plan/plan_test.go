package plan

import (
	"context"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/elicit"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// planner is an agent whose user answers the review.
type planner struct {
	scope    *registry.Scope
	planning bool
	answer   elicit.Answer
	err      error
	asked    []elicit.Question
	approved bool
}

func (p *planner) AgentID() string        { return "a" }
func (p *planner) Scope() *registry.Scope { return p.scope }
func (p *planner) Planning() bool         { return p.planning }
func (p *planner) PlanApproved()          { p.approved = true }

func (p *planner) Elicit(_ context.Context, _, _ string, q elicit.Question) (elicit.Answer, error) {
	p.asked = append(p.asked, q)
	return p.answer, p.err
}

func TestReview(t *testing.T) {
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
	const kept = "Error: The user chose to keep planning; revise the plan and present it again."
	for _, tt := range []struct {
		name string
		p    planner
		plan string
		want string
		asks int
	}{
		{"approved", planner{planning: true, answer: elicit.Answer{Selected: []string{"Approve"}}}, "# P\n1. x", "Plan approved — plan mode exited; carry out the plan starting with your next step.", 1},
		{"kept", planner{planning: true, answer: elicit.Answer{Selected: []string{"Keep planning"}}}, "# P", kept, 1},
		{"both", planner{planning: true, answer: elicit.Answer{Selected: []string{"Approve", "Keep planning"}}}, "# P", kept, 1},
		{"feedback", planner{planning: true, answer: elicit.Answer{Custom: "smaller steps"}}, "# P", "Error: The user chose to keep planning; their feedback: smaller steps", 1},
		{"feedback and approval", planner{planning: true, answer: elicit.Answer{Selected: []string{"Approve"}, Custom: "but not x"}}, "# P", "Error: The user chose to keep planning; their feedback: but not x", 1},
		{"dismissed", planner{planning: true, err: elicit.ErrDismissed}, "# P", kept, 1},
		{"accepted without a choice", planner{planning: true, err: elicit.ErrNoAnswer}, "# P", kept, 1},
		{"nobody there", planner{planning: true, err: elicit.ErrNoChannel}, "# P", "Error: no user-interaction channel is available to review the plan; ask the user to switch the session mode instead", 1},
		{"client fails", planner{planning: true, err: elicit.ErrFailed}, "# P", "Error: ACP elicitation request failed", 1},
		{"not planning", planner{}, "# P", "Error: exit_plan_mode is only available in plan mode", 0},
		{"no heading", planner{planning: true}, "do it", "Error: exit_plan_mode requires a non-empty markdown plan starting with a # heading", 0},
		{"empty", planner{planning: true}, " \n", "Error: exit_plan_mode requires a non-empty markdown plan starting with a # heading", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.p
			p.scope = reg.Global()
			r := pipe.Execute(t.Context(), pipeline.Call{
				ID: "c", Name: Name, Agent: &p, Arguments: jsonvalue.MustFromGo(map[string]any{"plan": tt.plan}),
			})
			if r.Text() != tt.want || len(p.asked) != tt.asks || p.approved != (tt.name == "approved") {
				t.Errorf("%q, asked %v, approved %v", r.Text(), p.asked, p.approved)
			}
			for _, q := range p.asked {
				if q.Detail != tt.plan || q.Header != "Plan review" || q.Text != "Approve this plan and leave plan mode?" || len(q.Options) != 2 {
					t.Errorf("the question: %+v", q)
				}
			}
		})
	}
}

func TestCards(t *testing.T) {
	for text, want := range map[string]string{
		"# Fix the typo\n\n1. x": "Fix the typo",
		"intro\n\n### Later ":    "Later",
		"#tag\n##\n# Real":       "Real",
		"####### seven":          "Plan",
		"no heading":             "Plan",
		"":                       "Plan",
	} {
		c := presentCall(jsonvalue.MustFromGo(map[string]any{"plan": text}))
		if c.Title != want || c.Card != cards.Generic || c.Kind != cards.KindOther || content.JoinText(c.Content) != text {
			t.Errorf("%q: %+v", text, c)
		}
	}
	r := presentResult(jsonvalue.Object(), cards.ResultInput{IsError: true, Content: []content.Block{content.Text("no")}})
	if r.Title != "Plan review" || content.JoinText(r.Content) != "no" {
		t.Errorf("%+v", r)
	}
}
