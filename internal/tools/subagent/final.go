package subagent

import (
	"context"
	_ "embed" // the tool's description
	"fmt"
	"strings"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// FinalName is the tool by which a subagent hands in a structured result. Only a
// session of which one is demanded has it.
const FinalName = "final_answer"

// MaxInvalid is how many results that do not fit are answered with what is wrong
// with them. After one more the work ends without a result.
const MaxInvalid = 3

//go:embed final.md
var finalDescription string

// Final takes the structured result of one session. It is safe for concurrent
// use.
type Final struct {
	schema    jsonvalue.Value
	validator *schema.Validator

	mu      sync.Mutex
	value   jsonvalue.Value // Undefined until a result fits
	invalid int
	wrong   []string // with the last one that did not fit
}

// NewFinal makes the taker of results of a shape. A schema outside the subset
// that is enforced is an error that lists every violation (rule R10.1).
func NewFinal(shape jsonvalue.Value) (*Final, error) {
	v, err := schema.CompileObject(shape)
	if err != nil {
		return nil, err
	}
	return &Final{schema: shape, validator: v}, nil
}

// Register adds the tool to the session's own scope. The model is shown the
// schema as it was given.
func (f *Final) Register(scope *registry.Scope) error {
	_, err := scope.Register(registry.Definition{
		Name:          FinalName,
		Description:   strings.TrimSpace(finalDescription),
		RawParameters: f.schema,
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("", schema.Required("accepted", schema.Boolean("The result was taken.")))),
			Render: func(_, _ jsonvalue.Value) ([]content.Block, error) {
				return []content.Block{content.Text("The result was taken.")}, nil
			},
		},
		Execute: f.take,
	})
	return err
}

func (f *Final) take(_ context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	wrong := f.validator.Validate(args, "result")
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(wrong) > 0 {
		f.invalid++
		f.wrong = wrong
		return jsonvalue.Value{}, pipeline.NewError("ToolArgsError", pipeline.CodeInvalidArgs, "the result does not fit its schema: "+list(wrong))
	}
	f.value = args
	run.ConcludeTurn()
	return jsonvalue.Object(jsonvalue.Member{Key: "accepted", Value: jsonvalue.Bool(true)}), nil
}

// list joins violations; a model that is far off need not read all of them.
func list(wrong []string) string {
	const most = 20
	if n := len(wrong); n > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(wrong[:most], "; "), n-most)
	}
	return strings.Join(wrong, "; ")
}

// Value is the result that was taken, the last one; Undefined when there is none.
func (f *Final) Value() jsonvalue.Value {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value
}

// GaveUp says whether there is no result and no more attempt.
func (f *Final) GaveUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value.IsUndefined() && f.invalid > MaxInvalid
}

// Missing says why there is no result.
func (f *Final) Missing() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.invalid == 0 {
		return pipeline.NewError("SubagentOutputError", "NO_STRUCTURED_OUTPUT", "subagent run ended without the result that outputSchema demands: it never called "+FinalName)
	}
	return pipeline.NewError("SubagentOutputError", "INVALID_STRUCTURED_OUTPUT",
		fmt.Sprintf("subagent run ended without a result that fits outputSchema, after %d attempts; the last one: %s", f.invalid, list(f.wrong)))
}
