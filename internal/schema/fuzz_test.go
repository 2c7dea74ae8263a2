package schema

import (
	"errors"
	"slices"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema/foreign"
)

// FuzzSubset takes a schema and a value from outside: the checker must answer
// for any text, and for schemas it accepts our walker must agree with a full
// implementation.
func FuzzSubset(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"oneOf":[{"type":"integer"},{"type":"null"}]}}},"required":["a"],"additionalProperties":false}`, `{"a":[1,null,"x"],"b":2}`)
	f.Add(`{"type":"string","enum":["a"],"const":"a","title":1}`, `"a"`)
	f.Add(`{"oneOf":[{"type":"number"},{"type":"integer"}],"description":"d"}`, `1.5`)
	f.Add(`{"anyOf":[],"type":["x"]}`, `[]`)
	f.Add(`{"type":"number","enum":[1,1.0,1e0]}`, `1`)
	f.Fuzz(func(t *testing.T, schemaText, valueText string) {
		s, err := jsonvalue.Parse([]byte(schemaText))
		if err != nil {
			return
		}
		val, err := Compile(s)
		if e := AssertSupported(s); (e == nil) != (err == nil) {
			t.Fatalf("AssertSupported %v, Compile %v", e, err)
		}
		if err != nil {
			var u *UnsupportedError
			if !errors.As(err, &u) || len(u.Violations) == 0 {
				t.Fatalf("error %v lists nothing", err)
			}
			return
		}
		_, objErr := CompileObject(s)
		if isObject := s.GetString("type") == "object"; isObject != (objErr == nil) {
			t.Fatalf("object root %v: %v", isObject, objErr)
		}
		v, err := jsonvalue.ParseLossless([]byte(valueText))
		if err != nil {
			return
		}
		got := val.Validate(v, "value")
		if again := val.Validate(v, "value"); !slices.Equal(got, again) {
			t.Fatalf("%q, then %q", got, again)
		}
		if s.Depth() > 50 || v.Depth() > 50 || stricter(s) {
			return
		}
		theirs, err := foreign.Compile(s)
		if err != nil {
			t.Fatalf("the subset accepts what is no JSON Schema: %v", err)
		}
		if want := theirs.Validate(v); (got == nil) != (want == nil) {
			t.Fatalf("schema %s\nvalue %s\nours   %q\ntheirs %q", s, v, got, want)
		}
	})
}

// stricter reports whether s may be refused by JSON Schema's own rules although
// the subset takes it, as its reference does: an enum or required list that
// names something twice, examples that are no list.
func stricter(v jsonvalue.Value) bool {
	if e := v.Get("examples"); !e.IsUndefined() && !e.IsArray() {
		return true
	}
	for _, key := range []string{"enum", "required"} {
		list := elements(v.Get(key))
		for i := range list {
			if slices.ContainsFunc(list[:i], list[i].Equal) {
				return true
			}
		}
	}
	for i := range v.Len() {
		if stricter(v.At(i)) {
			return true
		}
	}
	return false
}

// FuzzConversion takes parameters in JSON form from outside: they convert or
// are refused with a reason, and what converts can be compiled and used.
func FuzzConversion(f *testing.F) {
	f.Add(`{"a":{"type":"string","required":true,"enum":["x"],"description":""},"o":{"type":"object","additionalProperties":false,"properties":{"n":{"oneOf":[{"type":"null"},{"type":"json"}]}}}}`, `{"a":"x","o":{"n":1}}`)
	f.Add(`{"l":{"type":"array","items":{"type":"integer","default":1,"examples":[2]}}}`, `{"l":[1.5]}`)
	f.Add(`null`, `{}`)
	f.Fuzz(func(t *testing.T, specText, argsText string) {
		form, err := jsonvalue.Parse([]byte(specText))
		if err != nil {
			return
		}
		p, err := ParamsFromValue(form)
		if err != nil {
			var u *UnsupportedError
			if !errors.As(err, &u) || len(u.Violations) == 0 {
				t.Fatalf("error %v lists nothing", err)
			}
			return
		}
		s, err := p.JSONSchema()
		if err != nil {
			t.Fatalf("what was read does not convert: %v", err)
		}
		if direct, err := convertParams(form); err != nil || direct.String() != s.String() {
			t.Fatalf("directly %s, %v\nthrough Params %s", direct, err, s)
		}
		val, err := CompileParams(p)
		if err != nil {
			t.Fatal(err)
		}
		if args, err := jsonvalue.Parse([]byte(argsText)); err == nil {
			val.ValidateArgs(args)
		}
	})
}
