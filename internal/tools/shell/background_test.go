package shell

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/sandbox"
	"github.com/dsh-acp/dsh-acp/internal/tools/jobs"
)

// background is a fixture whose tool starts jobs.
func background(t *testing.T, opts Options) (*fixture, *jobs.Manager) {
	t.Helper()
	m := jobs.New(jobs.Options{})
	opts.Jobs = m
	f := setup(t, opts)
	if err := jobs.Register(f.reg.Global(), m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f, m
}

func (f *fixture) tool2(name string, args map[string]any) string {
	f.t.Helper()
	tool, ok := f.reg.Global().Get(name)
	if !ok {
		f.t.Fatal("no " + name)
	}
	a := jsonvalue.MustFromGo(args)
	exec, err := f.reg.Begin(registry.ExecutionSpec{CallID: "t", Name: name, Arguments: a, Agent: f.agent})
	if err != nil {
		f.t.Fatal(err)
	}
	v, err := tool.Execute(f.t.Context(), a, &fakeRun{exec: exec})
	if err != nil {
		return "Error: " + err.Error()
	}
	blocks, err := tool.Render(a, v)
	if err != nil {
		f.t.Fatal(err)
	}
	return content.JoinText(blocks)
}

func TestACommandInTheBackground(t *testing.T) {
	f, _ := background(t, Options{})
	for command, want := range map[string]string{
		"echo out; echo err >&2; exit 3": "out\nerr\n[status: failed, exit code: 3]",
		"echo done":                      "done\n[status: completed, exit code: 0]",
		"kill -KILL $$":                  "(no new output)\n[status: failed, signal: SIGKILL]",
	} {
		v, _, err := f.call(t.Context(), map[string]any{"command": command, "run_in_background": true})
		if err != nil {
			t.Fatal(err)
		}
		id := v.GetString("taskId")
		if v.String() != `{"kind":"background","taskId":"`+id+`"}` || f.text(v) != "started background task "+id {
			t.Errorf("value %s, text %q", v, f.text(v))
		}
		got := f.tool2("task_output", map[string]any{"task_id": id, "wait": true})
		if got != want && got != strings.Replace(want, "out\nerr\n", "err\nout\n", 1) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestTimeOfACommandInTheBackground(t *testing.T) {
	f, _ := background(t, Options{DefaultTimeout: 50 * time.Millisecond})
	v, _, err := f.call(t.Context(), map[string]any{"command": "sleep 0.3; echo no limit", "run_in_background": true})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.tool2("task_output", map[string]any{"task_id": v.GetString("taskId"), "wait": true}); got != "no limit\n[status: completed, exit code: 0]" {
		t.Errorf("%q", got)
	}
	v, _, err = f.call(t.Context(), map[string]any{"command": "sleep 100", "run_in_background": true, "timeoutMs": 100})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.tool2("task_output", map[string]any{"task_id": v.GetString("taskId"), "wait": true}); got != "(no new output)\n[status: failed, timed out after 100ms, signal: SIGTERM]" {
		t.Errorf("%q", got)
	}
}

func TestWhatDoesNotStartInTheBackground(t *testing.T) {
	f, _ := background(t, Options{Confine: func(*registry.Execution) (*sandbox.Run, error) {
		return &sandbox.Run{Wrap: func(s *proc.Spec) (func(), error) {
			s.Args = append([]string{"/no/such/launcher"}, s.Args...)
			return nil, nil
		}}, nil
	}})
	if _, _, err := f.call(t.Context(), map[string]any{"command": "echo x", "run_in_background": true}); err == nil || !strings.Contains(err.Error(), "cannot start") {
		t.Errorf("%v", err)
	}
	if got := f.tool2("task_list", nil); got != "(no background tasks)" {
		t.Errorf("%q", got)
	}
}

// Where there is nobody to keep jobs the parameter is not offered, and a program
// that passes it all the same is told.
func TestWithoutJobs(t *testing.T) {
	f := setup(t, Options{})
	if strings.Contains(f.tool.Parameters().String()+f.tool.Description()+f.tool.OutputSchema().String(), "background task") {
		t.Error("it is offered")
	}
	if _, _, err := f.call(t.Context(), map[string]any{"command": "echo x", "run_in_background": true}); err == nil {
		t.Error("it ran")
	}
}

func TestBackgroundCards(t *testing.T) {
	f, _ := background(t, Options{})
	args := jsonvalue.MustFromGo(map[string]any{"command": "npm run dev", "description": "Serve", "run_in_background": true})
	c := f.tool.PresentCall(args)
	if c.Card != cards.Generic || c.Kind != cards.KindExecute || c.Title != "npm run dev" || c.RawInput.String() != `"npm run dev"` || content.JoinText(c.Content) != "Serve" {
		t.Errorf("%+v", c)
	}
	r := f.tool.PresentResult(args, cards.ResultInput{Content: []content.Block{content.Text("started background task bash_1")}})
	if r.Card != cards.Generic || content.JoinText(r.Content) != "```console\nstarted background task bash_1\n```" {
		t.Errorf("%+v", r)
	}
}
