package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"time"
)

// What a change says about where it went.
const (
	noteInBuffer = "The change is in the editor's buffer and not saved: the file on disk is still the old one, and commands see the disk."
	noteOnDisk   = "The change was written to the file on disk, because the editor did not take it: %v."
	noteReshaped = "The editor saved a text other than this one, for example because it formats files: read the file before changing it again."
)

// errNotTaken is an editor that says it has taken a change and has not.
var errNotTaken = errors.New("it reported success and neither saved nor shows the change")

// Write hands the text to the editor and sees that it gets to the disk, or says
// that it did not.
func (e *Editor) Write(ctx context.Context, t Target, data []byte) (note string, err error) {
	unsaved := e.holdsUnsaved(t.Real)
	switch {
	case !e.mine(t), !e.buffers.Reads(), len(data) > maxEditorFile, checkText(data) != nil:
		unsaved = false // the editor was not asked for what is replaced here
		fallthrough
	case !e.buffers.Writes():
		if unsaved {
			return "", unsavedError(t.Path, errors.New("it lets agents read files and not write them"))
		}
		return Disk{}.Write(ctx, t, data)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	var old []byte
	if t.Exists {
		if old, err = e.checkReplace(ctx, t); err != nil {
			return "", err
		}
	} else if err := checkCreate(t); err != nil {
		return "", err
	}
	if _, err := e.again(ctx, t); err != nil {
		return "", err
	}
	taken := e.buffers.WriteTextFile(ctx, t.Path, string(data))
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if taken == nil {
		note, taken, err = e.settled(ctx, t, old, data)
		if taken == nil {
			keepMode(t)
			return note, err
		}
	} else if now, ok := e.onDisk(ctx, t); ok && bytes.Equal(now, data) {
		e.agree(t.Real, data) // the answer went wrong, not the change
		return "", nil
	}
	if unsaved {
		return "", unsavedError(t.Path, taken)
	}
	e.log.Warn("the editor did not take a change, it is written to disk", "path", t.Path, "err", taken)
	// Whatever the editor did to the file is part of the change.
	again, err := e.again(ctx, t)
	if err != nil {
		return "", err
	}
	if _, err := (Disk{}).Write(ctx, again, data); err != nil {
		return "", err
	}
	return fmt.Sprintf(noteOnDisk, taken), nil
}

// unsavedError refuses to change a file behind the back of an editor that holds
// changes of its own: one of the two would be lost.
func unsavedError(path string, why error) error {
	return fail(CodeUnsaved, "cannot change %q: the editor has unsaved changes in it and did not take this one (%v). Ask the user to save the file, then read it again", path, why)
}

// checkReplace is the last look before a change, as it is on disk.
func (e *Editor) checkReplace(ctx context.Context, t Target) (old []byte, err error) {
	if err := writable(t.Real); err != nil {
		return nil, err
	}
	dir, err := openDir(filepath.Dir(t.Real))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := unchanged(dir, t); err != nil {
		return nil, err
	}
	return readDisk(ctx, t)
}

func checkCreate(t Target) error {
	switch _, err := os.Lstat(t.Real); {
	case err == nil:
		return iofs.ErrExist
	case !errors.Is(err, iofs.ErrNotExist):
		return err
	}
	dir, err := makeDir(filepath.Dir(t.Real))
	if err != nil {
		return err
	}
	return dir.Close()
}

// settled waits until the disk shows what an editor has done with a change that
// it took, old being the file before, nil for none. The second result is set
// when the editor did not take it after all.
func (e *Editor) settled(ctx context.Context, t Target, old, data []byte) (note string, taken, err error) {
	end := time.Now().Add(e.settle)
	for wait := 5 * time.Millisecond; ; wait *= 2 {
		now, exists := e.onDisk(ctx, t)
		switch {
		case exists && bytes.Equal(now, data):
			e.agree(t.Real, data)
			return "", nil, nil
		case exists && sameText(now, data) && !bytes.Equal(now, old):
			// It has the text in another form: bytes nobody wanted to change.
			return "", nil, e.reform(ctx, t, data)
		}
		left := time.Until(end)
		if left <= 0 && exists && sameText(now, data) {
			return "", nil, e.reform(ctx, t, data)
		}
		if left <= 0 {
			return e.unsettled(ctx, t, old, now, exists, data)
		}
		if err := pause(ctx, min(wait, left)); err != nil {
			return "", nil, err
		}
	}
}

// unsettled decides what became of a change that is not on disk.
func (e *Editor) unsettled(ctx context.Context, t Target, old, now []byte, exists bool, data []byte) (note string, taken, err error) {
	if exists && !bytes.Equal(now, old) || exists && old == nil {
		e.agree(t.Real, now)
		return noteReshaped, nil, nil
	}
	if old == nil {
		// A new file that nobody has on disk cannot be read again.
		return "", errors.New("it did not save the new file"), nil
	}
	text, err := e.buffers.ReadTextFile(ctx, t.Path)
	switch {
	case ctx.Err() != nil:
		return "", nil, context.Cause(ctx)
	case err != nil || !sameText([]byte(text), data):
		return "", errNotTaken, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.track(t.Real)
	f.unsaved, f.left = true, data
	return noteInBuffer, nil, nil
}

// reform writes the bytes that an editor saved in another form.
func (e *Editor) reform(ctx context.Context, t Target, data []byte) error {
	again, err := e.again(ctx, t)
	if err != nil {
		return err
	}
	if _, err := (Disk{}).Write(ctx, again, data); err != nil {
		return err
	}
	e.agree(t.Real, data)
	return nil
}

// again looks at the path once more, as the editor will or did. It has to lead to
// the same file: a link that leads elsewhere by now leads where nobody let the
// change go.
func (e *Editor) again(ctx context.Context, t Target) (Target, error) {
	now, err := e.Resolve(ctx, t.Path)
	if err == nil && now.Real != t.Real {
		err = ErrChanged
	}
	return now, err
}

// onDisk reads the file as it is now.
func (e *Editor) onDisk(ctx context.Context, t Target) ([]byte, bool) {
	now, err := e.Resolve(ctx, t.Path)
	if err != nil || !now.Exists || !now.Regular {
		return nil, false
	}
	data, err := readDisk(ctx, now)
	return data, err == nil
}

// keepMode gives a file back the permissions that an editor did not keep.
func keepMode(t Target) {
	if t.info == nil {
		return
	}
	if now, err := os.Stat(t.Real); err == nil && now.Mode() != t.info.Mode() {
		_ = os.Chmod(t.Real, t.info.Mode())
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
