package pipeline_test

import (
	"context"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// FuzzArguments sends whatever text a model might write through the pipeline.
// The call always ends with one result that the log can take; the body sees
// only valid arguments, and exactly those of the text.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"path":"a"}`, `{"path":"a","extra":[1,{"b":null}]}`, `{"path":1}`, `{"path":"a","n":-0}`,
		`{"path":"a","path":"b"}`, `{"path":"a","n":1e999}`, `{"path":"\ud800"}`, "not json", `"text"`, "[", "null",
		"{\"path\":\"\u2028\"}", `{"path":"a","n":123456789012345678901234567890}`, "\xff", `{"path":"a"}x`, "\ufeff{}",
	} {
		f.Add(seed)
	}
	reg, err := registry.New(registry.Options{})
	must(f, err)
	p, err := pipeline.New(reg, pipeline.Options{})
	must(f, err)
	var reached []jsonvalue.Value
	echo := func(name string) registry.Definition {
		return registry.Definition{
			Name: name,
			Output: registry.Output{
				Schema: jsonvalue.Object(),
				Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
					return []content.Block{content.Text(v.String())}, nil
				},
			},
			Execute: func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
				reached = append(reached, args)
				return args, nil
			},
		}
	}
	typed := echo("typed")
	typed.Parameters = schema.Params{schema.Required("path", schema.String("")), schema.Optional("n", schema.Number(""))}
	register(f, reg.Global(), typed)
	raw := echo("raw")
	raw.RawParameters = jsonvalue.Object()
	register(f, reg.Global(), raw)

	f.Fuzz(func(t *testing.T, text string) {
		want, parseErr := pipeline.ParseArguments(text)
		for _, name := range []string{"typed", "raw", "unknown"} {
			reached = nil
			observed := 0
			dispose, err := p.OnResult(reg.Global(), func(e *registry.Execution, r *pipeline.Result) { observed++ })
			must(t, err)
			call := pipeline.Call{ID: "1", Name: name, RawArguments: text}
			p.Classify(call)
			r := p.Execute(context.Background(), call)
			dispose()
			if observed != 1 {
				t.Fatalf("%d results", observed)
			}
			if err := r.CheckLossless(); err != nil {
				t.Fatalf("the log cannot take the result: %v", err)
			}
			if _, err := jsonvalue.ParseLossless(r.ToValue().JSON()); err != nil {
				t.Fatalf("the result does not survive: %v", err)
			}
			if len(reached) > 1 || len(reached) == 1 && r.IsError() || len(reached) == 0 && !r.IsError() {
				t.Fatalf("the body ran %d times: %s", len(reached), r.ToValue())
			}
			if len(reached) == 0 {
				continue
			}
			if parseErr != nil || !reached[0].Equal(want) {
				t.Fatalf("the body got %s, the text is %q: %v", reached[0], text, parseErr)
			}
			if _, ok := reached[0].Get("path").Str(); name == "typed" && !ok {
				t.Fatalf("invalid arguments reached the body: %s", reached[0])
			}
		}
	})
}

// FuzzDecisions reads what a hook might answer: only an exact allow allows.
func FuzzDecisions(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"allow"}`, `{"kind":"deny","reason":"x"}`, `{"kind":"ask"}`, `{"kind":"ask","reason":"x"}`, `{"kind":"allow","reason":"x"}`,
		`null`, `[]`, `true`, `{"kind":"accept","content":[{"type":"text","text":"x"}]}`, `{"kind":"block","feedback":[],"additionalContexts":["x"]}`,
		`{"kind":"accept","value":1}`, `{"content":[],"isError":false}`, `{"content":[],"isError":true,"error":{"message":1}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := jsonvalue.ParseString(text)
		if err != nil {
			return
		}
		d, err := pipeline.DecisionFromValue(v)
		if exact := v.String() == `{"kind":"allow"}`; d.IsAllow() != exact || exact != (d.IsAllow() && err == nil) {
			t.Fatalf("%s allows: %v, %v", text, d.IsAllow(), err)
		}
		if err != nil && (d.IsDeny() || d.IsAsk()) {
			t.Fatalf("%s is refused and decides", text)
		}
		if pd, err := pipeline.PostDecisionFromValue(v); err != nil && (pd.IsAccept() || pd.IsBlock()) {
			t.Fatalf("%s is refused and decides", text)
		}
		if r, err := registry.ResultFromValue(v); (err == nil) != (r != nil) {
			t.Fatalf("%s: %v, %v", text, r, err)
		}
		if _, err := registry.VerdictFromValue(v); err != nil {
			return
		}
	})
}
