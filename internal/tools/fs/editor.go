package fs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/textfile"
)

// maxEditorFile is the largest file that an editor is asked about, in bytes.
// Its whole text travels in one message, and some editors end the connection
// over a message of more than 10 MiB.
const maxEditorFile = 4 << 20

// maxTracked bounds how many files an [Editor] remembers; forgetting one costs
// it the ability to tell an old buffer from a changed one.
const maxTracked = 2_000

// Buffers is an editor's side of text files: what it has open, unsaved changes
// included. Calls end by themselves when the editor does not answer.
type Buffers interface {
	// Reads and Writes say what the editor can be asked for now. They may turn
	// false when it has proved not to answer.
	Reads() bool
	Writes() bool
	// ReadTextFile gives the whole text of a file. The error says what the
	// editor answered, or that it did not.
	ReadTextFile(ctx context.Context, path string) (string, error)
	// WriteTextFile makes text the content of a file.
	WriteTextFile(ctx context.Context, path, text string) error
}

// Editor is the disk as the user of an editor sees it: a file with unsaved
// changes has the text of its buffer. docs/editors.md has the rules as a table.
//
// The disk decides what exists, what is a regular file, what is text, and how
// lines end. The editor is asked only about text files of a moderate size
// inside the roots. It is taken at its word when its text differs from the
// disk's by more than line endings, byte-order mark and final newline, which
// many editors do not hand over; except that an editor which still shows what
// the disk held when both last agreed has merely not noticed a change.
type Editor struct {
	buffers Buffers
	roots   []string
	log     *slog.Logger
	settle  time.Duration

	mu    sync.Mutex
	known map[string]*tracked // by real path
	order []string            // oldest first
}

// tracked is what is known of one file.
type tracked struct {
	// synced is the text on which disk and editor agreed last.
	synced textHash
	// unsaved says that the last look found text in the editor that is not on
	// disk.
	unsaved bool
	// left are the bytes that a change left in the editor alone, nil otherwise.
	left []byte
}

// textHash identifies a text apart from how its lines end.
type textHash [sha256.Size]byte

// EditorOptions configure an [Editor].
type EditorOptions struct {
	Buffers Buffers // required
	// Roots are the folders whose files the editor is asked about, absolute.
	Roots  []string
	Logger *slog.Logger
}

// settleTime is how long after its answer an editor may take to save.
const settleTime = 400 * time.Millisecond

// NewEditor returns the file system of one session.
func NewEditor(opt EditorOptions) *Editor {
	e := &Editor{buffers: opt.Buffers, log: opt.Logger, settle: settleTime, known: map[string]*tracked{}}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	for _, r := range opt.Roots {
		if real, err := filepath.EvalSymlinks(r); err == nil {
			r = real
		}
		e.roots = append(e.roots, filepath.Clean(r))
	}
	return e
}

// Resolve is the disk's.
func (e *Editor) Resolve(ctx context.Context, path string) (Target, error) {
	return Disk{}.Resolve(ctx, path)
}

// Open gives the text of the editor where it differs from that of the disk. A
// note then says so, or why the editor's text was not used.
func (e *Editor) Open(ctx context.Context, t Target) (io.ReadCloser, error) {
	l, asked, err := e.look(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case !asked:
		return Disk{}.Open(ctx, t)
	}
	return opened{bytes.NewReader(l.data), l.note}, nil
}

type opened struct {
	*bytes.Reader
	note string
}

// Close does nothing.
func (opened) Close() error { return nil }

// Note is what the model should know.
func (o opened) Note() string { return o.note }

// mine reports whether a file is the editor's business: it belongs to the
// project, as a link out of it does not, and is no larger than what editors
// are asked about.
func (e *Editor) mine(t Target) bool {
	if t.Exists && (!t.Regular || t.info.Size() > maxEditorFile) {
		return false
	}
	for _, r := range e.roots {
		if textfile.Within(r, t.Real) {
			return true
		}
	}
	return false
}

// track gives what is known of a file; the caller holds the mutex.
func (e *Editor) track(real string) *tracked {
	if f := e.known[real]; f != nil {
		return f
	}
	f := &tracked{}
	e.known[real] = f
	e.order = append(e.order, real)
	if len(e.order) > maxTracked {
		delete(e.known, e.order[0])
		e.order = e.order[1:]
	}
	return f
}

// agree notes that disk and editor hold the same text.
func (e *Editor) agree(real string, data []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.track(real)
	f.synced, f.unsaved, f.left = hashText(data), false, nil
}

func (e *Editor) holdsUnsaved(real string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.known[real]
	return f != nil && f.unsaved
}
