package registry_test

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// What a result writes as JSON it reads back.
func TestResultRoundTrip(t *testing.T) {
	ctx := registry.Context{
		Content: []content.Block{content.Text("c")}, Source: jsonvalue.MustFromGo(map[string]any{"kind": "plugin"}), Meta: jsonvalue.Int(1),
	}
	for _, spec := range []registry.ResultSpec{
		{Content: []content.Block{content.Text("x")}, Value: jsonvalue.Int(1), Meta: jsonvalue.Null(), ConcludesTurn: true, Contexts: []registry.Context{ctx, {}}},
		{Content: []content.Block{content.Text("x")}, IsError: true, Error: registry.ErrorInfo{Message: "m", Name: "N", Code: "C"}},
		{IsError: true, Error: registry.ErrorInfo{Message: "m"}},
		{},
	} {
		r := registry.NewResult(spec)
		back, err := registry.ResultFromValue(r.ToValue())
		if err != nil {
			t.Errorf("%s: %v", r.ToValue(), err)
			continue
		}
		if !back.ToValue().Equal(r.ToValue()) {
			t.Errorf("wrote %s\nread  %s", r.ToValue(), back.ToValue())
		}
		if err := r.CheckLossless(); err != nil {
			t.Error(err)
		}
	}
}

func TestResultFromValueFailsClosed(t *testing.T) {
	const shape = "tools/execute must return a ToolExecutionResult with content[] and boolean isError"
	for text, want := range map[string]string{
		`{}`:                                shape,
		`null`:                              shape,
		`{"content":[]}`:                    shape,
		`{"content":[],"isError":0}`:        shape,
		`{"content":"x","isError":false}`:   shape,
		`{"content":["x"],"isError":false}`: shape,
		`{"content":[],"isError":false,"additionalContexts":{}}`:  "additionalContexts must be a list of {content, source?, meta?} objects or texts",
		`{"content":[],"isError":false,"additionalContexts":[1]}`: "additionalContexts must be a list of {content, source?, meta?} objects or texts",
	} {
		v, err := jsonvalue.ParseString(text)
		must(t, err)
		if r, err := registry.ResultFromValue(v); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
	// A failure without a message still says something.
	v, err := jsonvalue.ParseString(`{"content":[{"type":"text","text":"a"},{"type":"image"}],"isError":true}`)
	must(t, err)
	r, err := registry.ResultFromValue(v)
	must(t, err)
	if m := r.ErrorInfo().Message; m != "a\n[image content]" {
		t.Errorf("%q", m)
	}
}

func TestLossyResults(t *testing.T) {
	bad, err := jsonvalue.ParseString("-0")
	must(t, err)
	block, err := content.FromValue(jsonvalue.Object(
		jsonvalue.Member{Key: "type", Value: jsonvalue.String("x")}, jsonvalue.Member{Key: "n", Value: bad}))
	must(t, err)
	for name, spec := range map[string]registry.ResultSpec{
		"content": {Content: []content.Block{block}},
		"value":   {Value: bad},
		"meta":    {Meta: bad},
		"context": {Contexts: []registry.Context{{Content: []content.Block{block}}}},
		"source":  {Contexts: []registry.Context{{Source: bad}}},
	} {
		if registry.NewResult(spec).CheckLossless() == nil {
			t.Errorf("a lossy %s passes", name)
		}
	}
}

func TestVerdictFromValue(t *testing.T) {
	for text, want := range map[string]string{
		"5": "number", "true": "boolean", "null": "object", "[]": "object", "{}": "object",
	} {
		v, err := jsonvalue.ParseString(text)
		must(t, err)
		_, err = registry.VerdictFromValue(v)
		if full := "tools.guard() must return a denial string or undefined, got " + want; err == nil || err.Error() != full {
			t.Errorf("%s: %v", text, err)
		}
	}
	if v, err := registry.VerdictFromValue(jsonvalue.String("")); err != nil {
		t.Error(err)
	} else if _, vetoed := v.Vetoed(); !vetoed {
		t.Error("an empty reason does not deny")
	}
	if v, err := registry.VerdictFromValue(jsonvalue.Value{}); err != nil {
		t.Error(err)
	} else if _, vetoed := v.Vetoed(); vetoed {
		t.Error("nothing denies")
	}
}

func TestSees(t *testing.T) {
	g := newRegistry(t, registry.Options{}).Global()
	a, b := g.Child("a"), g.Child("b")
	child := a.Child("child")
	for _, c := range []struct {
		who, whom *registry.Scope
		want      bool
	}{{child, g, true}, {child, a, true}, {child, child, true}, {child, b, false}, {a, child, false}, {g, a, false}} {
		if got := c.who.Sees(c.whom); got != c.want {
			t.Errorf("%s sees %s: %v", c.who.Label(), c.whom.Label(), got)
		}
	}
}
