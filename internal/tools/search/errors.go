package search

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
)

// Codes of the failures of the search tools. They stand beside the text in the
// log.
const (
	CodeInvalidPattern = "SEARCH_INVALID_PATTERN"
	CodeFailed         = "SEARCH_FAILED"
)

// Error is a failure of a search tool: what the model reads, and a code.
type Error struct{ message, code string }

func (e *Error) Error() string { return e.message }

// Code is one of the Code constants.
func (e *Error) Code() string { return e.code }

// ErrorName is the same for all of them.
func (e *Error) ErrorName() string { return "SearchError" }

func fail(code, format string, args ...any) error {
	return &Error{message: fmt.Sprintf(format, args...), code: code}
}

// reason is an error of the file system in the few words that fit a list.
func reason(err error) string {
	switch {
	case errors.Is(err, iofs.ErrPermission):
		return "permission denied"
	case errors.Is(err, iofs.ErrNotExist):
		return "not found"
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

// ended is the error to return once ctx has ended, nil before.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
