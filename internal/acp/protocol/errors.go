package protocol

import (
	"encoding/json"
	"fmt"
)

// Code is a JSON-RPC error code as ACP v1 uses it.
type Code int

// The codes of ACP v1. Each stands for one kind of trouble; none is a
// catch-all for another.
const (
	// CodeParseError says that a line was not JSON text.
	CodeParseError Code = -32700
	// CodeInvalidRequest says that a message was JSON but no JSON-RPC request,
	// or that it came at a time when it cannot be served.
	CodeInvalidRequest Code = -32600
	// CodeMethodNotFound says that nobody here serves the method.
	CodeMethodNotFound Code = -32601
	// CodeInvalidParams says that a parameter is missing or wrong; the data
	// names it.
	CodeInvalidParams Code = -32602
	// CodeInternalError says that the agent itself failed.
	CodeInternalError Code = -32603
	// CodeAuthRequired says that the client has to authenticate first.
	CodeAuthRequired Code = -32000
	// CodeNotFound says that a named thing, such as a session or a file, does
	// not exist.
	CodeNotFound Code = -32002
	// CodeCancelled says that the request was cancelled, by the peer or by a
	// shutdown.
	CodeCancelled Code = -32800
)

// Error is a JSON-RPC error object: what a failed request is answered with,
// and what a failed call of ours returns.
type Error struct {
	// Code tells the kind of trouble.
	Code Code `json:"code"`
	// Message is one sentence for a person.
	Message string `json:"message"`
	// Data is optional machine-readable detail, a JSON text.
	Data json.RawMessage `json:"data,omitempty"`
}

// Error gives the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// WithData returns a copy of the error that carries v as its data. A value
// that has no JSON form leaves the data as it was.
func (e *Error) WithData(v any) *Error {
	c := *e
	if b, err := encode(v); err == nil {
		c.Data = b
	}
	return &c
}

// WithDetails returns a copy of the error whose data is {"details": text}, the
// member that clients print beside or instead of the message.
func (e *Error) WithDetails(text string) *Error {
	return e.WithData(map[string]string{"details": text})
}

func newError(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// ParseError reports a line that is not JSON text.
func ParseError(why string) *Error { return newError(CodeParseError, "Parse error: "+why) }

// InvalidRequest reports a message that is no request, or one that cannot be
// served now.
func InvalidRequest(why string) *Error {
	return newError(CodeInvalidRequest, "Invalid request: "+why)
}

// MethodNotFound reports a method that is not served.
func MethodNotFound(method string) *Error {
	return newError(CodeMethodNotFound, "Method not found: "+method).
		WithData(map[string]string{"method": method})
}

// InvalidParams reports a wrong parameter. The field is a path such as
// prompt[2].type and stands in the message, before why, and in data.field; an
// empty field means the parameters as a whole.
func InvalidParams(field, why string) *Error {
	if field == "" {
		return newError(CodeInvalidParams, "Invalid params: "+why)
	}
	return badParam(field, field+": "+why)
}

// badParam is InvalidParams with a sentence that names the field by itself.
func badParam(field, sentence string) *Error {
	return newError(CodeInvalidParams, "Invalid params: "+sentence).
		WithData(map[string]string{"field": field})
}

// InternalError reports a failure of the agent itself.
func InternalError(why string) *Error {
	if why == "" {
		return newError(CodeInternalError, "Internal error")
	}
	return newError(CodeInternalError, "Internal error: "+why)
}

// AuthRequired asks the client to authenticate before it tries again.
func AuthRequired(why string) *Error {
	return newError(CodeAuthRequired, "Authentication required: "+why)
}

// NotFound reports that a thing the request names does not exist; what is such
// as "session abc".
func NotFound(what string) *Error { return newError(CodeNotFound, what+" not found") }

// Cancelled reports a request that was cancelled before it was done.
func Cancelled(why string) *Error { return newError(CodeCancelled, "Request cancelled: "+why) }
