package todo

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

var update = flag.Bool("update", false, "rewrite the golden file")

type agent struct{ scope *registry.Scope }

func (a agent) AgentID() string        { return "a" }
func (a agent) Scope() *registry.Scope { return a.scope }

// world calls the tool through the pipeline and keeps the events.
type world struct {
	reg    *registry.Registry
	pipe   *pipeline.Pipeline
	events []string
}

func newWorld(t *testing.T) *world {
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
	return &world{reg: reg, pipe: pipe}
}

func (w *world) call(args string) *registry.Result {
	return w.pipe.Execute(context.Background(), pipeline.Call{
		ID: "c", Name: Name, RawArguments: args, Agent: agent{w.reg.Global()},
		Emit: func(typ string, data jsonvalue.Value) error {
			w.events = append(w.events, typ+" "+data.String())
			return nil
		},
	})
}

func TestAListIsLoggedAndCounted(t *testing.T) {
	w := newWorld(t)
	r := w.call(`{"todos":[{"content":" read the code ","status":"in_progress","extra":1},{"content":"write the fix","status":"pending"},{"content":"plan","status":"completed"}]}`)
	if r.IsError() || r.Text() != "Updated todo list: 1 pending, 1 in progress, 1 completed." {
		t.Errorf("%v %q", r.IsError(), r.Text())
	}
	const list = `{"todos":[{"content":"read the code","status":"in_progress"},{"content":"write the fix","status":"pending"},{"content":"plan","status":"completed"}]`
	if len(w.events) != 1 || w.events[0] != "todo/write "+list+"}" {
		t.Errorf("events %q", w.events)
	}
	if want := list + `,"counts":{"pending":1,"inProgress":1,"completed":1}}`; r.Value().String() != want {
		t.Errorf("value %s, want %s", r.Value(), want)
	}
	if r := w.call(`{"todos":[]}`); r.IsError() || w.events[1] != `todo/write {"todos":[]}` {
		t.Errorf("an empty list: %q %q", r.Text(), w.events)
	}
}

func TestListsThatAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		`{"todos":[{"content":"  ","status":"pending"}]}`:                                                     "Error: invalid todo: `content` must be a non-empty string",
		`{"todos":[{"content":"a","status":"pending"},{"content":" a","status":"completed"}]}`:                `Error: invalid todos: duplicate content "a"`,
		`{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"}]}`:           "Error: invalid todos: at most one task may be in_progress, got 2",
		`{"todos":[{"content":"say \"hi\"","status":"pending"},{"content":"say \"hi\"","status":"pending"}]}`: `Error: invalid todos: duplicate content "say \"hi\""`,
	} {
		w := newWorld(t)
		if r := w.call(args); !r.IsError() || r.Text() != want || len(w.events) != 0 {
			t.Errorf("%s: %q, events %q; want %q", args, r.Text(), w.events, want)
		}
	}
	for _, args := range []string{`{}`, `{"todos":[{"content":"a"}]}`, `{"todos":[{"content":"a","status":"done"}]}`} {
		w := newWorld(t)
		if r := w.call(args); r.ErrorInfo().Code != pipeline.CodeInvalidArgs {
			t.Errorf("%s: %q", args, r.Text())
		}
	}
}

func TestWithoutASession(t *testing.T) {
	w := newWorld(t)
	r := w.pipe.Execute(t.Context(), pipeline.Call{ID: "c", Name: Name, RawArguments: `{"todos":[]}`})
	if r.Text() != "Error: todo_write requires an owning agent session" {
		t.Errorf("%q", r.Text())
	}
	r = w.pipe.Execute(t.Context(), pipeline.Call{
		ID: "c", Name: Name, RawArguments: `{"todos":[]}`, Agent: agent{w.reg.Global()},
		Emit: func(string, jsonvalue.Value) error { return errors.New("the disk is full") },
	})
	if !r.IsError() || r.Text() != "Error: todo_write requires an owning agent session: the disk is full" {
		t.Errorf("%q", r.Text())
	}
}

func TestCard(t *testing.T) {
	w := newWorld(t)
	tool, _ := w.reg.Global().Get(Name)
	args := jsonvalue.MustFromGo(map[string]any{"todos": []any{map[string]any{"content": "a", "status": "pending"}}})
	c := tool.PresentCall(args)
	if c == nil || c.Card != cards.Generic || c.Kind != cards.KindOther || c.Title != "Update todo list" || !c.RawInput.Equal(args.Get("todos")) {
		t.Errorf("%+v", c)
	}
}

// What the model is told is an interface: a change of it must be seen.
func TestDefinitionGolden(t *testing.T) {
	w := newWorld(t)
	tool, _ := w.reg.Global().Get(Name)
	got := []byte("# " + tool.Name() + "\n" + tool.Description() + "\n\nparameters " + tool.Parameters().String() + "\noutput " + tool.OutputSchema().String() + "\n")
	golden(t, "definition.golden", got)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s changed; run go test -update if that is meant:\n%s", name, got)
	}
}
