package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// What a read says about where its text comes from.
const (
	noteUnsaved = "This is the text in the editor, which has unsaved changes: the file on disk is different, and commands see the disk."
	noteOld     = "This is the file on disk. The editor still shows an older version of it."
	noteEmpty   = "This is the file on disk. The editor answered with an empty text."
	noteNoReply = "This is the file on disk, without changes that may be unsaved in the editor, which could not be asked: %v."
)

// looked is what a look at a file found.
type looked struct {
	data []byte
	note string
}

// look asks the editor about a file; asked is false when the file is none of
// its business.
func (e *Editor) look(ctx context.Context, t Target) (l looked, asked bool, err error) {
	e.mu.Lock()
	if f := e.known[t.Real]; f != nil {
		f.unsaved = false
	}
	e.mu.Unlock()
	if !e.buffers.Reads() || !t.Exists || !e.mine(t) {
		return looked{}, false, nil
	}
	disk, err := readDisk(ctx, t)
	if err != nil {
		return looked{}, true, err
	}
	if len(disk) > maxEditorFile || checkText(disk) != nil {
		return looked{}, false, nil
	}
	text, err := e.buffers.ReadTextFile(ctx, t.Path)
	if ctx.Err() != nil {
		return looked{}, true, context.Cause(ctx)
	}
	if err == nil && checkText([]byte(text)) != nil {
		err = errors.New("it answered with something that is no text")
	}
	if err != nil {
		e.log.Warn("the editor did not give a file's text, the disk is read", "path", t.Path, "err", err)
		return looked{disk, fmt.Sprintf(noteNoReply, err)}, true, nil
	}
	return e.choose(t.Real, disk, text), true, nil
}

// choose decides between what is on disk and what the editor shows.
func (e *Editor) choose(real string, disk []byte, text string) looked {
	if sameText(disk, []byte(text)) {
		e.agree(real, disk)
		return looked{data: disk}
	}
	if text == "" { // some editors answer so for what they cannot read
		return looked{disk, noteEmpty}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.track(real)
	if f.synced == hashText([]byte(text)) {
		return looked{disk, noteOld}
	}
	f.unsaved = true
	if f.left != nil && sameText(f.left, []byte(text)) {
		return looked{f.left, noteUnsaved}
	}
	f.left = nil
	return looked{restore(text, disk), noteUnsaved}
}

// readDisk reads a file that an editor may know, and one byte more if it has
// grown beyond that.
func readDisk(ctx context.Context, t Target) ([]byte, error) {
	r, err := Disk{}.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxEditorFile+1))
}
