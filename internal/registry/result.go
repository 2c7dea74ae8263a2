package registry

import (
	"errors"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// ErrorInfo is the structured part of a failure. Message is what the model
// reads after "Error: "; Name and Code are empty for an uncoded failure (rule R7.1).
type ErrorInfo struct {
	Message string
	Name    string
	Code    string
}

// Result is the outcome of a call. It has no mutator: what an observer was
// shown is what is logged (rules R5.35, R5.36). It carries no call id, which
// lives on the [Execution] beside it (decision 7).
type Result struct {
	content   []content.Block
	isError   bool
	err       ErrorInfo
	value     jsonvalue.Value
	meta      jsonvalue.Value
	contexts  []Context
	concludes bool
}

// ResultSpec is the data of a [Result] that a pipeline builds with [NewResult] (rule R5.35).
type ResultSpec struct {
	Content       []content.Block
	IsError       bool
	Error         ErrorInfo
	Value         jsonvalue.Value
	Meta          jsonvalue.Value
	Contexts      []Context
	ConcludesTurn bool
}

// NewResult freezes a copy of spec (rule R5.35).
func NewResult(spec ResultSpec) *Result {
	return &Result{
		content: slices.Clone(spec.Content), isError: spec.IsError, err: spec.Error,
		value: spec.Value, meta: spec.Meta, contexts: cloneContexts(spec.Contexts), concludes: spec.ConcludesTurn,
	}
}

// Success is a result with a value and nothing else, as a wrapper returns it:
// the pipeline validates and renders the value (rule R5.21).
func Success(value jsonvalue.Value) *Result { return &Result{value: value} }

// Failure is a failed result whose content is "Error: " and the message (rule R7.1).
func Failure(info ErrorInfo) *Result {
	return &Result{isError: true, err: info, content: []content.Block{content.Text("Error: " + info.Message)}}
}

// FailureContent is a failed result with its own content, as post-execute
// feedback has it (rule R5.30).
func FailureContent(info ErrorInfo, blocks []content.Block) *Result {
	return &Result{isError: true, err: info, content: slices.Clone(blocks)}
}

// IsError reports whether the call failed (rule R7.1).
func (r *Result) IsError() bool { return r.isError }

// Content is what the model reads, as a copy that the caller may change (rule R5.35).
func (r *Result) Content() []content.Block { return slices.Clone(r.content) }

// Text joins the text blocks of the content by newlines (rule R7.1).
func (r *Result) Text() string { return content.JoinText(r.content) }

// ErrorInfo is the failure, the zero value for a success (rule R7.1).
func (r *Result) ErrorInfo() ErrorInfo { return r.err }

// Value is the canonical value of a success, Undefined for a failure. It is for
// whoever made the call and is never logged (rule R14.1).
func (r *Result) Value() jsonvalue.Value { return r.value }

// Meta is the presentation meta for the result card, Undefined when there is none (rule R5.26).
func (r *Result) Meta() jsonvalue.Value { return r.meta }

// Contexts is the model-facing context that follows the step's results, in
// order, as a copy (rule R5.31, decision 8).
func (r *Result) Contexts() []Context { return cloneContexts(r.contexts) }

// HasContexts reports whether there is any context, without copying it (decision 8).
func (r *Result) HasContexts() bool { return len(r.contexts) > 0 }

// ConcludesTurn reports whether the turn ends after the batch (rules R5.26, R13.9).
func (r *Result) ConcludesTurn() bool { return r.concludes }

// Spec is a copy of everything in r (rule R5.35).
func (r *Result) Spec() ResultSpec {
	return ResultSpec{
		Content: r.Content(), IsError: r.isError, Error: r.err, Value: r.value, Meta: r.meta,
		Contexts: r.Contexts(), ConcludesTurn: r.concludes,
	}
}

// WithContexts is r with more context at the end (rule R5.31).
func (r *Result) WithContexts(more ...Context) *Result {
	c := *r
	c.contexts = append(slices.Clone(r.contexts), cloneContexts(more)...)
	return &c
}

// WithContent is r with other content, everything else the same (rules R5.29, R5.34).
func (r *Result) WithContent(blocks []content.Block) *Result {
	c := *r
	c.content = slices.Clone(blocks)
	return &c
}

// CheckLossless refuses a result that does not survive a trip through JSON, for
// the log appends it later (rule R5.35).
func (r *Result) CheckLossless() error {
	for i := range r.content {
		if err := jsonvalue.CheckLossless(r.content[i].Value()); err != nil {
			return err
		}
	}
	if !r.value.IsUndefined() {
		if err := jsonvalue.CheckLossless(r.value); err != nil {
			return err
		}
	}
	if !r.meta.IsUndefined() {
		if err := jsonvalue.CheckLossless(r.meta); err != nil {
			return err
		}
	}
	for i := range r.contexts {
		if err := r.contexts[i].checkLossless(); err != nil {
			return err
		}
	}
	return nil
}

// ToValue is the result as JSON: content, isError, and error, value, meta,
// additionalContexts, concludesTurn where there are any (rule R7.1, decision 8).
func (r *Result) ToValue() jsonvalue.Value {
	ms := []jsonvalue.Member{
		{Key: "content", Value: content.ToValue(r.content)},
		{Key: "isError", Value: jsonvalue.Bool(r.isError)},
	}
	if r.isError {
		e := []jsonvalue.Member{{Key: "message", Value: jsonvalue.String(r.err.Message)}}
		if r.err.Code != "" {
			e = append(e, jsonvalue.Member{Key: "info", Value: jsonvalue.Object(
				jsonvalue.Member{Key: "name", Value: jsonvalue.String(r.err.Name)},
				jsonvalue.Member{Key: "code", Value: jsonvalue.String(r.err.Code)})})
		}
		ms = append(ms, jsonvalue.Member{Key: "error", Value: jsonvalue.Object(e...)})
	}
	if !r.value.IsUndefined() {
		ms = append(ms, jsonvalue.Member{Key: "value", Value: r.value})
	}
	if !r.meta.IsUndefined() {
		ms = append(ms, jsonvalue.Member{Key: "meta", Value: r.meta})
	}
	if len(r.contexts) > 0 {
		cs := make([]jsonvalue.Value, len(r.contexts))
		for i, c := range r.contexts {
			cs[i] = c.ToValue()
		}
		ms = append(ms, jsonvalue.Member{Key: "additionalContexts", Value: jsonvalue.Array(cs...)})
	}
	if r.concludes {
		ms = append(ms, jsonvalue.Member{Key: "concludesTurn", Value: jsonvalue.Bool(true)})
	}
	return jsonvalue.Object(ms...)
}

var errMalformedResult = errors.New("tools/execute must return a ToolExecutionResult with content[] and boolean isError")

// ResultFromValue reads a result that comes from outside the process, such as a
// wrapper in a plugin. Anything malformed is an error, so that it fails the
// call and never passes for a success (rule R5.21).
func ResultFromValue(v jsonvalue.Value) (*Result, error) {
	isError, ok := v.Get("isError").Bool()
	if !v.IsObject() || !ok || !v.Get("content").IsArray() {
		return nil, errMalformedResult
	}
	blocks, err := content.ListFromValue(v.Get("content"))
	if err != nil {
		return nil, errMalformedResult
	}
	r := &Result{content: blocks, isError: isError}
	if cs := v.Get("additionalContexts"); !cs.IsUndefined() {
		if r.contexts, err = ContextsFromValue(cs); err != nil {
			return nil, err
		}
	}
	if !isError {
		r.value, r.meta = v.Get("value"), v.Get("meta")
		r.concludes, _ = v.Get("concludesTurn").Bool()
		return r, nil
	}
	e := v.Get("error")
	r.err = ErrorInfo{
		Message: e.GetString("message"),
		Name:    e.Get("info").GetString("name"),
		Code:    e.Get("info").GetString("code"),
	}
	if _, ok := e.Get("message").Str(); !ok {
		r.err.Message = FeedbackMessage(blocks)
	}
	return r, nil
}

// FeedbackMessage is the error message of a failure that only has content: its
// text blocks joined by newlines, other blocks as placeholders, and a fixed
// text when there is nothing (rule R5.30).
func FeedbackMessage(blocks []content.Block) string {
	if len(blocks) == 0 {
		return "tool result blocked by post-execute policy"
	}
	var out []byte
	for i, b := range blocks {
		if i > 0 {
			out = append(out, '\n')
		}
		if s, ok := b.Text(); ok {
			out = append(out, s...)
		} else {
			out = append(append(append(out, '['), b.Type()...), " content]"...)
		}
	}
	return string(out)
}
