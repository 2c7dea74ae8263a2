package model

import (
	"errors"
	"fmt"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// FinishKind says why an answer ended.
type FinishKind string

// The finish kinds.
const (
	FinishStop          FinishKind = "stop"
	FinishToolCalls     FinishKind = "tool-calls"
	FinishMaxTokens     FinishKind = "max-tokens"
	FinishContentFilter FinishKind = "content-filter"
	FinishAborted       FinishKind = "aborted"
	FinishError         FinishKind = "error"
)

// Whole reports whether an answer that ended this way is complete, so that its
// tool calls may be run. A call of an answer that was cut may be a fragment.
func (k FinishKind) Whole() bool { return k == FinishStop || k == FinishToolCalls }

// FinishReason is the end of an answer. Failure is set for FinishAborted and
// FinishError only.
type FinishReason struct {
	Kind    FinishKind
	Failure *Error
}

// Value is the reason as the log holds it.
func (f FinishReason) Value() jsonvalue.Value {
	ms := []jsonvalue.Member{str("kind", string(f.Kind))}
	if f.Failure != nil {
		ms = append(ms, jsonvalue.Member{Key: "failure", Value: f.Failure.Value()})
	}
	return jsonvalue.Object(ms...)
}

func finishFromValue(v jsonvalue.Value) (FinishReason, error) {
	f := FinishReason{Kind: FinishKind(v.GetString("kind"))}
	if f.Kind == "" {
		return f, errors.New(`a finish reason must be an object with a string "kind"`)
	}
	if x, ok := v.Lookup("failure"); ok {
		if !x.IsObject() {
			return f, errors.New("a finish failure must be an object")
		}
		f.Failure = &Error{Message: x.GetString("message"), Code: x.GetString("code")}
	}
	return f, nil
}

// Error is a failure of a provider. Message is meant for the person and tells
// what to do next; Code is a stable word such as AUTH or RATE_LIMITED, and may
// be empty.
type Error struct {
	Message string
	Code    string
	// Status is the HTTP status; 0 when there was none.
	Status int
	// Retryable says that the same request may succeed later; RetryAfter is
	// how long the server asked to wait, 0 when it did not.
	Retryable  bool
	RetryAfter time.Duration
	// Wait is how long a recording waited before it asked again, to wait as long
	// when it is played; 0 leaves it to [Backoff].
	Wait time.Duration
	// Err is the cause, if any.
	Err error
}

// Error is the message.
func (e *Error) Error() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Value is the failure as the log holds it: {message, code?}.
func (e *Error) Value() jsonvalue.Value {
	ms := []jsonvalue.Member{str("message", e.Error())}
	if e.Code != "" {
		ms = append(ms, str("code", e.Code))
	}
	return jsonvalue.Object(ms...)
}

// AsError gives err as an *Error: itself when it is or wraps one, else a new
// one around it without a code. nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Message: err.Error(), Err: err}
}

// Usage counts the tokens of one request and its answer. The optional counts
// are nil when the provider did not report them. InputTokens leaves out what
// CacheReadTokens counts; OutputTokens includes ReasoningTokens.
type Usage struct {
	InputTokens     int64
	OutputTokens    int64
	CacheReadTokens *int64
	ReasoningTokens *int64
}

// Context is how many tokens of the context window the request and its answer
// took. It describes one request: do not add it up over a session.
func (u Usage) Context() int64 {
	n := u.InputTokens + u.OutputTokens
	if u.CacheReadTokens != nil {
		n += *u.CacheReadTokens
	}
	return n
}

// Value is the usage as the log holds it.
func (u Usage) Value() jsonvalue.Value {
	return jsonvalue.Object(
		jsonvalue.Member{Key: "inputTokens", Value: jsonvalue.Int(u.InputTokens)},
		jsonvalue.Member{Key: "outputTokens", Value: jsonvalue.Int(u.OutputTokens)},
		jsonvalue.Member{Key: "cacheReadTokens", Value: optionalInt(u.CacheReadTokens)},
		jsonvalue.Member{Key: "reasoningTokens", Value: optionalInt(u.ReasoningTokens)},
	)
}

// UsageFromValue reads what [Usage.Value] writes. Counts must be integers that
// are not negative.
func UsageFromValue(v jsonvalue.Value) (Usage, error) {
	var u Usage
	if !v.IsObject() {
		return u, fmt.Errorf("usage must be an object, not %s", v.Kind())
	}
	for _, f := range []struct {
		key  string
		must *int64
		may  **int64
	}{
		{"inputTokens", &u.InputTokens, nil},
		{"outputTokens", &u.OutputTokens, nil},
		{"cacheReadTokens", nil, &u.CacheReadTokens},
		{"reasoningTokens", nil, &u.ReasoningTokens},
	} {
		x, given := v.Lookup(f.key)
		if !given && f.may != nil {
			continue
		}
		n, ok := x.Int64()
		if !ok || n < 0 {
			return u, fmt.Errorf("usage needs a count %q that is not negative", f.key)
		}
		if f.may != nil {
			*f.may = &n
		} else {
			*f.must = n
		}
	}
	return u, nil
}

func optionalInt(n *int64) jsonvalue.Value {
	if n == nil {
		return jsonvalue.Value{}
	}
	return jsonvalue.Int(*n)
}
