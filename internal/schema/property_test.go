package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema/foreign"
)

// Valid specs convert, their conversion is in the subset, the JSON form of the
// vocabulary reads back as the same spec, and our walker agrees with a full
// JSON Schema implementation about every value.
func TestSpecsAgreeWithJSONSchema(t *testing.T) {
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := Params(genProperties(3).Draw(t, "params"))
		s, err := p.JSONSchema()
		if err != nil {
			t.Fatal(err)
		}
		form, err := p.Value()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParamsFromValue(form)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := back.JSONSchema(); err != nil || again.String() != s.String() {
			t.Fatalf("%s\nreads back as %s, %v", s, again, err)
		}
		ours, err := CompileParams(p)
		if err != nil {
			t.Fatal(err)
		}
		subset, err := CompileObject(s)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := foreign.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			v := genMatching(t, s, 4)
			got, want := ours.ValidateArgs(v), theirs.Validate(v)
			if (got == nil) != (want == nil) {
				t.Fatalf("schema %s\nvalue %s\nours   %q\ntheirs %q", s, v, got, want)
			}
			if again := ours.ValidateArgs(v); !slices.Equal(got, again) {
				t.Fatalf("not the same twice: %q, %q", got, again)
			}
			if labelled := subset.Validate(v, "value"); len(labelled) != len(got) {
				t.Fatalf("as arguments %q, as a value %q", got, labelled)
			}
			if got == nil {
				valid++
			} else {
				invalid++
			}
		}
	})
	if valid < 20 || invalid < 20 {
		t.Errorf("%d valid and %d invalid values: the generators have become useless", valid, invalid)
	}
}

// genMatching makes a value that follows the schema in most places.
func genMatching(t *rapid.T, s jsonvalue.Value, depth int) jsonvalue.Value {
	if depth == 0 || rapid.IntRange(0, 9).Draw(t, "stray") == 0 {
		return genValue(1).Draw(t, "any")
	}
	if e := s.Get("enum"); e.Len() > 0 {
		return e.At(rapid.IntRange(0, e.Len()-1).Draw(t, "member"))
	}
	if o := s.Get("oneOf"); o.Len() > 0 {
		return genMatching(t, o.At(rapid.IntRange(0, o.Len()-1).Draw(t, "branch")), depth)
	}
	switch s.GetString("type") {
	case "object":
		v := jsonvalue.Object()
		for name, p := range s.Get("properties").Members() {
			if rapid.IntRange(0, 4).Draw(t, "present") > 0 {
				v = v.With(name, genMatching(t, p, depth-1))
			}
		}
		if rapid.IntRange(0, 4).Draw(t, "extra") == 0 {
			v = v.With("c", jsonvalue.Int(1))
		}
		return v
	case "array":
		var vs []jsonvalue.Value
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			vs = append(vs, genMatching(t, s.Get("items"), depth-1))
		}
		return jsonvalue.Array(vs...)
	case "string":
		return jsonvalue.String("a")
	case "number", "integer":
		return jsonvalue.Int(1)
	case "boolean":
		return jsonvalue.Bool(true)
	}
	return jsonvalue.Null()
}

// Schemas and values nest as deep as memory allows (rule R10.4).
func TestDeepSchemas(t *testing.T) {
	const depth = 9_000
	s, err := deepSpec(depth).JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	val, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := val.Validate(parse(t, deepText(depth, "1")), "value"); got != nil {
		t.Errorf("%d violations of a valid deep value", len(got))
	}
	got := val.Validate(parse(t, deepText(depth, `"x"`)), "value")
	if len(got) != 1 || !strings.HasSuffix(got[0], `[0]" must be an integer`) || !strings.HasPrefix(got[0], `"value.a[0].a[0]`) {
		t.Errorf("%d violations", len(got))
	}

	// Nested unions, each of which must look below to decide.
	text := `{"type":"integer"}`
	for range 5_000 {
		text = `{"oneOf":[{"type":"string"},{"type":"array","items":` + text + `}]}`
	}
	val, err = Compile(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	nested := strings.Repeat("[", 5_000) + "1" + strings.Repeat("]", 5_000)
	if got := val.Validate(parse(t, nested), "value"); got != nil {
		t.Errorf("unions: %q", got)
	}
	bad := strings.Replace(nested, "1", "true", 1)
	if got := val.Validate(parse(t, bad), "value"); len(got) != 1 || got[0] != `"value" must match exactly one oneOf branch (matched 0)` {
		t.Errorf("unions: %d violations", len(got))
	}

	// Violations of a deep schema name their place.
	bad = strings.Repeat(`{"type":"array","items":`, 5_000) + `{"type":"x"}` + strings.Repeat("}", 5_000)
	if err := AssertSupported(parse(t, bad)); err == nil || !strings.Contains(err.Error(), "schema.items.items") {
		t.Error("a deep violation is not found")
	}
	if _, err := deepSpec(maxAuthorDepth + 10).JSONSchema(); err == nil {
		t.Error("an author spec without end is accepted")
	}
}

// A schema or value that is wrong at every one of many levels costs bounded
// time and text.
func TestViolationsAreBounded(t *testing.T) {
	const depth = 100_000
	check := func(name string, got []string) {
		t.Helper()
		size := 0
		for _, s := range got {
			size += len(s)
		}
		if n := len(got); n < 10 || got[n-1] != "further violations are not listed" || size > maxViolationText+100 {
			t.Errorf("%s: %d violations of %d bytes", name, n, size)
		}
	}
	err := AssertSupported(parse(t, strings.Repeat(`{"type":"array","x":1,"items":`, depth)+`{}`+strings.Repeat("}", depth)))
	var u *UnsupportedError
	if !errors.As(err, &u) {
		t.Fatal(err)
	}
	check("schema", u.Violations)
	val, err := Compile(parse(t, strings.Repeat(`{"type":"object","additionalProperties":false,"properties":{"b":{"type":"string"},"a":`, depth)+`{}`+strings.Repeat("}}", depth)))
	if err != nil {
		t.Fatal(err)
	}
	check("value", val.Validate(parse(t, strings.Repeat(`{"b":1,"a":`, depth)+`1`+strings.Repeat("}", depth)), "value"))
	check("extra", val.Validate(parse(t, `{"z`+strings.Repeat("z", maxViolationText/11)+`":1`+extraKeys(20)+`}`), "value"))
}

func extraKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d%s":1`, i, strings.Repeat("z", maxViolationText/11))
	}
	return b.String()
}

// A valid value is checked without allocating, and validators are shared.
func TestValidatorsAreCheapAndShared(t *testing.T) {
	val, err := CompileParams(benchParams())
	if err != nil {
		t.Fatal(err)
	}
	args := benchArgs(t, 50)
	// Under the race detector pools drop what they hold at random: the best of
	// several runs counts.
	best := 1e9
	for range 10 {
		best = min(best, testing.AllocsPerRun(20, func() {
			if val.ValidateArgs(args) != nil {
				t.Error("invalid")
			}
		}))
	}
	if best > 0 {
		t.Errorf("%v allocations for a valid value", best)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := val.ValidateArgs(args.With("edits", jsonvalue.Int(1))); len(got) != 1 {
				t.Errorf("%q", got)
			}
		})
	}
	wg.Wait()
}

func TestConstructors(t *testing.T) {
	p := Params{
		Required("path", String("Where")),
		Optional("limit", Integer("How many").WithDefault(10).WithTitle("Limit")),
		Optional("mode", Enum("How", "fast", "slow").WithExamples("fast")),
		Optional("tags", Array("", String(""))),
		Optional("opts", ClosedObject("Options", Required("deep", Boolean("")), Optional("any", JSON("")))),
		Optional("more", OpenObject("")),
		Optional("either", OneOf("One", Number(""), Null(""), String("").WithConst("x"))),
		{Name: "literal", Spec: Spec{Type: TypeString, Description: "As a literal"}},
	}
	const want = `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"Where"},` +
		`"limit":{"type":"integer","description":"How many","title":"Limit","default":10},` +
		`"mode":{"type":"string","description":"How","examples":["fast"],"enum":["fast","slow"]},` +
		`"tags":{"type":"array","items":{"type":"string"}},` +
		`"opts":{"type":"object","description":"Options","additionalProperties":false,"properties":{"deep":{"type":"boolean"},"any":{}},"required":["deep"]},` +
		`"more":{"type":"object","additionalProperties":true},` +
		`"either":{"oneOf":[{"type":"number"},{"type":"null"},{"type":"string","const":"x"}],"description":"One"},` +
		`"literal":{"type":"string","description":"As a literal"}},"required":["path"]}`
	s, err := p.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	if s.String() != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if _, err := (Params{Required("a", String("")), Optional("a", Null(""))}).JSONSchema(); err == nil || err.Error() != "unsupported JSON schema: parameters.a is declared twice" {
		t.Errorf("a name twice: %v", err)
	}
	if _, err := CompileParams(Params{Optional("a", Spec{Type: TypeObject})}); err == nil {
		t.Error("an object without openness compiles")
	}
}

func TestCheck(t *testing.T) {
	val, err := CompileParams(Params{Required("a", String("")), Required("b", Null(""))})
	if err != nil {
		t.Fatal(err)
	}
	err = val.Check(parse(t, `{}`))
	if err == nil || err.Error() != `invalid arguments: missing required property "a"; missing required property "b"` {
		t.Errorf("%v", err)
	}
	if err := val.Check(parse(t, `{"a":"x","b":null}`)); err != nil {
		t.Errorf("%v", err)
	}
	// Arguments that are absent altogether are no object either.
	if got := val.ValidateArgs(jsonvalue.Value{}); !slices.Equal(got, []string{`"arguments" must be an object`}) {
		t.Errorf("%q", got)
	}
}
