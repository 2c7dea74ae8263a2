package codemode_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/vectors"
)

// programVector is one program with what the reference did. parity says how much
// of it is an expectation: see the head of the file.
type programVector struct {
	vectors.Base
	Group      string `json:"group"`
	Program    string `json:"program"`
	Parity     string `json:"parity"`
	EventOrder string `json:"eventOrder"`
	Options    struct {
		Config struct {
			MaxParallelSubCalls int `json:"maxParallelSubCalls"`
		} `json:"config"`
		Runtime struct {
			ComputeMs      int `json:"computeMs"`
			MaxWallMs      int `json:"maxWallMs"`
			MaxOutputBytes int `json:"maxOutputBytes"`
		} `json:"runtime"`
	} `json:"options"`
	Expect struct {
		IsError          bool            `json:"isError"`
		Text             *string         `json:"text"`
		Value            jsonvalue.Value `json:"value"`
		ErrorCode        string          `json:"errorCode"`
		FailureKind      string          `json:"failureKind"`
		MessageFirstLine string          `json:"messageFirstLine"`
		CapturedOutput   []string        `json:"capturedOutput"`
		ConcludesTurn    bool            `json:"concludesTurn"`
		BodyOrder        []string        `json:"bodyOrder"`
		Events           []struct {
			Type      string          `json:"type"`
			SubCallID string          `json:"subCallId"`
			Name      string          `json:"name"`
			Arguments jsonvalue.Value `json:"arguments"`
			IsError   bool            `json:"isError"`
			Content   jsonvalue.Value `json:"content"`
		} `json:"events"`
		Contexts []struct {
			Source jsonvalue.Value `json:"source"`
			Types  []string        `json:"types"`
		} `json:"contexts"`
	} `json:"expect"`
}

// deviations are the vectors that do not hold, each by a decision.
var deviations = vectors.Exceptions{
	"code-091": "a wait that nothing can end fails at once, with the same kind and its own text (decision 24)",
	"code-106": "enums are accepted (decision 21)",
	"code-108": "parameter properties are accepted (decision 21)",
}

func TestSharedPrograms(t *testing.T) {
	for name, mode := range map[string]runner.Mode{"child": runner.Child, "in process": runner.InProcess} {
		t.Run(name, func(t *testing.T) {
			engine := sharedRunner(mode)
			vectors.Run(t, vectors.Load[programVector](t, "code-mode-programs.json"), deviations, func(t *testing.T, v programVector) error {
				err := checkProgram(t, engine, v)
				// A run that ends at once may take a call that nobody awaits with
				// it before the call's body has begun.
				for try := 0; err != nil && try < 20 && strings.Contains(v.Program, "void tools."); try++ {
					err = checkProgram(t, engine, v)
				}
				return err
			})
		})
	}
}

func checkProgram(t *testing.T, engine *runner.Runner, v programVector) error {
	o := worldOptions{engine: engine, parallel: 10, limits: runner.Limits{Compute: 20 * time.Second, Wall: time.Minute}}
	if n := v.Options.Config.MaxParallelSubCalls; n > 0 {
		o.parallel = n
	}
	if n := v.Options.Runtime.ComputeMs; n > 0 {
		o.limits.Compute = time.Duration(n) * time.Millisecond
	}
	if n := v.Options.Runtime.MaxWallMs; n > 0 {
		o.limits.Wall = time.Duration(n) * time.Millisecond
	}
	if n := v.Options.Runtime.MaxOutputBytes; n > 0 {
		o.limits.MaxOutputBytes = int64(n)
	}
	w := newWorld(t, o)
	r := w.run(t.Context(), v.Program)
	text := strings.TrimPrefix(r.Text(), "Error: ")
	switch v.Parity {
	case "none":
		t.Skip("recorded for comparison only")
	case "inspect-layout":
		return compareLayout(v, r)
	case "kind-or-exception":
		if !r.IsError() || !strings.HasPrefix(text, "code run failed (worker-exit)") && !strings.HasPrefix(text, "code run failed (exception)") {
			return fmt.Errorf("%s", r.Text())
		}
		return nil
	}
	if r.IsError() != v.Expect.IsError {
		return fmt.Errorf("isError is %v: %s", r.IsError(), r.Text())
	}
	if r.IsError() {
		if code := r.ErrorInfo().Code; code != v.Expect.ErrorCode {
			return fmt.Errorf("code %s, want %s", code, v.Expect.ErrorCode)
		}
		if !strings.HasPrefix(text, "code run failed ("+v.Expect.FailureKind+"): ") {
			return fmt.Errorf("want kind %s: %s", v.Expect.FailureKind, text)
		}
	}
	if v.Parity == "kind-only" {
		return nil
	}
	if first, _, _ := strings.Cut(text, "\n"); r.IsError() && first != v.Expect.MessageFirstLine {
		return fmt.Errorf("first line %q, want %q", first, v.Expect.MessageFirstLine)
	}
	if lines := v.Expect.CapturedOutput; lines != nil && !strings.HasSuffix(text, "\nCaptured output:\n"+strings.Join(lines, "\n")) {
		return fmt.Errorf("want the output %q: %s", lines, text)
	}
	if v.Parity == "kind-and-message-text" {
		return nil
	}
	if !r.IsError() {
		if r.Text() != *v.Expect.Text {
			return fmt.Errorf("text %q, want %q", r.Text(), *v.Expect.Text)
		}
		if !r.Value().Equal(v.Expect.Value) {
			return fmt.Errorf("value %s, want %s", r.Value(), v.Expect.Value)
		}
	}
	if r.ConcludesTurn() != v.Expect.ConcludesTurn {
		return fmt.Errorf("concludesTurn is %v", r.ConcludesTurn())
	}
	if d := cmp.Diff(overlaps(v.Expect.BodyOrder), overlaps(w.bodyOrder())); v.Expect.BodyOrder != nil && d != "" {
		return fmt.Errorf("bodies: %s", d)
	}
	if err := compareContexts(v, r); err != nil {
		return err
	}
	return compareEvents(v, w.log())
}

// overlaps sorts bodies that start, or end, one right after the other: which is
// first is a matter of milliseconds on a busy machine.
func overlaps(order []string) []string {
	out := slices.Clone(order)
	word := func(s string) string { w, _, _ := strings.Cut(s, " "); return w }
	for i := 0; i < len(out); {
		j := i
		for j < len(out) && word(out[j]) == word(out[i]) {
			j++
		}
		slices.Sort(out[i:j])
		i = j
	}
	return out
}

// compareLayout wants the same words in another arrangement.
func compareLayout(v programVector, r *registry.Result) error {
	words := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if words(r.Text()) != words(*v.Expect.Text) {
		return fmt.Errorf("text %q, want %q", r.Text(), *v.Expect.Text)
	}
	return nil
}

func compareContexts(v programVector, r *registry.Result) error {
	contexts := r.Contexts()
	if len(contexts) != len(v.Expect.Contexts) {
		return fmt.Errorf("%d contexts, want %d", len(contexts), len(v.Expect.Contexts))
	}
	for i, want := range v.Expect.Contexts {
		var types []string
		for _, b := range contexts[i].Content {
			types = append(types, b.Type())
		}
		if !contexts[i].Source.Equal(want.Source) || !slices.Equal(types, want.Types) {
			return fmt.Errorf("context %s %v, want %s %v", contexts[i].Source, types, want.Source, want.Types)
		}
	}
	return nil
}

// compareEvents compares the starts among themselves and the ends among
// themselves; how they interleave is not normative.
func compareEvents(v programVector, log []event) error {
	for _, typ := range []string{"tool/code-dispatch-start", "tool/code-dispatch"} {
		var got, want []string
		for _, e := range log {
			if e.Type != typ {
				continue
			}
			line := e.Data.GetString("subCallId") + " " + e.Data.GetString("name") + " " + e.Data.Get("arguments").String()
			if typ == "tool/code-dispatch" {
				line += " " + e.Data.Get("isError").String() + " " + e.Data.Get("content").String()
			}
			got = append(got, line)
			if e.Data.GetString("rootCallId") != "c1" || e.Data.GetString("parentCallId") != "c1" {
				return fmt.Errorf("the event names another call: %s", e.Data)
			}
		}
		for _, e := range v.Expect.Events {
			if e.Type != typ {
				continue
			}
			line := e.SubCallID + " " + e.Name + " " + e.Arguments.String()
			if typ == "tool/code-dispatch" {
				isError, _ := json.Marshal(e.IsError)
				line += " " + string(isError) + " " + e.Content.String()
			}
			want = append(want, line)
		}
		if d := cmp.Diff(want, got); d != "" {
			return fmt.Errorf("%s: %s", typ, d)
		}
	}
	return nil
}
