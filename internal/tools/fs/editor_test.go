package fs

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// scripted is an editor with open buffers and a way of its own to go wrong.
type scripted struct {
	f     *fixture
	files *Editor
	reads bool
	write bool
	open  map[string]string // buffers with unsaved changes, by path

	readErr, writeErr error
	asked             []string // paths that were read
	written           []string // paths that were written

	// onRead changes what is handed out, onWrite what happens to a text.
	onRead  func(path, text string) string
	onWrite func(path, text string)
}

func (s *scripted) Reads() bool  { return s.reads }
func (s *scripted) Writes() bool { return s.write }

func (s *scripted) ReadTextFile(_ context.Context, path string) (string, error) {
	s.asked = append(s.asked, path)
	if s.readErr != nil {
		return "", s.readErr
	}
	text, open := s.open[path]
	if !open {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", nil //nolint:nilerr // as some editors do
		}
		text = string(data)
	}
	if s.onRead != nil {
		text = s.onRead(path, text)
	}
	return text, nil
}

func (s *scripted) WriteTextFile(_ context.Context, path, text string) error {
	s.written = append(s.written, path)
	if s.writeErr != nil {
		return s.writeErr
	}
	if s.onWrite != nil {
		s.onWrite(path, text)
		return nil
	}
	delete(s.open, path)
	return os.WriteFile(path, []byte(text), 0o644)
}

// withEditor gives the fixture's agent an editor that does everything right
// until it is told otherwise.
func withEditor(t testing.TB) (*fixture, *scripted) {
	ed := &scripted{reads: true, write: true, open: map[string]string{}}
	var files *Editor
	f := setupWith(t, Options{FileSystemOf: nil, FileSystem: lazyFiles{&files}})
	ed.f = f
	files = NewEditor(EditorOptions{Buffers: ed, Roots: []string{f.dir}})
	files.settle = 20 * time.Millisecond
	ed.files = files
	return f, ed
}

// lazyFiles lets a file system be made after the tools.
type lazyFiles struct{ files **Editor }

func (l lazyFiles) Resolve(ctx context.Context, p string) (Target, error) {
	return (*l.files).Resolve(ctx, p)
}

func (l lazyFiles) Open(ctx context.Context, t Target) (io.ReadCloser, error) {
	return (*l.files).Open(ctx, t)
}

func (l lazyFiles) Write(ctx context.Context, t Target, d []byte) (string, error) {
	return (*l.files).Write(ctx, t, d)
}

func edit(name, old, new string) map[string]any {
	return m{"file_path": name, "old_string": old, "new_string": new}
}

func TestUnsavedChangesCount(t *testing.T) {
	f, ed := withEditor(t)
	f.put("a.txt", "saved\n")
	ed.open[f.path("a.txt")] = "unsaved\nmore\n"
	r := f.read("a.txt")
	if got := body(r); got != "1: unsaved\n2: more\n\n(End of file - total 2 lines)\n("+noteUnsaved+")" {
		t.Errorf("got %q", got)
	}
	if r.value.GetString("note") != noteUnsaved {
		t.Errorf("the value says nothing of the buffer: %s", r.value)
	}
	if w := f.do("read", m{"file_path": "a.txt", "offset": 2, "limit": 1}); !strings.Contains(w.text, "2: more") || strings.Contains(w.text, "1: ") {
		t.Errorf("window: %q", w.text)
	}
	e := f.ok("edit", edit("a.txt", "unsaved", "edited"))
	if f.get("a.txt") != "edited\nmore\n" || e.value.GetString("note") != "" {
		t.Errorf("file %q, value %s", f.get("a.txt"), e.value)
	}
	f.ok("write", m{"file_path": "a.txt", "content": "all new\n"})
	if f.get("a.txt") != "all new\n" || len(ed.written) != 2 {
		t.Errorf("file %q, %d writes through the editor", f.get("a.txt"), len(ed.written))
	}
}

// Every mix of what an editor offers, for a file with unsaved changes.
func TestMixesOfCapabilities(t *testing.T) {
	for _, c := range []struct {
		name         string
		reads, write bool
		sees         string // what read shows
		code         string // of an edit, "" when it works
		disk         string // the file after the edit
		writes       int    // through the editor
	}{
		{"both", true, true, "unsaved", "", "unsaved!\n", 1},
		{"read only", true, false, "unsaved", CodeUnsaved, "saved\n", 0},
		{"write only", false, true, "saved", "", "saved!\n", 0},
		{"none", false, false, "saved", "", "saved!\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, ed := withEditor(t)
			ed.reads, ed.write = c.reads, c.write
			f.put("a.txt", "saved\n")
			ed.open[f.path("a.txt")] = "unsaved\n"
			r := f.read("a.txt")
			if !strings.HasPrefix(body(r), "1: "+c.sees+"\n") {
				t.Errorf("read shows %q", body(r))
			}
			e := f.do("edit", edit("a.txt", c.sees, c.sees+"!"))
			switch {
			case c.code == "" && e.err != nil:
				t.Error(e.err)
			case c.code != "":
				f.fails(e, c.code, `cannot change "DIR/a.txt": the editor has unsaved changes in it and did not take this one (it lets agents read files and not write them). Ask the user to save the file, then read it again`)
			}
			if f.get("a.txt") != c.disk || len(ed.written) != c.writes {
				t.Errorf("file %q, %d writes", f.get("a.txt"), len(ed.written))
			}
			// A file without unsaved changes can be changed in every mix.
			f.put("b.txt", "clean\n")
			f.read("b.txt")
			f.ok("edit", edit("b.txt", "clean", "changed"))
			if f.get("b.txt") != "changed\n" {
				t.Errorf("file %q", f.get("b.txt"))
			}
		})
	}
}

// What the editor is not asked about.
func TestFilesThatAreNotTheEditors(t *testing.T) {
	f, ed := withEditor(t)
	outside := t.TempDir() + "/out.txt"
	if err := os.WriteFile(outside, []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ed.open[outside] = "unsaved\n"
	if err := os.Symlink(outside, f.path("link.txt")); err != nil {
		t.Fatal(err)
	}
	f.put("binary", "a\x00b")
	f.put("latin1", "caf\xe9")
	f.put("large", strings.Repeat("0123456789abcde\n", maxEditorFile/16+1))
	for name, want := range map[string]string{
		outside: "1: outside", "link.txt": "1: outside", "large": "1: 0123456789abcde",
		"binary": "binary file", "latin1": "invalid UTF-8 text", ".": "not a regular file", "missing": "not found",
	} {
		if r := f.do("read", m{"file_path": name, "limit": 1}); !strings.Contains(r.text, want) {
			t.Errorf("%s: %q, want %q", name, r.text, want)
		}
	}
	f.ok("edit", edit(outside, "outside", "changed"))
	f.ok("edit", m{"file_path": "large", "old_string": "0123456789abcde", "new_string": "x", "replace_all": true})
	if len(ed.asked) != 0 || len(ed.written) != 0 {
		t.Errorf("the editor was asked for %v and handed %v", ed.asked, ed.written)
	}
}

// An editor that still shows what the disk held before a command changed it is
// behind; one whose text was never on disk has unsaved changes.
func TestBuffersThatAreBehind(t *testing.T) {
	f, ed := withEditor(t)
	path := f.put("a.txt", "one\n")
	f.read("a.txt")
	f.put("a.txt", "two\n") // a command
	ed.open[path] = "one\n" // the editor has not noticed
	f.fails(f.do("edit", edit("a.txt", "one", "x")), CodeStaleVersion, `cannot edit "DIR/a.txt": file changed since it was read`)
	r := f.read("a.txt")
	if !strings.HasPrefix(body(r), "1: two\n") || r.value.GetString("note") != noteOld {
		t.Errorf("got %q", body(r))
	}
	f.ok("edit", edit("a.txt", "two", "three"))
	if f.get("a.txt") != "three\n" {
		t.Errorf("file %q", f.get("a.txt"))
	}
	// Going back in the editor is a change of the user's: it counts.
	ed.open[path] = "two\n"
	if r := f.read("a.txt"); !strings.HasPrefix(body(r), "1: two\n") || r.value.GetString("note") != noteUnsaved {
		t.Errorf("after undo: %q", body(r))
	}
	// A file never seen before, different on both sides: the model is told.
	ed.open[f.put("b.txt", "disk\n")] = "buffer\n"
	if r := f.read("b.txt"); !strings.HasPrefix(body(r), "1: buffer\n") || r.value.GetString("note") != noteUnsaved {
		t.Errorf("got %q", body(r))
	}
}

func TestAnEditThatWasReadBeforeTheUserTyped(t *testing.T) {
	f, ed := withEditor(t)
	path := f.put("a.txt", "one\n")
	f.read("a.txt")
	ed.open[path] = "one and more\n"
	f.fails(f.do("edit", edit("a.txt", "one", "x")), CodeStaleVersion, `cannot edit "DIR/a.txt": file changed since it was read`)
	f.fails(f.do("write", m{"file_path": "a.txt", "content": "x"}), CodeStaleVersion, `cannot write "DIR/a.txt": file changed since it was read`)
	f.read("a.txt")
	delete(ed.open, path) // saved
	f.put("a.txt", "one and more\n")
	f.ok("edit", edit("a.txt", "more", "less"))
	if f.get("a.txt") != "one and less\n" {
		t.Errorf("file %q", f.get("a.txt"))
	}
}

// An editor that fails costs a note, not the call.
func TestEditorsThatFail(t *testing.T) {
	boom := errors.New("it answered: no")
	t.Run("reading", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "disk\n")
		ed.readErr = boom
		r := f.read("a.txt")
		if body(r) != "1: disk\n\n(End of file - total 1 lines)\n(This is the file on disk, without changes that may be unsaved in the editor, which could not be asked: it answered: no.)" {
			t.Errorf("got %q", body(r))
		}
		ed.writeErr = boom
		w := f.ok("edit", edit("a.txt", "disk", "changed"))
		if f.get("a.txt") != "changed\n" || !strings.Contains(w.text, "\n(The change was written to the file on disk, because the editor did not take it: it answered: no.)") {
			t.Errorf("file %q, text %q", f.get("a.txt"), w.text)
		}
	})
	t.Run("an empty text for what it cannot read", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "disk\n")
		ed.onRead = func(string, string) string { return "" }
		if r := f.read("a.txt"); !strings.HasPrefix(body(r), "1: disk\n") || r.value.GetString("note") != noteEmpty {
			t.Errorf("got %q", body(r))
		}
		f.put("empty.txt", "")
		if r := f.read("empty.txt"); r.value.GetString("note") != "" {
			t.Errorf("an empty file: %q", r.text)
		}
	})
	t.Run("no text", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "disk\n")
		ed.onRead = func(string, string) string { return "a\x00b" }
		if r := f.read("a.txt"); !strings.HasPrefix(body(r), "1: disk\n") || !strings.Contains(r.text, "something that is no text") {
			t.Errorf("got %q", body(r))
		}
	})
	t.Run("writing a file with unsaved changes", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "saved\n")
		ed.open[f.path("a.txt")] = "unsaved\n"
		ed.writeErr = boom
		f.read("a.txt")
		f.fails(f.do("edit", edit("a.txt", "unsaved", "x")), CodeUnsaved, `cannot change "DIR/a.txt": the editor has unsaved changes in it and did not take this one (it answered: no). Ask the user to save the file, then read it again`)
		if f.get("a.txt") != "saved\n" {
			t.Errorf("file %q", f.get("a.txt"))
		}
	})
	t.Run("an error after the change", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "one\n")
		f.read("a.txt")
		ed.onWrite = func(path, text string) { f.put("a.txt", text); ed.writeErr = boom }
		ed.f = f
		w := f.ok("edit", edit("a.txt", "one", "two"))
		if f.get("a.txt") != "two\n" || w.value.GetString("note") != "" {
			t.Errorf("file %q, value %s", f.get("a.txt"), w.value)
		}
	})
	t.Run("creating", func(t *testing.T) {
		f, ed := withEditor(t)
		ed.writeErr = boom
		w := f.ok("write", m{"file_path": "dir/new.txt", "content": "new\n"})
		if f.get("dir/new.txt") != "new\n" || !strings.HasPrefix(w.value.GetString("note"), "The change was written to the file on disk") {
			t.Errorf("file %q, value %s", f.get("dir/new.txt"), w.value)
		}
	})
}

// What an editor may do with a text that it has taken.
func TestWhatEditorsDoWithAChange(t *testing.T) {
	t.Run("creates", func(t *testing.T) {
		f, ed := withEditor(t)
		w := f.ok("write", m{"file_path": "dir/new.txt", "content": "new\n"})
		if f.get("dir/new.txt") != "new\n" || len(ed.written) != 1 || w.value.GetString("note") != "" {
			t.Errorf("file %q, %d writes, value %s", f.get("dir/new.txt"), len(ed.written), w.value)
		}
	})
	t.Run("saves a little later", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "one\n")
		f.read("a.txt")
		ed.files.settle = time.Minute
		done := make(chan struct{})
		ed.onWrite = func(path, text string) {
			go func() { defer close(done); time.Sleep(5 * time.Millisecond); f.put("a.txt", text) }()
		}
		w := f.ok("edit", edit("a.txt", "one", "two"))
		<-done
		if f.get("a.txt") != "two\n" || w.value.GetString("note") != "" {
			t.Errorf("file %q, value %s", f.get("a.txt"), w.value)
		}
	})
	t.Run("keeps it in the buffer", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "one\r\ntwo\nthree\n")
		f.read("a.txt")
		ed.onWrite = func(path, text string) { ed.open[path] = strings.ReplaceAll(text, "\r\n", "\n") }
		w := f.ok("edit", edit("a.txt", "one", "1"))
		if f.get("a.txt") != "one\r\ntwo\nthree\n" || !strings.HasSuffix(w.text, "\n("+noteInBuffer+")") {
			t.Errorf("file %q, text %q", f.get("a.txt"), w.text)
		}
		// The next change needs no new read, although the buffer has lost how
		// the lines ended.
		f.ok("edit", edit("a.txt", "three", "3"))
		if got := ed.open[f.path("a.txt")]; got != "1\ntwo\n3\n" {
			t.Errorf("buffer %q", got)
		}
		if r := f.read("a.txt"); !strings.HasPrefix(body(r), "1: 1\n2: two\n3: 3\n") {
			t.Errorf("read %q", body(r))
		}
	})
	t.Run("does not save a new file", func(t *testing.T) {
		f, ed := withEditor(t)
		ed.onWrite = func(path, text string) { ed.open[path] = text }
		w := f.ok("write", m{"file_path": "new.txt", "content": "new\n"})
		if f.get("new.txt") != "new\n" || !strings.Contains(w.value.GetString("note"), "it did not save the new file") {
			t.Errorf("file %q, value %s", f.get("new.txt"), w.value)
		}
	})
	t.Run("swallows it", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "one\n")
		f.read("a.txt")
		ed.onWrite = func(string, string) {}
		w := f.ok("edit", edit("a.txt", "one", "two"))
		if f.get("a.txt") != "two\n" || !strings.Contains(w.value.GetString("note"), "neither saved nor shows") {
			t.Errorf("file %q, value %s", f.get("a.txt"), w.value)
		}
	})
	t.Run("normalises line endings and the mark", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", bom+"one\r\ntwo\r\n")
		ed.onRead = func(_, text string) string { return string(plainText([]byte(text))) }
		ed.onWrite = func(path, text string) { f.put("a.txt", string(plainText([]byte(text)))+"\n") }
		f.read("a.txt")
		f.ok("edit", edit("a.txt", "two", "2"))
		if f.get("a.txt") != bom+"one\r\n2\r\n" {
			t.Errorf("file %q", f.get("a.txt"))
		}
		// Unsaved text without them is given them back.
		ed.open[f.path("a.txt")] = "uno\n2"
		f.read("a.txt")
		f.ok("edit", edit("a.txt", "uno", "eins"))
		if f.get("a.txt") != bom+"eins\r\n2\r\n" {
			t.Errorf("file %q", f.get("a.txt"))
		}
	})
	t.Run("formats", func(t *testing.T) {
		f, ed := withEditor(t)
		f.put("a.txt", "one\n")
		f.read("a.txt")
		ed.onWrite = func(path, text string) { f.put("a.txt", "  "+text) }
		w := f.ok("edit", edit("a.txt", "one", "two"))
		if w.value.GetString("note") != noteReshaped {
			t.Errorf("value %s", w.value)
		}
		f.fails(f.do("edit", edit("a.txt", "two", "three")), CodeStaleVersion, `cannot edit "DIR/a.txt": file changed since it was read`)
	})
	t.Run("loses the mode", func(t *testing.T) {
		f, ed := withEditor(t)
		path := f.put("run.sh", "one\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		f.read("run.sh")
		ed.onWrite = func(path, text string) { _ = os.Remove(path); f.put("run.sh", text) }
		f.ok("edit", edit("run.sh", "one", "two"))
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

func TestAFileThatMustNotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("root may write everything")
	}
	f, ed := withEditor(t)
	path := f.put("a.txt", "one\n")
	f.read("a.txt")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	f.fails(f.do("edit", edit("a.txt", "one", "two")), CodePermission, `cannot edit "DIR/a.txt": permission denied`)
	if len(ed.written) != 0 {
		t.Error("the editor was handed it")
	}
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	f, ed := withEditor(t)
	f.put("a.txt", "one\n")
	ctx, cancel := context.WithCancel(t.Context())
	ed.onRead = func(_, text string) string { cancel(); return text }
	f.fails(f.doCtx(ctx, "read", m{"file_path": "a.txt"}), CodeAborted, "read aborted")
	ed.onRead = nil
	f.read("a.txt")
	ctx, cancel = context.WithCancel(t.Context())
	ed.onWrite = func(string, string) { cancel() }
	f.fails(f.doCtx(ctx, "edit", edit("a.txt", "one", "two")), CodeAborted, "edit aborted")
}

func TestTrackedFilesAreBounded(t *testing.T) {
	f, _ := withEditor(t)
	e := NewEditor(EditorOptions{Buffers: &scripted{}, Roots: []string{f.dir}})
	for i := range maxTracked + 5 {
		e.agree(f.path(string(rune('a'+i))), nil)
	}
	if len(e.known) != maxTracked || len(e.order) != maxTracked {
		t.Errorf("%d files, %d in order", len(e.known), len(e.order))
	}
}

// Whatever the mix, an edit gives the text that the model was shown with the
// change in it, wherever the file's text then lives; and what the user typed is
// never lost.
func TestPropertyReadEditWrite(t *testing.T) {
	f, ed := withEditor(t)
	path := f.path("p.txt")
	rapid.Check(t, func(rt *rapid.T) {
		ending := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "ending")
		mark := rapid.SampledFrom([]string{"", bom}).Draw(rt, "mark")
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", "ü", "  c"}), 1, 6)
		form := func(ls []string) string { return mark + "HERE" + ending + strings.Join(ls, ending) + ending }
		disk := form(lines.Draw(rt, "disk"))
		buffer := disk
		if rapid.Bool().Draw(rt, "dirty") {
			buffer = form(append(lines.Draw(rt, "buffer"), "typed"))
		}
		ed.reads, ed.write = rapid.Bool().Draw(rt, "reads"), rapid.Bool().Draw(rt, "writes")
		normalise := rapid.Bool().Draw(rt, "normalise")
		saves := rapid.SampledFrom([]string{"save", "buffer", "swallow"}).Draw(rt, "saves")
		ed.readErr, ed.writeErr = nil, nil
		if rapid.IntRange(0, 5).Draw(rt, "readErr") == 0 {
			ed.readErr = errors.New("no")
		}
		if rapid.IntRange(0, 5).Draw(rt, "writeErr") == 0 {
			ed.writeErr = errors.New("no")
		}
		ed.open = map[string]string{path: buffer}
		ed.onRead = func(_, text string) string {
			if normalise {
				return string(plainText([]byte(text)))
			}
			return text
		}
		ed.onWrite = func(p, text string) {
			if normalise {
				text = string(plainText([]byte(text)))
			}
			switch saves {
			case "save":
				f.put("p.txt", text)
				ed.open[p] = text
			case "buffer":
				ed.open[p] = text
			}
		}
		f.put("p.txt", disk)
		dirty := buffer != disk
		sees := disk
		if ed.reads && ed.readErr == nil {
			sees = buffer
		}
		if shown := body(f.read("p.txt")); ed.reads && ed.readErr == nil && strings.Contains(shown, "typed") != dirty {
			rt.Fatalf("dirty %v, shown %q", dirty, shown)
		}
		r := f.do("edit", edit("p.txt", "HERE", "THERE"))
		want := strings.Replace(sees, "HERE", "THERE", 1)
		switch {
		case r.err != nil:
			// Only rather than lose what the user typed.
			if !dirty || sees == disk || f.get("p.txt") != disk || !sameText([]byte(ed.open[path]), []byte(buffer)) {
				rt.Fatalf("%v; file %q, buffer %q", r.err, f.get("p.txt"), ed.open[path])
			}
		case r.value.GetString("note") == noteInBuffer:
			if f.get("p.txt") != disk || !sameText([]byte(ed.open[path]), []byte(want)) {
				rt.Fatalf("file %q, buffer %q, want %q", f.get("p.txt"), ed.open[path], want)
			}
		case f.get("p.txt") != want:
			rt.Fatalf("file %q, want %q (note %q)", f.get("p.txt"), want, r.value.GetString("note"))
		}
	})
}
