package fs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A link that is turned while the editor is at work must not lead the rest of the
// change elsewhere: that the call may change the file was said of another.
func TestALinkThatIsTurnedDuringAChange(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error  // the editor's answer
		left string // what the editor leaves outside; "" for nothing
	}{
		{"the editor fails", errors.New("no"), ""},
		{"the editor does nothing", nil, ""},
		{"the editor writes outside, in another form", nil, "new\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, ed := withEditor(t)
			outside, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(f.path("sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			f.put("sub/a.txt", "old\n")
			want, other := "other\n", filepath.Join(outside, "a.txt")
			if err := os.WriteFile(other, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			link := f.path("link")
			if err := os.Symlink("sub", link); err != nil {
				t.Skip(err)
			}
			f.read("link/a.txt")
			ed.files.buffers = turning{ed, func() error {
				if err := errors.Join(os.Remove(link), os.Symlink(outside, link)); err != nil {
					t.Error(err)
				}
				if c.left != "" {
					want = c.left
					_ = os.WriteFile(other, []byte(c.left), 0o644)
				}
				return c.err
			}}
			f.do("write", m{"file_path": "link/a.txt", "content": "new\n"})
			if got, _ := os.ReadFile(other); string(got) != want {
				t.Errorf("outside is %q now, want %q", got, want)
			}
		})
	}
}

// turning is an editor whose writing is a function.
type turning struct {
	*scripted
	write func() error
}

func (b turning) WriteTextFile(context.Context, string, string) error { return b.write() }
