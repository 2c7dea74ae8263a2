package jsonvalue_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/vectors"
)

type losslessVector struct {
	vectors.Base
	Domain string `json:"domain"`
	Input  string `json:"input"`
	Expect struct {
		Parse        string  `json:"parse"` // ok, error, empty; ours also: duplicate
		Lossless     *bool   `json:"lossless"`
		JavaScript   *bool   `json:"javaScript"` // own vectors: what CheckJavaScript says
		Canonical    *string `json:"canonical"`
		JSON         *string `json:"json"`         // own vectors: the literal-keeping form
		LoopFallback string  `json:"loopFallback"` // what the loop makes of it: not ours
		Snapshot     string  `json:"snapshot"`     // js-value only
		Offset       *int    `json:"offset"`       // own vectors: where the error is
	} `json:"expect"`
}

// repeated expands the notation <"[" x5000> some vectors use for long inputs.
var repeated = regexp.MustCompile(`<("(?:[^"\\]|\\.)*") x(\d+)> ?`)

func expand(s string) string {
	if !repeated.MatchString(s) {
		return s
	}
	s = repeated.ReplaceAllStringFunc(s, func(m string) string {
		parts := repeated.FindStringSubmatch(m)
		text, _ := strconv.Unquote(parts[1])
		n, _ := strconv.Atoi(parts[2])
		return strings.Repeat(text, n)
	})
	return s
}

func checkLossless(t *testing.T, v losslessVector) error {
	switch v.Domain {
	case "text":
	case "js-value":
		t.Skip("js-value: values inside a program are made by Code Mode's worker, whose tests read these vectors")
	default:
		return fmt.Errorf("unknown domain %q", v.Domain)
	}
	got, err := jsonvalue.Parse([]byte(expand(v.Input)))
	switch v.Expect.Parse {
	case "ok":
		if err != nil {
			return err
		}
	case "error", "empty", "duplicate":
		var se *jsonvalue.SyntaxError
		if !errors.As(err, &se) {
			return fmt.Errorf("error %v, want a *SyntaxError", err)
		}
		if errors.Is(err, jsonvalue.ErrDuplicateKey) != (v.Expect.Parse == "duplicate") {
			return fmt.Errorf("error %v, want kind %s", err, v.Expect.Parse)
		}
		if v.Expect.Offset != nil && se.Offset != *v.Expect.Offset {
			return fmt.Errorf("offset %d, want %d: %v", se.Offset, *v.Expect.Offset, err)
		}
		return nil
	default:
		return fmt.Errorf("unknown parse expectation %q", v.Expect.Parse)
	}
	if want := v.Expect.Lossless; want != nil {
		if err := jsonvalue.CheckLossless(got); (err == nil) != *want {
			return fmt.Errorf("CheckLossless = %v, want ok %v", err, *want)
		}
	}
	if want := v.Expect.JavaScript; want != nil {
		if err := jsonvalue.CheckJavaScript(got); (err == nil) != *want {
			return fmt.Errorf("CheckJavaScript = %v, want ok %v", err, *want)
		}
	}
	if want := v.Expect.Canonical; want != nil && got.Canonical() != *want {
		return fmt.Errorf("canonical %s, want %s", got.Canonical(), *want)
	}
	if want := v.Expect.JSON; want != nil && got.String() != *want {
		return fmt.Errorf("JSON %s, want %s", got, *want)
	}
	return nil
}

func TestSharedLosslessVectors(t *testing.T) {
	vectors.Run(t, vectors.Load[losslessVector](t, "lossless-json.json"), vectors.Exceptions{
		"json-text-026": "decision 18: duplicate keys are refused with a clear error",
		"json-text-028": "integer-like keys keep their source order: moving them is an artefact of JavaScript objects",
	}, checkLossless)
}

func TestOwnLosslessVectors(t *testing.T) {
	vectors.Run(t, vectors.LoadFile[losslessVector](t, "testdata/vectors/lossless.json"), nil, checkLossless)
}
