package registry

import (
	"context"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// Tool is a registered tool: the snapshot of its [Definition] with its schemas
// compiled. Presentation and dispatch resolve the same Tool (decision 2).
type Tool struct {
	def        Definition
	parameters jsonvalue.Value
	args       *schema.ParamsValidator // nil for raw parameters (rule R2.8)
	output     *schema.Validator
	scope      string
	log        func(what string, err error)
	missing    bool
}

// newTool checks and snapshots def in the order of rule R2.1: output, its
// schema, timeout; then the parameters. Reserved and duplicate names are
// checked by who inserts.
func newTool(def Definition, r *Registry) (*Tool, error) {
	if def.Name == "" {
		return nil, errorf(CodeInvalidTool, "a tool must have a name")
	}
	if def.Output.Render == nil || def.Output.Schema.IsUndefined() {
		return nil, errorf(CodeInvalidTool, "tool %s must declare output { schema, render, presentationMeta? }", quote(def.Name))
	}
	output, err := schema.Compile(def.Output.Schema)
	if err != nil {
		return nil, err
	}
	if def.Timeout < 0 {
		return nil, errorf(CodeInvalidTool, "tool %s timeoutMs must be a positive finite number", quote(def.Name))
	}
	if def.Execute == nil {
		return nil, errorf(CodeInvalidTool, "tool %s must have an Execute function", quote(def.Name))
	}
	t := &Tool{def: def, output: output}
	t.log = func(what string, err error) {
		r.log.Warn(what+" failed", "tool", def.Name, "err", err)
	}
	raw := def.RawParameters
	switch {
	case raw.IsUndefined():
		if t.parameters, err = def.Parameters.JSONSchema(); err != nil {
			return nil, err
		}
		if t.args, err = schema.CompileParams(def.Parameters); err != nil {
			return nil, err
		}
	case def.Parameters != nil:
		return nil, errorf(CodeInvalidTool, "tool %s declares both Parameters and RawParameters: set one", quote(def.Name))
	default:
		if err := jsonvalue.CheckLossless(raw); err != nil {
			return nil, errorf(CodeInvalidTool, "tool parameters must be losslessly JSON-serializable")
		}
		t.parameters = raw
	}
	// What was compiled is what counts; the caller's slice may change.
	t.def.Parameters = nil
	return t, nil
}

// ToolSchema is what the model is told about a tool: these three and nothing
// else, ever (rule R3.1).
type ToolSchema struct {
	Name        string
	Description string
	Parameters  jsonvalue.Value
}

// Schema is the projection of the tool for the model (rule R3.1).
func (t *Tool) Schema() ToolSchema {
	return ToolSchema{Name: t.def.Name, Description: t.def.Description, Parameters: t.parameters}
}

// Name is how the model calls the tool (rule R2.6).
func (t *Tool) Name() string { return t.def.Name }

// Description is what the model reads about the tool (rule R3.1).
func (t *Tool) Description() string { return t.def.Description }

// Parameters is the JSON Schema of the arguments (rules R9.1 to R9.3).
func (t *Tool) Parameters() jsonvalue.Value { return t.parameters }

// Typed reports whether arguments are validated before the body (rules R9.4, R2.8).
func (t *Tool) Typed() bool { return t.args != nil }

// OutputSchema is the schema of the canonical value (rule R10.1).
func (t *Tool) OutputSchema() jsonvalue.Value { return t.def.Output.Schema }

// Timeout is the tool's own budget, 0 for none (rules R2.3, R8.1).
func (t *Tool) Timeout() time.Duration { return t.def.Timeout }

// Origin is the label of the scope that the tool was registered in (rule R1.2).
func (t *Tool) Origin() string { return t.scope }

// IsTransport reports whether the tool is run_code (rule R2.5).
func (t *Tool) IsTransport() bool { return t.def.Name == RunCode }

// ValidateArgs lists what is wrong with the arguments; always nothing for raw
// parameters (rules R9.4, R2.8).
func (t *Tool) ValidateArgs(args jsonvalue.Value) []string {
	if t.args == nil {
		return nil
	}
	return t.args.ValidateArgs(args)
}

// ValidateOutput lists what is wrong with a value, rooted at "value" (rule R5.25).
func (t *Tool) ValidateOutput(value jsonvalue.Value) []string {
	if t.output == nil {
		return nil
	}
	return t.output.Validate(value, "value")
}

// Execute runs the body. The pipeline calls it; panics are the caller's to
// contain (rule R5.24).
func (t *Tool) Execute(ctx context.Context, args jsonvalue.Value, run Run) (jsonvalue.Value, error) {
	return t.def.Execute(ctx, args, run)
}

// Render turns a value into what the model reads. A panic is contained and
// becomes an error (rule R5.25).
func (t *Tool) Render(args, value jsonvalue.Value) (blocks []content.Block, err error) {
	defer t.recovered("output.render", &err)
	return t.def.Output.Render(args, value)
}

// PresentationMeta is the payload for the result card, Undefined when the tool
// has none. A panic is contained and becomes an error (rules R5.25, R5.26).
func (t *Tool) PresentationMeta(args, value jsonvalue.Value) (meta jsonvalue.Value, err error) {
	if t.def.Output.PresentationMeta == nil {
		return jsonvalue.Value{}, nil
	}
	defer t.recovered("output.presentationMeta", &err)
	return t.def.Output.PresentationMeta(args, value)
}

// HasFinalizer reports whether the tool finalises content (rule R5.34).
func (t *Tool) HasFinalizer() bool { return t.def.FinalizeContent != nil }

// FinalizeContent runs the tool's finaliser; nil keeps the content. A panic is
// contained and becomes an error (rule R5.34).
func (t *Tool) FinalizeContent(exec *Execution, r *Result) (blocks []content.Block, err error) {
	defer t.recovered("finalizeContent", &err)
	return t.def.FinalizeContent(exec, r)
}

// ConcurrencySafe reports whether a call with these arguments may overlap
// others: the classifier says so, and the arguments are valid. No classifier
// and a panic mean no (rule R13.2).
func (t *Tool) ConcurrencySafe(args jsonvalue.Value) (safe bool) {
	if t.def.ConcurrencySafe == nil || len(t.ValidateArgs(args)) > 0 {
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			safe = false
			t.log("concurrency classifier", t.panicError("the classifier", p))
		}
	}()
	return t.def.ConcurrencySafe(args)
}

// PresentCall is the card of the pending call, nil for the generic one: when
// the tool has no presenter, the arguments do not fit, or it panics
// (rules R9.5, R12.2).
func (t *Tool) PresentCall(args jsonvalue.Value) (card *cards.Call) {
	if t.def.PresentCall == nil || len(t.ValidateArgs(args)) > 0 {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			card = nil
			t.log("presentCall", t.panicError("presentCall", p))
		}
	}()
	return t.def.PresentCall(args)
}

// PresentResult is the card of the finished call, nil for the generic one, as
// with [Tool.PresentCall] (rules R9.5, R12.2).
func (t *Tool) PresentResult(args jsonvalue.Value, in cards.ResultInput) (card *cards.Result) {
	if t.def.PresentResult == nil || len(t.ValidateArgs(args)) > 0 {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			card = nil
			t.log("presentResult", t.panicError("presentResult", p))
		}
	}()
	return t.def.PresentResult(args, in)
}

func (t *Tool) recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = t.panicError(what, p)
	}
}

func (t *Tool) panicError(what string, p any) error {
	return errorf(CodePanic, "%s of tool %s panicked: %v", what, quote(t.def.Name), p)
}
