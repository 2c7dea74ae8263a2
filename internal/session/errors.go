package session

import (
	"errors"
	"fmt"
)

// What callers may want to tell apart with errors.Is.
var (
	// ErrNotFound: the store has no session of that id.
	ErrNotFound = errors.New("no such session")
	// ErrExists: the store already has a session of that id.
	ErrExists = errors.New("the session exists already")
	// ErrLocked: another process, or another part of this one, has the session
	// open for writing.
	ErrLocked = errors.New("the session is open elsewhere: close it there first")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("the session log is closed")
	// ErrReentrant: a subscriber appended while it was being told of an event
	// (rule R14.2).
	ErrReentrant = errors.New("a subscriber must not append to the log while it is being told of an event")
	// ErrInvalidEvent: a draft breaks the log's rules; nothing was written.
	ErrInvalidEvent = errors.New("invalid session event")
)

// WriteError is a write that failed. The log refuses every later append with
// the same error until it is opened again.
type WriteError struct {
	Path string
	// Seq is the first event that is not in the file.
	Seq int64
	// Err is the cause.
	Err error
	// CutErr is set when the file could not be cut back to its last whole
	// event either; the torn line is cut off when the log is next opened.
	CutErr error
}

// Error says what was lost and what to do.
func (e *WriteError) Error() string {
	s := fmt.Sprintf("the session log %s could not be written (event %d and later are not stored): %v; make room or fix the folder, then load the session again",
		e.Path, e.Seq, e.Err)
	if e.CutErr != nil {
		s += fmt.Sprintf(" (its torn last line could not be removed now: %v)", e.CutErr)
	}
	return s
}

// Unwrap gives the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// CorruptError is a log that cannot be read.
type CorruptError struct {
	// Path is empty when the log did not come from a file.
	Path string
	// Line is 1-based.
	Line int
	// Err is what is wrong with the line.
	Err error
}

// Error names the file, the line and the fault.
func (e *CorruptError) Error() string {
	where := e.Path
	if where == "" {
		where = "session log"
	}
	return fmt.Sprintf("%s:%d: %v", where, e.Line, e.Err)
}

// Unwrap gives the fault.
func (e *CorruptError) Unwrap() error { return e.Err }

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalidEvent, fmt.Errorf(format, args...))
}
