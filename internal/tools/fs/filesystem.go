package fs

import (
	"context"
	"io"
	"os"
)

// maxChange is the largest file that write compares and edit changes: both
// hold the text before and after in memory.
const maxChange = 64 << 20

// Target is a file that a path leads to.
type Target struct {
	// Path is absolute and lexically clean; messages show it.
	Path string
	// Real is the path once every symbolic link is followed, that of the last
	// component too: it is where the bytes are, and it identifies the file. For
	// a file that does not exist it is where it would be created.
	Real string
	// Exists says whether there is anything at Real, Regular whether it is a
	// regular file.
	Exists, Regular bool

	info os.FileInfo // of Real, nil when it does not exist
}

// FileSystem is where the file tools find and leave text. [Disk] is the one
// they use by default, [Editor] the one that goes through an editor's buffers.
// What is read for a change must be what the change is written to.
type FileSystem interface {
	// Resolve says what an absolute path leads to. A missing file is no error.
	Resolve(ctx context.Context, path string) (Target, error)
	// Open gives the bytes of a regular file. Where the model should know more
	// about them, what it returns has a method Note() string.
	Open(ctx context.Context, t Target) (io.ReadCloser, error)
	// Write makes data the content of the file, all or nothing. A file that
	// exists keeps its mode and must still be the one that was resolved, else
	// ErrChanged; one that did not exist must not have appeared, else
	// io/fs.ErrExist. Parent directories are made. The note is what the model
	// should know about where the content went; "" when it is simply on disk.
	Write(ctx context.Context, t Target, data []byte) (note string, err error)
}

// noteOf is what the model should know about what a file system opened.
func noteOf(opened any) string {
	if n, ok := opened.(interface{ Note() string }); ok {
		return n.Note()
	}
	return ""
}

// Provider is implemented by agents that bring a file system of their own.
type Provider interface{ FileSystem() FileSystem }
