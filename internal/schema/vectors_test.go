package schema

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/vectors"
)

const older = "2026-07-11"

type wantError struct {
	Name       string   `json:"name"`
	Code       string   `json:"code"`
	Message    string   `json:"message"`
	Violations []string `json:"violations"`
}

// differs compares an error of ours with the expected one.
func (w *wantError) differs(err error) error {
	var u *UnsupportedError
	if !errors.As(err, &u) {
		return fmt.Errorf("error %v, want %q", err, w.Message)
	}
	if u.Error() != w.Message || u.Code() != w.Code || u.ErrorName() != w.Name || !slices.Equal(u.Violations, w.Violations) {
		return fmt.Errorf("error %s/%s %q\nwant %s/%s %q", u.ErrorName(), u.Code(), u.Error(), w.Name, w.Code, w.Message)
	}
	return nil
}

func sameTexts(got, want []string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("violations %q\nwant       %q", got, want)
	}
	return nil
}

type conversionVector struct {
	vectors.Base
	Kind   string          `json:"kind"`
	Input  jsonvalue.Value `json:"input"`
	Expect struct {
		OK    jsonvalue.Value `json:"ok"`
		Error *wantError      `json:"error"`
	} `json:"expect"`
}

func checkConversion(_ *testing.T, v conversionVector) error {
	var got jsonvalue.Value
	var err error
	switch v.Kind {
	case "parameters":
		var p Params
		if p, err = ParamsFromValue(v.Input); err == nil {
			got, err = p.JSONSchema()
		}
	case "value":
		var s Spec
		if s, err = SpecFromValue(v.Input); err == nil {
			got, err = s.JSONSchema()
		}
	default:
		return fmt.Errorf("unknown kind %q", v.Kind)
	}
	if v.Expect.Error != nil {
		return v.Expect.Error.differs(err)
	}
	if err != nil {
		return err
	}
	if got.String() != v.Expect.OK.String() {
		return fmt.Errorf("got  %s\nwant %s", got, v.Expect.OK)
	}
	return nil
}

func TestSharedConversionVectors(t *testing.T) {
	const openness = older + ": a nested object had no additionalProperties; the target edition demands it (rule R9.2)"
	vectors.Run(t, vectors.Load[conversionVector](t, "schema-conversion.json"), vectors.Exceptions{
		"conv-025": openness, "conv-026": openness, "conv-027": openness, "conv-028": openness,
		"conv-029": older + ": enum members were strings whatever the type; the target edition types them (rule R10.2)",
	}, checkConversion)
}

func TestOwnConversionVectors(t *testing.T) {
	vectors.Run(t, vectors.LoadFile[conversionVector](t, "testdata/vectors/conversion.json"), nil, checkConversion)
}

type argsVector struct {
	vectors.Base
	Spec   jsonvalue.Value `json:"spec"`
	Args   jsonvalue.Value `json:"args"`
	Expect []string        `json:"expect"`
}

func checkArgs(_ *testing.T, v argsVector) error {
	p, err := ParamsFromValue(v.Spec)
	if err != nil {
		return err
	}
	c, err := CompileParams(p)
	if err != nil {
		return err
	}
	return sameTexts(c.ValidateArgs(v.Args), v.Expect)
}

func TestSharedArgsVectors(t *testing.T) {
	const openness = older + ": the spec's nested object lacks additionalProperties (rule R9.2)"
	vectors.Run(t, vectors.Load[argsVector](t, "validate-args.json"), vectors.Exceptions{
		"args-024": older + ": missing properties were listed in declaration order among the others; now they come first (rule R9.4)",
		"args-045": openness, "args-049": openness, "args-051": openness, "args-071": openness,
		"args-072": older + ": the spec's enum does not have the property's type (rule R10.2)",
	}, checkArgs)
}

func TestOwnArgsVectors(t *testing.T) {
	vectors.Run(t, vectors.LoadFile[argsVector](t, "testdata/vectors/args.json"), nil, checkArgs)
}

type subsetVector struct {
	vectors.Base
	Check      string          `json:"check"`
	Schema     jsonvalue.Value `json:"schema"`
	Accept     bool            `json:"accept"`
	Violations []string        `json:"violations"`
	Message    string          `json:"message"`
	Code       string          `json:"code"`
	ErrorName  string          `json:"errorName"`
}

func checkSubset(_ *testing.T, v subsetVector) error {
	check, ok := map[string]func(jsonvalue.Value) error{
		"assertSupportedJsonSchema":   AssertSupported,
		"assertObjectJsonSchema":      AssertObject,
		"assertSupportedOutputSchema": AssertSupportedOutput,
	}[v.Check]
	if !ok {
		return fmt.Errorf("unknown check %q", v.Check)
	}
	err := check(v.Schema)
	if v.Accept {
		return err
	}
	return (&wantError{v.ErrorName, v.Code, v.Message, v.Violations}).differs(err)
}

func TestSharedSubsetVectors(t *testing.T) {
	vectors.Run(t, vectors.Load[subsetVector](t, "structured-subset.json"), nil, checkSubset)
}

func TestOwnSubsetVectors(t *testing.T) {
	vectors.Run(t, vectors.LoadFile[subsetVector](t, "testdata/vectors/subset.json"), nil, checkSubset)
}

type valueVector struct {
	vectors.Base
	Schema jsonvalue.Value `json:"schema"`
	Value  jsonvalue.Value `json:"value"`
	Expect []string        `json:"expect"`
}

func checkValue(_ *testing.T, v valueVector) error {
	compile := Compile
	if v.Edition == older {
		compile = CompileOutput
	}
	c, err := compile(v.Schema)
	if err != nil {
		return err
	}
	return sameTexts(c.Validate(v.Value, "value"), v.Expect)
}

func TestSharedValueVectors(t *testing.T) {
	vectors.Run(t, vectors.Load[valueVector](t, "validate-value.json"), nil, checkValue)
}

func TestOwnValueVectors(t *testing.T) {
	vectors.Run(t, vectors.LoadFile[valueVector](t, "testdata/vectors/value.json"), nil, checkValue)
}
