// Package foreign validates against arbitrary JSON Schemas, such as MCP servers
// bring. It stands apart from the enforced subset because the library behind it
// does work at start-up that a program without foreign schemas need not pay.
package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

const (
	// maxSchemaDepth bounds foreign schemas, whose compiler is recursive.
	maxSchemaDepth = 2_000
	// maxForeignDepth bounds the values: the library recurses into them, and
	// keeps the whole path at each level of a failure, the square of the depth.
	maxForeignDepth = 2_500
	// patternTimeout bounds one match of a pattern that needs backtracking.
	patternTimeout = 100 * time.Millisecond
)

// Schema validates against an arbitrary JSON Schema, such as an MCP tool
// brings: 2020-12 unless $schema names another draft, with $ref, $defs and
// recursion inside the document. It is safe for concurrent use.
type Schema struct {
	s *jsonschema.Schema
}

// Compile compiles schema. References that leave the document are
// refused: nothing is read from files or the network. Errors name the place.
func Compile(schema jsonvalue.Value) (js *Schema, err error) {
	if d := schema.Depth(); d > maxSchemaDepth {
		return nil, fmt.Errorf("invalid JSON schema: nested %d levels deep, at most %d are supported", d, maxSchemaDepth)
	}
	if err := jsonvalue.CheckLossless(schema); err != nil {
		return nil, fmt.Errorf("invalid JSON schema: %w", err)
	}
	// The document comes from outside and the compiler is not ours.
	defer func() {
		if r := recover(); r != nil {
			js, err = nil, fmt.Errorf("invalid JSON schema: the schema cannot be compiled: %v", r)
		}
	}()
	const url = "schema:///root.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(url, goData(schema)); err != nil {
		return nil, fmt.Errorf("invalid JSON schema: %w", err)
	}
	s, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("invalid JSON schema: %s", strings.ReplaceAll(err.Error(), url, ""))
	}
	return &Schema{s}, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema document; only references inside it are supported", url)
}

// goData keeps literals except where exact arithmetic on them, which the
// library does, would take memory by the size of the exponent.
func goData(v jsonvalue.Value) any {
	return v.InterfaceFunc(func(lit string) any {
		if len(lit) <= 400 && !hasLongExponent(lit) {
			return json.Number(lit)
		}
		f, _ := strconv.ParseFloat(lit, 64)
		return f
	})
}

func hasLongExponent(lit string) bool {
	i := strings.IndexAny(lit, "eE")
	return i >= 0 && len(lit)-i > 5 // e-308 is the longest of a normal double
}

// Validate returns the violations of v, nil when it is valid, with paths that
// begin with "value" and the texts of [Validator.Validate] where they apply.
func (js *Schema) Validate(v jsonvalue.Value) []string {
	return js.validate(v, "value", "value")
}

// ValidateArgs is Validate with the paths of [ParamsValidator.ValidateArgs].
func (js *Schema) ValidateArgs(args jsonvalue.Value) []string {
	return js.validate(args, "arguments", "")
}

func (js *Schema) validate(v jsonvalue.Value, root, prefix string) (out []string) {
	if v.Depth() > maxForeignDepth {
		return []string{fmt.Sprintf("%q is nested deeper than %d levels", root, maxForeignDepth)}
	}
	if err := jsonvalue.CheckLossless(v); err != nil {
		return []string{fmt.Sprintf("%q is %s", root, err)}
	}
	defer func() {
		if r := recover(); r != nil {
			out = []string{fmt.Sprintf("%q cannot be validated: %v", root, r)}
		}
	}()
	err := js.s.Validate(goData(v))
	if err == nil {
		return nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return []string{fmt.Sprintf("%q cannot be validated: %v", root, err)}
	}
	e := explainer{value: v, root: root, prefix: prefix, printer: message.NewPrinter(language.English)}
	e.explain(ve)
	// The library walks Go maps: put the violations into the value's order.
	slices.SortStableFunc(e.found, func(a, b finding) int {
		return cmpOr(slices.Compare(a.at, b.at), strings.Compare(a.text, b.text))
	})
	for _, f := range e.found {
		out = append(out, f.text)
	}
	return slices.Compact(out)
}

func cmpOr(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

// explainer turns the library's tree of errors into violations.
type explainer struct {
	value        jsonvalue.Value
	root, prefix string
	printer      *message.Printer
	found        []finding
}

type finding struct {
	at   []int // position in the value, by index at each level
	text string
}

func (e *explainer) explain(ve *jsonschema.ValidationError) {
	switch k := ve.ErrorKind.(type) {
	case *kind.OneOf:
		e.add(ve, "", fmt.Sprintf(" must match exactly one oneOf branch (matched %d)", len(k.Subschemas)), "")
		return
	case *kind.AnyOf:
		e.add(ve, "", " must match at least one anyOf branch", "")
		return
	case *kind.Not:
		e.add(ve, "", " must not match the schema under not", "")
		return
	case *kind.PropertyNames:
		e.add(ve, "", " is a property name the schema refuses", k.Property)
		return
	}
	if len(ve.Causes) > 0 {
		for _, c := range ve.Causes {
			e.explain(c)
		}
		return
	}
	switch k := ve.ErrorKind.(type) {
	case *kind.Type:
		e.add(ve, "", " must be "+typeNames(k.Want), "")
	case *kind.Required:
		for _, name := range k.Missing {
			e.add(ve, "missing required property ", "", name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			e.add(ve, "", " is not a declared property (additionalProperties: false)", name)
		}
	case *kind.Enum:
		e.add(ve, "", " must be one of "+goText(k.Want), "")
	case *kind.Const:
		e.add(ve, "", " must be "+goText(k.Want), "")
	case *kind.FalseSchema:
		e.add(ve, "", " is not allowed", "")
	default:
		e.add(ve, "", " is refused: "+ve.ErrorKind.LocalizedString(e.printer), "")
	}
}

func goText(x any) string {
	v, err := jsonvalue.FromGo(x)
	if err != nil {
		return fmt.Sprint(x)
	}
	return v.Indent("")
}

// wanted says what a value of each JSON Schema type is called, in the words of
// the enforced subset's violations.
var wanted = map[string]string{
	"string": "a string", "number": "a number", "integer": "an integer", "boolean": "a boolean",
	"null": "null", "object": "an object", "array": "an array",
}

func typeNames(types []string) string {
	var names []string
	for _, t := range types {
		names = append(names, wanted[t])
	}
	return strings.Join(names, " or ")
}

func (e *explainer) add(ve *jsonschema.ValidationError, before, after, key string) {
	path := []byte(e.prefix)
	var at []int
	dot := func(name string) {
		if len(path) > 0 {
			path = append(path, '.')
		}
		path = append(path, name...)
	}
	v := e.value
	for _, seg := range ve.InstanceLocation {
		i := v.IndexOf(seg)
		if v.IsArray() {
			i, _ = strconv.Atoi(seg)
			path = append(append(append(path, '['), seg...), ']')
		} else {
			dot(seg)
		}
		at = append(at, i)
		v = v.At(i)
	}
	if key != "" {
		dot(key)
		if i := v.IndexOf(key); i >= 0 {
			at = append(at, i)
		}
	}
	if len(path) == 0 {
		path = []byte(e.root)
	}
	e.found = append(e.found, finding{at, before + `"` + string(path) + `"` + after})
}

// compilePattern takes Go's engine, which is linear, where it can, and a
// backtracking one with a time limit for what ECMAScript has beyond it
// (lookaround, \u escapes), as generated schemas use those.
func compilePattern(expr string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(expr); err == nil {
		return re, nil
	}
	re, err := regexp2.Compile(expr, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = patternTimeout
	return backtracking{re}, nil
}

type backtracking struct{ re *regexp2.Regexp }

func (b backtracking) String() string { return b.re.String() }

// MatchString counts a match that takes too long as none.
func (b backtracking) MatchString(s string) bool {
	ok, err := b.re.MatchString(s)
	return ok && err == nil
}
