package registry

import "fmt"

// Error is a refused change of the registry or of the prompt. Code is stable;
// Message says what to do about it, with the texts of rules R2.2 to R4.4.
type Error struct {
	Code    string
	Message string
}

// The codes of [Error].
const (
	// CodeInvalidTool: the definition itself is wrong (rules R2.2, R2.3, R2.7).
	CodeInvalidTool = "INVALID_TOOL"
	// CodeReservedName: the name belongs to the Code Mode transport (rule R2.5).
	CodeReservedName = "RESERVED_NAME"
	// CodeDuplicate: the layer already has an entry of that name (rule R2.4).
	CodeDuplicate = "DUPLICATE_NAME"
	// CodeInvalidRestriction: a restriction that names nothing or the wrong tools (rules R3.2, R3.5).
	CodeInvalidRestriction = "INVALID_RESTRICTION"
	// CodeInvalidMode: a presentation mode that cannot be (rule R4.1).
	CodeInvalidMode = "INVALID_MODE"
	// CodeNoRuntime: Code Mode without something to run programs (rule R4.3).
	CodeNoRuntime = "NO_CODE_RUNTIME"
	// CodeInvalidPrompt: sections, references or tool order that cannot be assembled (rules R4.4, R4.6).
	CodeInvalidPrompt = "INVALID_PROMPT"
	// CodeClosed: the scope or the owner has ended (rule R1.6).
	CodeClosed = "SCOPE_CLOSED"
	// CodeInvalidToken: the parent of a nested call is not a running call (decision 6).
	CodeInvalidToken = "INVALID_PARENT_TOKEN"
	// CodePanic: a callback of a plugin panicked; it was contained (rule R1.6).
	CodePanic = "CALLBACK_PANIC"
)

// Error is the message (rules R2.2 to R4.4).
func (e *Error) Error() string { return e.Message }

func errorf(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// contained runs f and turns a panic into an error that names what panicked.
func contained(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errorf(CodePanic, "%s panicked: %v", what, p)
		}
	}()
	return f()
}
