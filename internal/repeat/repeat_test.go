package repeat

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

type agent struct {
	id    string
	scope *registry.Scope
}

func (a agent) AgentID() string        { return a.id }
func (a agent) Scope() *registry.Scope { return a.scope }

type world struct {
	t     *testing.T
	guard Guard
	pipe  *pipeline.Pipeline
	scope *registry.Scope
	ran   int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, scope: reg.Global().Child("s")}
	if w.pipe, err = pipeline.New(reg, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	text := jsonvalue.MustFromGo(map[string]any{"type": "string"})
	for _, name := range []string{"a", "b", "outer"} {
		_, err := reg.Global().Register(registry.Definition{
			Name: name, Description: name, RawParameters: jsonvalue.MustFromGo(map[string]any{"type": "object"}),
			Output: registry.Output{Schema: text, Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
				s, _ := v.Str()
				return []content.Block{content.Text(s)}, nil
			}},
			Execute: func(ctx context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
				w.ran++
				if name == "outer" {
					for range 9 {
						r := w.pipe.Execute(ctx, pipeline.Call{ID: "n", Name: "a", RawArguments: "{}", Agent: run.Execution().Agent(), Parent: run.Execution().Token()})
						if len(r.Contexts()) > 0 {
							t.Error("a program is told about its loop")
						}
					}
				}
				return jsonvalue.String("done"), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.guard.Install(w.scope, w.pipe); err != nil {
		t.Fatal(err)
	}
	return w
}

// call reports the count that the model is told, 0 for nothing.
func (w *world) call(id, name, args string) int64 {
	w.t.Helper()
	r := w.pipe.Execute(context.Background(), pipeline.Call{ID: "c", Name: name, RawArguments: args, Agent: agent{id, w.scope}})
	cs := r.Contexts()
	if len(cs) == 0 {
		return 0
	}
	n, _ := cs[0].Meta.Get("count").Int64()
	if text := content.JoinText(cs[0].Content); !strings.Contains(text, `"`+name+`"`) || !strings.Contains(text, "times in a row") {
		w.t.Errorf("the text: %s", text)
	}
	return n
}

func TestTheModelIsTold(t *testing.T) {
	w := newWorld(t)
	var got []int64
	for range 12 {
		got = append(got, w.call("s", "a", `{"x":1}`))
	}
	if want := []int64{0, 0, 3, 0, 5, 0, 0, 8, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	if w.ran != 12 {
		t.Errorf("%d calls ran: the guard must not stop any", w.ran)
	}
}

func TestWhatIsARow(t *testing.T) {
	type call struct{ agent, name, args string }
	a, b := call{"s", "a", `{"x":1}`}, call{"s", "b", `{"x":1}`}
	for _, c := range []struct {
		name  string
		calls []call
		told  bool
	}{
		{"the same", []call{a, a, a}, true},
		{"written with spaces", []call{a, {"s", "a", `{ "x": 1.0 }`}, {"s", "a", `{"x":1e0}`}}, true},
		{"another tool between", []call{a, a, b, a}, false},
		{"other arguments between", []call{a, a, {"s", "a", `{"x":2}`}, a}, false},
		{"another agent between", []call{a, a, {"t", "a", `{"x":1}`}, {"t", "b", `{}`}, a}, true},
		{"agents count for themselves", []call{a, {"t", "a", `{"x":1}`}, a}, false},
		{"tools that do not exist", []call{{"s", "none", "{}"}, {"s", "none", "{}"}, {"s", "none", "{}"}}, true},
		{"arguments that are no JSON", []call{{"s", "a", "{"}, {"s", "a", "{"}, {"s", "a", "{"}}, true},
	} {
		w := newWorld(t)
		var last int64
		for _, k := range c.calls {
			last = w.call(k.agent, k.name, k.args)
		}
		if (last == 3) != c.told {
			t.Errorf("%s: told %d", c.name, last)
		}
	}
}

func TestAWordOfTheUserBeginsAfresh(t *testing.T) {
	w := newWorld(t)
	w.call("s", "a", "{}")
	w.call("s", "a", "{}")
	w.guard.Reset("s")
	if n := w.call("s", "a", "{}"); n != 0 {
		t.Errorf("told %d", n)
	}
}

func TestProgramsMayLoop(t *testing.T) {
	w := newWorld(t)
	w.call("s", "outer", "{}")
	if n := w.call("s", "outer", "{}"); n != 0 {
		t.Errorf("told %d", n)
	}
	if n := w.call("s", "outer", "{}"); n != 3 {
		t.Errorf("the same program three times: told %d", n)
	}
}
