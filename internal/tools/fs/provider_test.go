package fs

import (
	"bytes"
	"context"
	"io"
	"testing"
)

// buffers stands for an editor that has a file open with unsaved changes.
type buffers struct {
	Disk
	open map[string]string // by real path
}

func (b buffers) Open(ctx context.Context, t Target) (io.ReadCloser, error) {
	if text, ok := b.open[t.Real]; ok {
		return io.NopCloser(bytes.NewBufferString(text)), nil
	}
	return b.Disk.Open(ctx, t)
}

func (b buffers) Write(ctx context.Context, t Target, data []byte) (string, error) {
	if _, ok := b.open[t.Real]; ok {
		b.open[t.Real] = string(data)
		return "", nil
	}
	return b.Disk.Write(ctx, t, data)
}

type editorAgent struct {
	agent
	files buffers
}

func (a *editorAgent) FileSystem() FileSystem { return a.files }

func TestAnAgentMayBringItsOwnFileSystem(t *testing.T) {
	f := setup(t)
	f.put("open.txt", "saved\n")
	f.put("closed.txt", "saved\n")
	files := buffers{open: map[string]string{f.path("open.txt"): "unsaved\r\n"}}
	f.agent = &editorAgent{agent: agent{id: "a1", cwd: f.dir}, files: files}
	if got := body(f.read("open.txt")); got != "1: unsaved\n\n(End of file - total 1 lines)" {
		t.Errorf("got %q", got)
	}
	f.ok("edit", m{"file_path": "open.txt", "old_string": "unsaved\n", "new_string": "edited\n"})
	if got := files.open[f.path("open.txt")]; got != "edited\r\n" || f.get("open.txt") != "saved\n" {
		t.Errorf("buffer %q, file %q", got, f.get("open.txt"))
	}
	f.read("closed.txt")
	f.ok("edit", m{"file_path": "closed.txt", "old_string": "saved", "new_string": "edited"})
	if f.get("closed.txt") != "edited\n" {
		t.Errorf("file %q", f.get("closed.txt"))
	}
}

// What is no text can be replaced as a whole by whoever knows it; it has no
// text before.
func TestWriteOverWhatIsNoText(t *testing.T) {
	f := setup(t)
	f.put("f", "text\n")
	f.read("f")
	f.put("f", "\xff\x00")
	f.fails(f.do("write", m{"file_path": "f", "content": "x"}), CodeStaleVersion, `cannot write "DIR/f": file changed since it was read`)
	seen := &Observations{}
	g := setupWith(t, Options{Observations: seen})
	g.put("f", "\xff\x00")
	seen.put("a1", g.path("f"), versionOf([]byte("\xff\x00")))
	r := g.ok("write", m{"file_path": "f", "content": "x"})
	if !r.value.Get("before").IsNull() || r.value.GetString("operation") != "update" || r.meta.String() != `{"diffs":[]}` {
		t.Errorf("value %s, meta %s", r.value, r.meta)
	}
	if len(r.card.Diffs) != 1 || r.card.Diffs[0].NewText != "x" {
		t.Errorf("card %+v", r.card)
	}
}

func TestObservationsAreBounded(t *testing.T) {
	var o Observations
	for i := range maxObserved + 10 {
		o.put("a", string(rune('\u0100'+i)), version{size: int64(i)})
	}
	if n := len(o.agents["a"].files); n != maxObserved {
		t.Errorf("%d files are remembered", n)
	}
	if _, ok := o.get("a", string(rune('\u0100'))); ok {
		t.Error("the oldest was not forgotten")
	}
}
