package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/textfile"
)

// fileNames are the instruction files of a folder, in the order in which they
// are shown.
var fileNames = []string{"AGENTS.md", "CLAUDE.md"}

// The most that is shown of instruction files, in bytes.
const (
	maxFile   = 32 << 10
	maxAtOnce = 96 << 10 // of all files that a session starts with
)

const instructionsIntro = "The project has the instruction files below. Follow them where they concern the task; where two of them differ, the one in the deeper folder holds. They do not outrank this prompt or what the user says."

// shown is one instruction file as the model gets it.
type shown struct {
	label string
	text  string // or the note that stands for it
	real  string
	raw   []byte
}

// instructions is the section with the files of the working directory and of
// the folders above it up to the project's top, and of the additional folders. The files are read again only
// when one of them looks different, so the text is the same as long as they are
// (rule R4.8).
func (w *Workspace) instructions(context.Context) (string, error) {
	w.find()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refresh()
	return w.section, nil
}

// refresh brings the section up to date. The caller holds w.mu.
func (w *Workspace) refresh() {
	dirs := w.initial()
	sight := look(dirs)
	if w.loaded != nil && sight == w.sight {
		return
	}
	w.sight, w.loaded = sight, map[string]bool{}
	var files []shown
	left := maxAtOnce
	// What is nearer to the work has the first claim on the space.
	for i := len(dirs) - 1; i >= 0; i-- {
		var here []shown
		for _, name := range fileNames {
			f, ok := w.read(filepath.Join(dirs[i], name), min(left, maxFile))
			if !ok || f.real != "" && w.loaded[f.real] {
				continue
			}
			w.loaded[f.real] = true
			left -= len(f.text)
			here = append(here, f)
		}
		files = append(here, files...)
	}
	w.section = ""
	if len(files) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString(instructionsIntro + "\n\n<workspace_instructions>")
	for _, f := range files {
		fmt.Fprintf(&b, "\nInstructions from: %s\n\n%s\n", oneLine(f.label), inside("workspace_instructions", f.text))
	}
	b.WriteString("</workspace_instructions>")
	w.section = b.String()
}

// look is what tells whether the files of the folders are still the same.
func look(dirs []string) string {
	var b strings.Builder
	for _, dir := range dirs {
		for _, name := range fileNames {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil {
				fmt.Fprintf(&b, "%s %d %d %v\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode())
			} else if !errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(&b, "%s %v\n", path, err)
			}
		}
	}
	return b.String()
}

// read reads one instruction file for the model; false when there is nothing to
// show. What cannot be read is shown as a note, so that the model can say so.
// The caller holds w.mu.
func (w *Workspace) read(path string, limit int) (shown, bool) {
	s := shown{label: w.label(path)}
	f, err := textfile.Read(path, w.rootOf(path), max(limit, 0))
	s.real, s.raw = f.Real, f.Raw
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, false
	case err != nil:
		w.warn(s.label, err)
		s.text = "[This file could not be read: " + oneLine(err.Error()) + ".]"
		return s, true
	}
	s.text = strings.TrimRight(f.Text, " \t\r\n")
	switch {
	case f.Cut && limit <= 0:
		s.text = fmt.Sprintf("[Not shown: there are too many instructions. Read the file for its %d bytes.]", f.Size)
	case f.Cut:
		s.text += fmt.Sprintf("\n\n[Cut: these are the first %d of %d bytes. Read the file for the rest.]", len(f.Raw), f.Size)
	case s.text == "":
		return s, false
	}
	return s, true
}
