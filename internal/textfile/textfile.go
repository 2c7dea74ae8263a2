// Package textfile reads text files that somebody else wrote, for a prompt: it
// never blocks on a pipe or a device, never reads more than it was asked for,
// and never takes bytes for text that are none.
package textfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// What can be wrong with a file besides what the system reports.
var (
	ErrNotRegular = errors.New("it is not a regular file")
	ErrNotText    = errors.New("it is not UTF-8 text")
	ErrDangling   = errors.New("it is a link to nothing")
	ErrLeadsOut   = errors.New("it is a link out of the project to a file that is not Markdown")
)

// File is the beginning of a text file, or all of it.
type File struct {
	// Text is what was read, without a byte-order mark.
	Text string
	// Raw is the same as it is on disk.
	Raw []byte
	// Real is the file that the path leads to.
	Real string
	// Size is how long the whole file is, in bytes.
	Size int64
	// Cut says that Text is not the whole file.
	Cut bool
}

// Read reads at most limit bytes of the file that path leads to, cut at the end
// of a line where there is one, else between characters. Links are followed. One
// that leads out of root is followed to Markdown only: a repository must not
// make a prompt out of somebody's private files; root "" allows every target.
//
// The error says what is wrong without the path. One that is fs.ErrNotExist
// means that nothing is there.
func Read(path, root string, limit int) (File, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return File{}, ErrDangling
		}
	}
	if err != nil {
		return File{}, bare(err)
	}
	f := File{Real: real}
	if root != "" && !Within(root, real) && !strings.EqualFold(filepath.Ext(real), ".md") {
		return f, ErrLeadsOut
	}
	data, size, err := read(real, limit)
	if err != nil {
		return f, bare(err)
	}
	f.Size = max(size, int64(len(data)))
	if len(data) > limit {
		data, f.Cut = cut(data[:limit]), true
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return f, ErrNotText
	}
	f.Raw = data
	f.Text = strings.TrimPrefix(string(data), "\uFEFF")
	return f, nil
}

// Bytes reads the regular file that path leads to, whatever is in it. Of one that
// is longer than limit it gives limit+1 bytes. The error has the path where it is
// the system's.
func Bytes(path string, limit int) ([]byte, error) {
	data, _, err := read(path, limit)
	return data, err
}

// read looks at what it has opened: what a path names can change in between, and
// a pipe would block.
func read(path string, limit int) (data []byte, size int64, err error) {
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, ErrNotRegular
	}
	data, err = io.ReadAll(io.LimitReader(in, int64(limit)+1))
	return data, info.Size(), err
}

// cut ends data behind its last whole line, or at least behind its last whole
// character.
func cut(data []byte) []byte {
	if i := bytes.LastIndexByte(data, '\n'); i >= len(data)/2 {
		return data[:i+1]
	}
	for i := len(data) - 1; i >= 0 && i >= len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i]
			}
			break
		}
	}
	return data
}

// Within reports whether path is root or lies below it. Both are clean and
// absolute.
func Within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// bare drops the path from a system error; whoever reports it names the file in
// its own way.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
