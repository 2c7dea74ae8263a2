package jobs

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// The limits of a wait.
const (
	defaultWait = 30 * time.Second
	maxWait     = 600 * time.Second
)

var (
	//go:embed task_output.md
	outputText string
	//go:embed task_list.md
	listText string
	//go:embed task_kill.md
	killText string
)

// Register adds the tools task_output, task_list and task_kill to a scope.
func Register(scope *registry.Scope, m *Manager) error {
	for _, d := range []registry.Definition{m.outputTool(), m.listTool(), m.killTool()} {
		if _, err := scope.Register(d); err != nil {
			return err
		}
	}
	return nil
}

func taskID() schema.Property {
	return schema.Required("task_id", schema.String("The task's id, as the call that started it gave it."))
}

func taskSchema() schema.Spec {
	return schema.ClosedObject("A background task.",
		schema.Required("id", schema.String("")),
		schema.Required("kind", schema.String("What it is, such as bash.")),
		schema.Required("label", schema.String("What it does.")),
		schema.Required("status", schema.Enum("", string(Running), string(Stopping), string(Completed), string(Killed), string(Failed))),
		schema.Optional("detail", schema.String("How it ended, such as exit code: 0.")),
		schema.Required("startedAt", schema.String("ISO 8601.")),
		schema.Optional("finishedAt", schema.String("ISO 8601.")),
	)
}

func (m *Manager) outputTool() registry.Definition {
	return registry.Definition{
		Name:        "task_output",
		Description: strings.TrimSpace(outputText),
		Parameters: schema.Params{
			taskID(),
			schema.Optional("wait", schema.Boolean("Whether to wait until the task has ended.")),
			schema.Optional("timeout_ms", schema.Number("How long to wait at most, in milliseconds; 30000 without it, at most 600000.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("text", schema.String("What the model reads.")),
				schema.Required("task", taskSchema()),
			)),
			Render: func(_, value jsonvalue.Value) ([]content.Block, error) {
				return []content.Block{content.Text(value.GetString("text"))}, nil
			},
			PresentationMeta: func(_, value jsonvalue.Value) (jsonvalue.Value, error) {
				task := value.Get("task")
				return jsonvalue.Object(member("taskId", task.GetString("id")), member("status", task.GetString("status"))), nil
			},
		},
		Execute: m.output,
		PresentCall: func(args jsonvalue.Value) *cards.Call {
			return call("Read output from background task "+args.GetString("task_id"), cards.KindRead, args.Get("task_id"))
		},
		PresentResult: presentOutput,
	}
}

func (m *Manager) output(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	limit := defaultWait
	if v := args.Get("timeout_ms"); !v.IsUndefined() {
		ms, ok := v.Float()
		if !ok || !(ms > 0) {
			return jsonvalue.Value{}, fmt.Errorf("invalid timeout_ms: expected a positive number, got %s", v.Canonical())
		}
		limit = time.Duration(math.Ceil(min(ms, float64(maxWait.Milliseconds())))) * time.Millisecond
	}
	j, err := m.find(run.Execution(), args.GetString("task_id"))
	if err != nil {
		return jsonvalue.Value{}, err
	}
	if wait, _ := args.Get("wait").Bool(); wait {
		if err := j.wait(ctx, limit); err != nil {
			return jsonvalue.Value{}, err
		}
	}
	text, lost, path, holds, task := j.read()
	var b strings.Builder
	if text == "" {
		text = "(no new output)"
	}
	b.WriteString(text)
	line := func(s string) {
		if !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(s)
	}
	if lost {
		if path == "" {
			path = "(unavailable)"
		}
		line("[some output was dropped from memory; " + holds + ": " + path + "]")
	}
	line(statusLine(task))
	return jsonvalue.Object(member("text", b.String()), jsonvalue.Member{Key: "task", Value: task}), nil
}

func (m *Manager) listTool() registry.Definition {
	return registry.Definition{
		Name:        "task_list",
		Description: strings.TrimSpace(listText),
		Parameters:  schema.Params{},
		Output: registry.Output{
			Schema: mustSchema(schema.Array("In the order of their start.", taskSchema())),
			Render: func(_, value jsonvalue.Value) ([]content.Block, error) {
				var lines []string
				for _, t := range value.Elements() {
					lines = append(lines, fmt.Sprintf("%s [%s] %s — %s", t.GetString("id"), t.GetString("kind"), t.GetString("status"), t.GetString("label")))
				}
				if lines == nil {
					lines = []string{"(no background tasks)"}
				}
				return []content.Block{content.Text(strings.Join(lines, "\n"))}, nil
			},
		},
		Execute: func(_ context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			list := []jsonvalue.Value{}
			for _, j := range m.list(run.Execution()) {
				list = append(list, j.task())
			}
			return jsonvalue.Array(list...), nil
		},
		PresentCall: func(jsonvalue.Value) *cards.Call {
			return call("List background tasks", cards.KindRead, jsonvalue.Value{})
		},
	}
}

func (m *Manager) killTool() registry.Definition {
	return registry.Definition{
		Name:        "task_kill",
		Description: strings.TrimSpace(killText),
		Parameters: schema.Params{
			taskID(),
			schema.Optional("reason", schema.String("Why, for the user to read.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("outcome", schema.Enum("", outcomeRequested, outcomeFinished)),
				schema.Required("task", taskSchema()),
			)),
			Render: func(_, value jsonvalue.Value) ([]content.Block, error) {
				task := value.Get("task")
				text := "requested cancellation of task " + task.GetString("id")
				if value.GetString("outcome") == outcomeFinished {
					text = "task " + task.GetString("id") + " had already finished " + statusLine(task)
				}
				return []content.Block{content.Text(text)}, nil
			},
		},
		Execute: func(_ context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			j, err := m.find(run.Execution(), args.GetString("task_id"))
			if err != nil {
				return jsonvalue.Value{}, err
			}
			outcome := outcomeFinished
			if j.kill() {
				outcome = outcomeRequested
			}
			return jsonvalue.Object(member("outcome", outcome), jsonvalue.Member{Key: "task", Value: j.task()}), nil
		},
		PresentCall: func(args jsonvalue.Value) *cards.Call {
			c := call("Kill background task "+args.GetString("task_id"), cards.KindExecute, args.Get("task_id"))
			if reason := args.GetString("reason"); reason != "" {
				c.Content = []content.Block{content.Text(reason)}
			}
			return c
		},
	}
}

// The outcomes of task_kill.
const (
	outcomeRequested = "cancellation-requested"
	outcomeFinished  = "already-finished"
)

func call(title string, kind cards.Kind, input jsonvalue.Value) *cards.Call {
	return &cards.Call{Card: cards.Generic, Title: title, Kind: kind, RawInput: input}
}

// presentOutput fences what a program printed, so that it is shown as it is.
func presentOutput(_ jsonvalue.Value, r cards.ResultInput) *cards.Result {
	if r.IsError {
		return nil
	}
	return &cards.Result{Card: cards.Generic, Content: []content.Block{content.Text(cards.Fence("console", content.JoinText(r.Content)))}}
}

// mustSchema converts the literal of an output schema.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic("jobs: an output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}

// Started is the value of a call that has started a job, and Text what the model
// reads of it.
func Started(taskID string) jsonvalue.Value {
	return jsonvalue.Object(member("kind", "background"), member("taskId", taskID))
}

// StartedText is what the model reads of a call that has started a job.
func StartedText(value jsonvalue.Value) string {
	return "started background task " + value.GetString("taskId")
}

// StartedSchema describes the value of such a call.
func StartedSchema() schema.Spec {
	return schema.ClosedObject("A command that runs in the background.",
		schema.Required("kind", schema.String("").WithConst("background")),
		schema.Required("taskId", schema.String("The id for task_output and task_kill.")),
	)
}

// ErrNoManager is why a call cannot start a job where there is nobody to keep it.
var ErrNoManager = errors.New("run_in_background is disabled for this deployment (enableRunInBackground: false)")
