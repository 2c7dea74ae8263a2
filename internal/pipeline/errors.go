package pipeline

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// The codes of failed results that the pipeline itself makes (specification 7, rule R7.1).
const (
	CodeUnknownTool           = "UNKNOWN_TOOL"
	CodeInvalidArgs           = "INVALID_ARGS"
	CodeInvalidToolOutput     = "INVALID_TOOL_OUTPUT"
	CodeAbortedBeforeDispatch = "ABORTED_BEFORE_DISPATCH"
	CodeAborted               = "ABORTED"
	CodeToolTimeout           = "TOOL_TIMEOUT"
)

// CodedError is an error with a stable code and the name of its kind. Tools
// return one to give a failed result its {name, code} (rule R5.24).
type CodedError interface {
	error
	Code() string
	ErrorName() string
}

type codedError struct{ name, code, message string }

func (e *codedError) Error() string     { return e.message }
func (e *codedError) Code() string      { return e.code }
func (e *codedError) ErrorName() string { return e.name }

// NewError returns a [CodedError] (rule R5.24).
func NewError(name, code, message string) error { return &codedError{name, code, message} }

// ThrownError is the error for a value that something outside the process threw
// in place of an error, such as a plugin's JSON: its message is a string
// message property, else the value as JavaScript turns it into text (rule R5.24).
func ThrownError(v jsonvalue.Value) error {
	if s, ok := v.Get("message").Str(); ok {
		if code := v.GetString("code"); code != "" {
			name := v.GetString("name")
			if name == "" {
				name = "Error"
			}
			return NewError(name, code, s)
		}
		return errors.New(s)
	}
	return errors.New(jsText(v))
}

// jsText is String(v) for JSON values.
func jsText(v jsonvalue.Value) string {
	switch v.Kind() {
	case jsonvalue.StringKind:
		s, _ := v.Str()
		return s
	case jsonvalue.ObjectKind:
		return "[object Object]"
	case jsonvalue.Undefined:
		return "undefined"
	case jsonvalue.ArrayKind:
		var out []byte
		for i, e := range v.Elements() {
			if i > 0 {
				out = append(out, ',')
			}
			if !e.IsNull() && !e.IsUndefined() {
				out = append(out, jsText(e)...)
			}
		}
		return string(out)
	}
	return v.Canonical()
}

// infoOf is the structured failure of an error (rules R5.24, R7.1).
func infoOf(err error) (info registry.ErrorInfo) {
	defer func() {
		if recover() != nil {
			info = registry.ErrorInfo{Message: "<unprintable thrown value>"}
		}
	}()
	info.Message = err.Error()
	var coded CodedError
	if errors.As(err, &coded) {
		info.Name, info.Code = coded.ErrorName(), coded.Code()
	}
	return info
}

func failed(err error) *Result { return registry.Failure(infoOf(err)) }

// denied is a refusal: a reason and no code (rule R5.18).
func denied(reason string) *Result { return registry.Failure(registry.ErrorInfo{Message: reason}) }

// The two cancellations differ so that a reader of the log knows whether
// anything may have happened (rules R5.7, R5.27).
var (
	errAbortedBefore = NewError("AbortError", CodeAbortedBeforeDispatch, "tool call aborted before dispatch")
	errAborted       = NewError("AbortError", CodeAborted, "tool call aborted")
	abortedBefore    = failed(errAbortedBefore)
)

// AbortedBeforeDispatch is the result of a call that was cancelled before its
// body could run (rules R5.7, R13.7).
func AbortedBeforeDispatch() *Result { return abortedBefore }

// aborted is the result of a call whose body ran and was cancelled; contexts
// deferred by the body are kept (rule R5.27).
func aborted(contexts []registry.Context) *Result {
	return failed(errAborted).WithContexts(contexts...)
}

func unknownTool(name string) error {
	return NewError("ToolNotFoundError", CodeUnknownTool, `unknown tool "`+name+`"`)
}

// collapsed refuses a direct call in code mode and names the way back (rule R5.5).
func collapsed(name string) error {
	return NewError("ToolNotFoundError", CodeUnknownTool,
		`unknown tool "`+name+"\": only `run_code` is callable directly — call `"+name+"` from inside a `run_code` program instead")
}

func invalidOutput(name, what string) error {
	return NewError("ToolOutputError", CodeInvalidToolOutput, `tool "`+name+`" returned invalid output: `+what)
}

// panicked is the error of a contained panic; the stack goes to the log.
type panicError struct {
	msg   string
	stack []byte
}

func (e *panicError) Error() string { return e.msg }

func (p *Pipeline) panicked(what, tool string, v any) error {
	e := &panicError{msg: fmt.Sprintf("%s of tool %q panicked: %s", what, tool, printed(v)), stack: debug.Stack()}
	p.log.Error("contained a panic", "what", what, "tool", tool, "panic", printed(v), "stack", string(e.stack))
	return e
}

// printed is the text of a recovered value, whatever its methods do.
func printed(v any) (s string) {
	defer func() {
		if recover() != nil {
			s = "<unprintable thrown value>"
		}
	}()
	return fmt.Sprint(v)
}
