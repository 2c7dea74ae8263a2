package sdk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func parse(t testing.TB, text string) jsonvalue.Value {
	t.Helper()
	v, err := jsonvalue.ParseString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// mustBeTypeScript fails unless a program transpiles without a complaint.
func mustBeTypeScript(t interface {
	Helper()
	Fatalf(string, ...any)
}, source string,
) {
	t.Helper()
	r := api.Transform(source, api.TransformOptions{Loader: api.LoaderTS})
	if len(r.Errors)+len(r.Warnings) > 0 {
		t.Fatalf("not TypeScript: %v %v\n%s", r.Errors, r.Warnings, source)
	}
}

const andOthers = " & Record<string, JsonValue>"

func TestTypeScript(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		// The harness's own vocabulary.
		{"string", `{"type":"string"}`, `string`},
		{"integer", `{"type":"integer"}`, `number`},
		{"null", `{"type":"null"}`, `null`},
		{"any", `{}`, `JsonValue`},
		{"annotations only", `{"title":"T","description":"d","default":1,"examples":[2]}`, `JsonValue`},
		{"one union branch", `{"oneOf":[{"type":"string"}]}`, `unknown`},
		{"union in array", `{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"null"}]}}`, `(string | null)[]`},
		{"sign inside a literal", `{"type":"array","items":{"enum":["a|b"]}}`, `("a|b")[]`},
		{"const object", `{"const":{"a":[1,"x",null]}}`, `{"a":[1,"x",null]}`},
		{"number literal as JavaScript writes it", `{"type":"number","enum":[1E2,-0.5]}`, `100 | -0.5`},
		{"integer literal", `{"type":"integer","const":1.5}`, `unknown`},
		{"open", `{"type":"object","properties":{"a":{}},"required":["a"]}`, "{\n  a: JsonValue;\n}" + andOthers},
		{
			"exotic members", `{"type":"object","additionalProperties":false,"properties":{"a-b":{},"1":{},"class":{},"":{},"__proto__":{},"é":{}}}`,
			"{\n  \"a-b\"?: JsonValue;\n  \"1\"?: JsonValue;\n  class?: JsonValue;\n  \"\"?: JsonValue;\n  __proto__?: JsonValue;\n  \"é\"?: JsonValue;\n}",
		},

		// Degradation is per node.
		{
			"bad child", `{"type":"object","properties":{"bad":{"$ref":"x"},"good":{"type":"string"}},"required":["bad"]}`,
			"{\n  bad: unknown;\n  good?: string;\n}" + andOthers,
		},
		{"bad item", `{"type":"array","items":{"type":"file"}}`, `unknown[]`},
		{"bad branch", `{"oneOf":[{"type":"string"},{"type":7}]}`, `string | unknown`},
		{
			"narrowing keywords", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string","format":"uri","minLength":1,"pattern":"|"},"n":{"type":"integer","minimum":0,"exclusiveMaximum":9,"multipleOf":2}},"required":["a"],"additionalProperties":false,"x-vendor":1}`,
			"{\n  a: string;\n  n?: number;\n}",
		},
		{"not a schema", `[]`, `unknown`},
		{"properties of the wrong kind", `{"type":"object","properties":7}`, `unknown`},
		{"empty list for an empty map", `{"type":"object","properties":[]}`, `Record<string, JsonValue>`},
		{"null properties", `{"type":"object","properties":null,"required":null}`, `Record<string, JsonValue>`},
		{"required of the wrong kind", `{"type":"object","properties":{"a":{"type":"string","required":true}},"required":"a"}`, "{\n  a?: string;\n}" + andOthers},
		{"required without schema", `{"type":"object","properties":{"a":{"type":"null"}},"required":["b","a",1,"b"]}`, "{\n  a: null;\n  b: JsonValue;\n}" + andOthers},

		// Booleans.
		{"true", `true`, `JsonValue`},
		{"false", `false`, `never`},
		{"boolean member", `{"type":"object","properties":{"a":true,"b":false},"additionalProperties":false}`, "{\n  a?: JsonValue;\n  b?: never;\n}"},

		// Type lists, nullable, no type.
		{"type list", `{"type":["string","null"]}`, `string | null`},
		{"type list of one", `{"type":["string"]}`, `string`},
		{"type list with one text", `{"type":["integer","number"]}`, `number`},
		{"empty type list", `{"type":[]}`, `unknown`},
		{"type list with members", `{"type":["object","null"],"properties":{"a":{"type":"string"}},"additionalProperties":false}`, "{\n  a?: string;\n} | null"},
		{"type list in array", `{"type":"array","items":{"type":["string","null"]}}`, `(string | null)[]`},
		{"nullable", `{"type":"string","nullable":true}`, `string | null`},
		{"nullable enum", `{"type":"string","enum":["a"],"nullable":true}`, `"a" | null`},
		{"nullable enum that has it", `{"enum":["a",null],"nullable":true}`, `"a" | null`},
		{"enum of a type list", `{"type":["string","null"],"enum":["a",null]}`, `"a" | null`},
		{"enum members the type excludes", `{"type":"string","enum":["a",null]}`, `"a"`},
		{"enum without type", `{"enum":["a",1,true]}`, `"a" | 1 | true`},
		{"members without type", `{"properties":{"a":{"type":"string"}}}`, "{\n  a?: string;\n}" + andOthers},
		{"items without type", `{"items":{"type":"string"}}`, `string[]`},

		// Maps.
		{"map", `{"type":"object","additionalProperties":{"type":"number"}}`, `Record<string, number>`},
		{"map of anything", `{"type":"object","additionalProperties":{}}`, `Record<string, JsonValue>`},
		{"pattern map", `{"type":"object","patternProperties":{"^x":{"type":"number"}},"additionalProperties":false}`, `Record<string, number>`},
		{"pattern map and others", `{"type":"object","patternProperties":{"^x":{"type":"number"}},"additionalProperties":{"type":"string"}}`, `Record<string, number | string>`},
		{"members and map", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}}`, "{\n  a?: string;\n}" + andOthers},

		// Lists and tuples.
		{"tuple, draft 2020-12", `{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false,"minItems":2}`, `[string, number]`},
		{"tuple, draft-07", `{"type":"array","items":[{"type":"string"},{"type":["number","null"]}],"additionalItems":false,"minItems":1}`, `[string, (number | null)?]`},
		{"tuple and rest", `{"prefixItems":[{"type":"string"}],"items":{"type":["number","null"]}}`, `[string?, ...(number | null)[]]`},
		{"tuple and any rest", `{"prefixItems":[{"type":"string"}],"minItems":1}`, `[string, ...JsonValue[]]`},
		{"tuple of exact length", `{"prefixItems":[{"type":"number"},{"type":"number"}],"minItems":2,"maxItems":2}`, `[number, number]`},
		{"items true", `{"type":"array","items":true}`, `JsonValue[]`},
		{"items false", `{"type":"array","items":false}`, `never[]`},

		// References.
		{"$defs", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"additionalProperties":false,"$defs":{"A":{"enum":["x","y"]}}}`, "{\n  a?: \"x\" | \"y\";\n}"},
		{"definitions", `{"$ref":"#/definitions/A","definitions":{"A":{"type":"string"}}}`, `string`},
		{"reference and description", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"about"}},"additionalProperties":false,"$defs":{"A":{"type":"string"}}}`, "{\n  /** about */\n  a?: string;\n}"},
		{"escaped pointer", `{"$ref":"#/$defs/a~1b%25~0","$defs":{"a/b%~":{"type":"string"}}}`, `string`},
		{"pointer into a list", `{"$ref":"#/$defs/L/1","$defs":{"L":[{},{"type":"null"}]}}`, `null`},
		{"pointer past a list", `{"$ref":"#/$defs/L/2","$defs":{"L":[{},{}]}}`, `unknown`},
		{"anchor", `{"$ref":"#here","$defs":{"A":{"$anchor":"here","type":"string"}}}`, `string`},
		{"identifier", `{"$ref":"https://e.x/a#/$defs/B","$defs":{"A":{"$id":"https://e.x/a","$defs":{"B":{"type":"string"}}}}}`, `string`},
		{"elsewhere", `{"$ref":"https://e.x/other"}`, `unknown`},
		{"reference that is no text", `{"type":"string","$ref":7}`, `unknown`},
		{"recursion at the root", `{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, "{\n  next?: JsonValue;\n}"},
		{"recursion", `{"$ref":"#/$defs/N","$defs":{"N":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/N"}}},"additionalProperties":false}}}`, "{\n  kids?: JsonValue[];\n}"},
		{"self", `{"$ref":"#"}`, `JsonValue`},
		{"mutual", `{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, `JsonValue`},
		{"dynamic reference", `{"$dynamicRef":"#n","$defs":{"N":{"$dynamicAnchor":"n","type":"string"}}}`, `string`},

		// Combinations.
		{"anyOf", `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"number"}]}`, `string | number`},
		{"anyOf of one", `{"anyOf":[{"type":"string"}]}`, `string`},
		{"allOf of one", `{"allOf":[{"$ref":"#/$defs/A"}],"description":"d","default":"x","$defs":{"A":{"enum":["x","y"]}}}`, `"x" | "y"`},
		{
			"allOf of objects", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"null"}}}]}`,
			"{\n  a: string;\n} & {\n  b?: null;\n}" + andOthers,
		},
		{"allOf that says nothing", `{"type":"string","allOf":[{},{"minLength":1},true,{"if":{},"then":{}}]}`, `string`},
		{"allOf of unions", `{"allOf":[{"type":["string","null"]},{"type":["number","null"]}]}`, `(string | null) & (number | null)`},
		{"empty allOf", `{"allOf":[]}`, `JsonValue`},
		{
			"one of two members", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
			"{\n  a?: string;\n  b?: string;\n}" + andOthers,
		},
		{
			"object and a union of objects", `{"type":"object","properties":{"k":{"type":"string"}},"anyOf":[{"properties":{"a":{"type":"null"}},"additionalProperties":false},{"properties":{"b":{"type":"null"}},"additionalProperties":false}]}`,
			"{\n  k?: string;\n} & ({\n  a?: null;\n} | {\n  b?: null;\n})" + andOthers,
		},
		{
			"reference beside members", `{"type":"object","$ref":"#/$defs/A","properties":{"b":{"type":"null"}},"additionalProperties":false,"$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
			"{\n  a?: string;\n} & {\n  b?: null;\n}" + andOthers,
		},
		{"unresolved reference beside members", `{"type":"object","$ref":"x","properties":{"b":{"type":"null"}}}`, `unknown`},

		// Texts.
		{"comment end", `{"type":"object","additionalProperties":false,"properties":{"a":{"description":"**/ */*/ /"}}}`, "{\n  /** **\\/ *\\/*\\/ / */\n  a?: JsonValue;\n}"},
		{"every line end", `{"type":"object","additionalProperties":false,"properties":{"a":{"description":" x\r\ny\u2028z\u2029\ufeff\u00a0w\t"}}}`, "{\n  /** x y z w */\n  a?: JsonValue;\n}"},
		{"blank description", `{"type":"object","additionalProperties":false,"properties":{"a":{"description":" \n"}}}`, "{\n  /**  */\n  a?: JsonValue;\n}"},
		{"description that is no text", `{"type":"object","additionalProperties":false,"properties":{"a":{"description":5}}}`, "{\n  a?: JsonValue;\n}"},
		{"template syntax", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"a\":{\"description\":\"{{x}} `y` ${z} ```ts\"}}}", "{\n  /** {{x}} `y` ${z} ```ts */\n  a?: JsonValue;\n}"},
		{"lone surrogate", `{"type":"object","additionalProperties":false,"properties":{"a":{"description":"<\ud83d>","enum":["\ud83d","\u2028"]}}}`, "{\n  /** <\uFFFD> */\n  a?: \"\\ud83d\" | \"\\u2028\";\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := TypeScript(parse(t, c.schema), 0)
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			mustBeTypeScript(t, "type T = "+got)
		})
	}
}

func TestTypeScriptIndent(t *testing.T) {
	s := parse(t, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":false}}`)
	if got, want := TypeScript(s, 2), "{\n      a?: null;\n    }[]"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if got, want := TypeScript(s, -7), TypeScript(s, 0); got != want {
		t.Errorf("negative level:\n got %s\nwant %s", got, want)
	}
}

func TestTypeScriptOfAbsentSchema(t *testing.T) {
	if got := TypeScript(jsonvalue.Value{}, 0); got != "unknown" {
		t.Errorf("got %s", got)
	}
}

// TestTypeScriptIsBounded feeds schemas whose naive expansion would not end or
// would not fit into memory.
func TestTypeScriptIsBounded(t *testing.T) {
	doubling := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 60 {
		doubling += fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	doubling += `"d60":{"type":"string"}}}`

	silent := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 60 {
		silent += fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	silent += `"d60":{}}}`

	wide := `{"type":"object","properties":{"p":{}`
	for i := range 3000 {
		wide += fmt.Sprintf(`,"p%d":{"$ref":"#/$defs/D"}`, i)
	}
	wide += `},"$defs":{"D":{"type":"object","properties":{"x":{"type":"string","description":"` + strings.Repeat("word ", 2000) + `"}}}}}`

	for _, c := range []struct {
		name, schema string
		limit        int // bytes of text
	}{
		{"definitions that double", doubling, 1 << 20},
		{"definitions that double and print nothing", silent, 100},
		{"many references to a long definition", wide, 1 << 20},
		{"deep arrays", strings.Repeat(`{"type":"array","items":`, 9000) + `{}` + strings.Repeat(`}`, 9000), 1 << 10},
		{"deep objects", strings.Repeat(`{"properties":{"a":`, 9000) + `{}` + strings.Repeat(`}}`, 9000), 1 << 20},
		{"deep anyOf", strings.Repeat(`{"anyOf":[{"type":"string"},`, 9000) + `{}` + strings.Repeat(`]}`, 9000), 1 << 12},
		{"deep allOf", strings.Repeat(`{"type":"string","allOf":[`, 9000) + `{}` + strings.Repeat(`]}`, 9000), 1 << 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parse(t, c.schema)
			start := time.Now()
			got := TypeScript(s, 0)
			if d := time.Since(start); d > time.Minute {
				t.Errorf("took %v", d)
			}
			if len(got) > c.limit {
				t.Errorf("%d bytes, limit %d", len(got), c.limit)
			}
			mustBeTypeScript(t, "type T = "+got)
		})
	}
}

// genSchema draws schemas, most of them sensible, some broken.
func genSchema(depth int) *rapid.Generator[jsonvalue.Value] {
	return rapid.Custom(func(t *rapid.T) jsonvalue.Value {
		var members []jsonvalue.Member
		add := func(key string, v jsonvalue.Value) {
			members = append(members, jsonvalue.Member{Key: key, Value: v})
		}
		list := func(label string) jsonvalue.Value {
			return jsonvalue.Array(rapid.SliceOfN(genSchema(depth-1), 0, 3).Draw(t, label)...)
		}
		for range rapid.IntRange(0, 4).Draw(t, "keywords") {
			top := 13
			if depth <= 0 {
				top = 6
			}
			switch rapid.IntRange(0, top).Draw(t, "keyword") {
			case 0, 1:
				add("type", jsonvalue.String(rapid.SampledFrom([]string{"string", "number", "integer", "boolean", "null", "object", "array", "file"}).Draw(t, "type")))
			case 2:
				add("description", jsonvalue.String(rapid.SampledFrom([]string{"a", "*/ } {", "x\u2028y", "```", "", "{{v}}", "\\"}).Draw(t, "description")))
			case 3:
				add("enum", jsonvalue.MustFromGo(rapid.SampledFrom([][]string{{}, {"a"}, {"{", "|"}, {"*/", "\"", "//"}}).Draw(t, "enum")))
			case 4:
				add("const", jsonvalue.MustFromGo(rapid.SampledFrom([]string{"x", "}", "]"}).Draw(t, "const")))
			case 5:
				add("$ref", jsonvalue.String(rapid.SampledFrom([]string{"#", "#/properties/a", "#/$defs/x", "#/items", "x", "#/allOf/0", "#/"}).Draw(t, "ref")))
			case 6:
				add("additionalProperties", jsonvalue.Bool(rapid.Bool().Draw(t, "open")))
			case 7, 8:
				var ps []jsonvalue.Member
				for range rapid.IntRange(0, 3).Draw(t, "members") {
					key := rapid.SampledFrom([]string{"a", "b", "x-y", "{", "\n", "*/", "__proto__"}).Draw(t, "key")
					ps = append(ps, jsonvalue.Member{Key: key, Value: genSchema(depth-1).Draw(t, "member")})
				}
				add(rapid.SampledFrom([]string{"properties", "$defs", "patternProperties"}).Draw(t, "where"), jsonvalue.Object(ps...))
			case 9:
				add("items", genSchema(depth-1).Draw(t, "items"))
			case 10:
				add("items", list("tuple"))
			case 11:
				add("anyOf", list("anyOf"))
			case 12:
				add("allOf", list("allOf"))
			default:
				add("oneOf", list("oneOf"))
			}
		}
		return jsonvalue.Object(members...)
	})
}

func TestAnySchemaIsValidTypeScript(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSchema(4).Draw(t, "schema")
		got := TypeScript(s, 0)
		if again := TypeScript(s, 0); got != again {
			t.Fatalf("two texts:\n%s\n%s", got, again)
		}
		mustBeTypeScript(t, "type T = "+got)
	})
}

func FuzzTypeScript(f *testing.F) {
	for _, s := range []string{
		`{}`, `true`, `7`, `{"$ref":"#"}`,
		`{"type":"object","properties":{"a":{"type":["string","null"],"description":"*/"}},"required":["a","b"]}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"array","items":[{},{}],"minItems":1}]}}}`,
		`{"allOf":[{"properties":{"a":{}}},{"oneOf":[{"const":{"x":[1]}},{"enum":["|",2]}]}],"additionalProperties":{"nullable":true}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := jsonvalue.Parse(data)
		if err != nil {
			return
		}
		got := TypeScript(s, 0)
		if got != TypeScript(s, 0) {
			t.Fatal("two texts for one schema")
		}
		if strings.ContainsAny(got, "\r\u2028\u2029") {
			t.Fatalf("a line end that is none of ours: %q", got)
		}
		// The transpiler checks brackets, comments and literals at once.
		mustBeTypeScript(t, "type T = "+got)
	})
}
