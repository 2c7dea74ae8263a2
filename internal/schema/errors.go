package schema

import "strings"

// UnsupportedError lists every reason why a schema is outside the vocabulary
// it was checked against (section 7, rules R10.1 and R10.2).
type UnsupportedError struct {
	Violations []string
	older      bool
}

// Error joins the violations behind the fixed prefix of the edition.
func (e *UnsupportedError) Error() string {
	prefix := "unsupported JSON schema: "
	if e.older {
		prefix = "unsupported output schema: "
	}
	return prefix + strings.Join(e.Violations, "; ")
}

// Code is UNSUPPORTED_SCHEMA.
func (e *UnsupportedError) Code() string { return "UNSUPPORTED_SCHEMA" }

// ErrorName is JsonSchemaError, or OutputSchemaError for the older vocabulary.
func (e *UnsupportedError) ErrorName() string {
	if e.older {
		return "OutputSchemaError"
	}
	return "JsonSchemaError"
}

// ArgsError lists how arguments break a tool's parameters (section 7).
type ArgsError struct {
	Violations []string
}

// Error joins the violations behind the fixed prefix.
func (e *ArgsError) Error() string {
	return "invalid arguments: " + strings.Join(e.Violations, "; ")
}

// Code is INVALID_ARGS.
func (e *ArgsError) Code() string { return "INVALID_ARGS" }

// ErrorName is ToolArgsError.
func (e *ArgsError) ErrorName() string { return "ToolArgsError" }
