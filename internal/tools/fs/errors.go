package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"syscall"
)

// Codes of the failures of file tools. They stand beside the text in the log.
const (
	CodeNotFound       = "FS_NOT_FOUND"
	CodeNotRegularFile = "FS_NOT_REGULAR_FILE"
	CodeNotText        = "FS_NOT_TEXT"
	CodeNotDirectory   = "FS_NOT_DIRECTORY"
	CodeSymlinkLoop    = "FS_SYMLINK_LOOP"
	CodePermission     = "FS_PERMISSION_DENIED"
	CodeTooLarge       = "FS_TOO_LARGE"
	CodeIO             = "FS_IO"
	CodeAborted        = "FS_ABORTED"
	CodeSandboxDenied  = "FS_SANDBOX_DENIED"
	CodeNotObserved    = "FS_NOT_OBSERVED"
	CodeStaleVersion   = "FS_STALE_VERSION"
	CodeEditNotFound   = "FS_EDIT_NOT_FOUND"
	CodeAmbiguousEdit  = "FS_AMBIGUOUS_EDIT"
	CodeUnsaved        = "FS_UNSAVED_IN_EDITOR"
)

// Error is a failure of a file tool: what the model reads, and a code.
type Error struct{ message, code string }

func (e *Error) Error() string { return e.message }

// Code is one of the Code constants.
func (e *Error) Code() string { return e.code }

// ErrorName is the same for all of them.
func (e *Error) ErrorName() string { return "FsError" }

func fail(code, format string, args ...any) error {
	return &Error{message: fmt.Sprintf(format, args...), code: code}
}

// What a [FileSystem] returns besides the errors of package io/fs.
var (
	// ErrNotRegular means that the path names a directory, a device or the like.
	ErrNotRegular = errors.New("not a regular file")
	// ErrChanged means that the file is not the one that was resolved.
	ErrChanged = errors.New("the file changed meanwhile")
	// ErrTooLarge means that the file is larger than what fits a change.
	ErrTooLarge = fmt.Errorf("larger than %d MiB, the most that can be changed in one go", maxChange>>20)

	errBinary  = errors.New("binary file")
	errNotUTF8 = errors.New("invalid UTF-8 text")
)

// explain turns an error of the file system into what the model reads. verb is
// read, write or edit; path is the absolute path before links are followed.
func explain(ctx context.Context, verb, path string, err error) error {
	var done *Error
	if errors.As(err, &done) {
		return err
	}
	cannot := func(code, why string) error { return fail(code, "cannot %s %q: %s", verb, path, why) }
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fail(CodeAborted, "%s aborted", verb)
	case errors.Is(err, syscall.ENOTDIR):
		return fail(CodeNotDirectory, "cannot resolve %q: a parent path segment is not a directory", path)
	case errors.Is(err, syscall.ELOOP):
		return fail(CodeSymlinkLoop, "cannot resolve %q: too many symbolic links", path)
	case errors.Is(err, ErrChanged), errors.Is(err, iofs.ErrExist):
		return cannot(CodeStaleVersion, "file changed since it was read")
	case errors.Is(err, iofs.ErrNotExist):
		return cannot(CodeNotFound, "not found")
	case errors.Is(err, ErrNotRegular), errors.Is(err, syscall.EISDIR):
		return cannot(CodeNotRegularFile, ErrNotRegular.Error())
	case errors.Is(err, errBinary), errors.Is(err, errNotUTF8):
		return cannot(CodeNotText, err.Error())
	case errors.Is(err, iofs.ErrPermission):
		return cannot(CodePermission, "permission denied")
	case errors.Is(err, ErrTooLarge):
		return cannot(CodeTooLarge, err.Error())
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return cannot(CodeIO, err.Error())
}
