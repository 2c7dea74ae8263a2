package foreign

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func parse(t testing.TB, text string) jsonvalue.Value {
	t.Helper()
	v, err := jsonvalue.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestSchema(t *testing.T) {
	const tree = `{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"n":{"type":"integer","minimum":1},"kids":{"type":"array","items":{"$ref":"#/$defs/t"}}},"required":["n"],"additionalProperties":false}}}`
	tests := []struct {
		name, schema, value string
		want                []string
	}{
		{"recursion", tree, `{"n":1,"kids":[{"n":2},{"n":3,"kids":[]}]}`, nil},
		{"recursion fails", tree, `{"kids":[{"n":"x"},{"n":2,"z":1,"kids":[7]},{"n":0}]}`, []string{
			`missing required property "value.n"`,
			`"value.kids[0].n" must be an integer`,
			`"value.kids[1].z" is not a declared property (additionalProperties: false)`,
			`"value.kids[1].kids[0]" must be an object`,
			`"value.kids[2].n" is refused: minimum: got 0, want 1`,
		}},
		{"draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"const":1}},"items":[{"$ref":"#/definitions/a"}],"additionalItems":false}`, `[1,2]`, []string{`"value" is refused: last 1 additionalItem(s) not allowed`}},
		{"2020-12", `{"prefixItems":[{"const":1}],"items":false}`, `[2,3]`, []string{`"value[0]" must be 1`, `"value[1]" is not allowed`}},
		{"types", `{"type":["string","null"]}`, `1`, []string{`"value" must be null or a string`}},
		{"enum", `{"enum":["a",1E2,{"x":1}]}`, `2`, []string{`"value" must be one of ["a",100,{"x":1}]`}},
		{"unions", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, []string{`"value" must match at least one anyOf branch`}},
		{"oneOf", `{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`, []string{`"value" must match exactly one oneOf branch (matched 2)`}},
		{"not", `{"not":{}}`, `1`, []string{`"value" must not match the schema under not`}},
		{"names", `{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, []string{`"value.abc" is a property name the schema refuses`}},
		{"lookahead", `{"pattern":"^(?!\\.)a"}`, `"a.b"`, nil},
		{"lookahead fails", `{"pattern":"^(?!a)"}`, `"a"`, []string{`"value" is refused: 'a' does not match pattern '^(?!a)'`}},
		{"unicode pattern", `{"pattern":"^\\u0061+$"}`, `"aa"`, nil},
		{"big integers", `{"const":9007199254740993}`, `9007199254740992`, []string{`"value" must be 9007199254740993`}},
		{"true", `true`, `{}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			js, err := Compile(parse(t, tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			if got := js.Validate(parse(t, tt.value)); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSchemaArgs(t *testing.T) {
	js, err := Compile(parse(t, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}},"required":["b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`missing required property "b"`, `"a[1]" must be a string`}
	if got := js.ValidateArgs(parse(t, `{"a":["x",1]}`)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := js.ValidateArgs(parse(t, `"x"`)); !slices.Equal(got, []string{`"arguments" must be an object`}) {
		t.Errorf("got %q", got)
	}
}

func TestRefusedJSONSchemas(t *testing.T) {
	for name, text := range map[string]string{
		"file":     `{"$ref":"file:///etc/hostname"}`,
		"network":  `{"$ref":"http://example.invalid/s.json"}`,
		"relative": `{"$ref":"other.json"}`,
		"dangling": `{"$ref":"#/$defs/none"}`,
		"type":     `{"type":"strin"}`,
		"pattern":  `{"pattern":"("}`,
		"kind":     `12`,
		"deep":     strings.Repeat(`{"not":`, 3000) + `{}` + strings.Repeat(`}`, 3000),
		"number":   `{"minimum":1e400}`,
	} {
		if _, err := Compile(parse(t, text)); err == nil {
			t.Errorf("%s: compiled", name)
		} else if len(err.Error()) > 400 {
			t.Errorf("%s: a long error: %v", name, err)
		}
	}
}

// A reference must not read files, whatever is in them.
func TestSchemaReadsNoFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Compile(parse(t, `{"$ref":"file://`+file+`"}`))
	if err == nil || !strings.Contains(err.Error(), "outside the schema document") {
		t.Errorf("%v", err)
	}
}

// What a schema or a value from outside says must not cost unbounded time.
func TestSchemaIsBounded(t *testing.T) {
	start := time.Now()
	js, err := Compile(parse(t, `{"properties":{"n":{"minimum":1e-1000000000,"multipleOf":1},"p":{"pattern":"^(?=a)(a+)+$"},"t":{"$ref":"#"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := js.Validate(parse(t, `{"n":1e-999999999}`)); got != nil {
		t.Errorf("a tiny number: %q", got)
	}
	if got := js.Validate(parse(t, `{"p":"`+strings.Repeat("a", 60)+`b"}`)); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	deep := parse(t, strings.Repeat(`{"t":`, 2_000)+`{"p":"b"}`+strings.Repeat(`}`, 2_000))
	if got := js.Validate(deep); len(got) != 1 {
		t.Errorf("%d violations of a deep value, want 1", len(got))
	}
	tooDeep := parse(t, strings.Repeat(`[`, 10_000)+strings.Repeat(`]`, 10_000))
	if got := js.Validate(tooDeep); len(got) != 1 || !strings.Contains(got[0], "nested deeper") {
		t.Errorf("a value that is too deep: %q", got)
	}
	if d := time.Since(start); d > 2*time.Minute {
		t.Errorf("took %v", d)
	}
}
