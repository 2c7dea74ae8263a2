package proc

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// However a stream comes, what is kept is valid, bounded, and its beginning
// and end; what is passed on live is the whole.
func TestCaptureKeepsHeadAndTail(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 300),
		rapid.Map(rapid.StringN(0, 100, 300), func(s string) []byte { return []byte(s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(300, 2000).Draw(t, "limit")
		pieces := rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces")
		c := newCapture(limit, spill{})
		var live bytes.Buffer
		ch := chunker{emit: func(p []byte) {
			if !utf8.Valid(p) {
				t.Fatalf("live chunk %q is no UTF-8", p)
			}
			live.Write(p)
		}}
		for _, p := range pieces {
			c.write(p)
			ch.write(p)
		}
		ch.flush()
		whole := slices.Concat(pieces...)
		got := c.output()
		if !utf8.ValidString(got.Text) || len(got.Text) > limit {
			t.Fatalf("text of %d bytes (limit %d), valid %v", len(got.Text), limit, utf8.ValidString(got.Text))
		}
		if got.Total != int64(len(whole)) {
			t.Fatalf("total %d, want %d", got.Total, len(whole))
		}
		if !got.Truncated {
			if want := validText(string(whole)); got.Text != want {
				t.Fatalf("text %q, want %q", got.Text, want)
			}
			return
		}
		head, tail, ok := strings.Cut(got.Text, "[... ")
		_, tail, ok2 := strings.Cut(tail, " bytes omitted ...]\n")
		if !ok || !ok2 {
			t.Skip("the stream itself holds the gap line")
		}
		if utf8.Valid(whole) {
			if !strings.HasPrefix(string(whole), strings.TrimSuffix(head, "\n")) || !strings.HasSuffix(string(whole), tail) {
				t.Fatalf("head %q or tail %q are not the stream's", head, tail)
			}
			if live.String() != string(whole) {
				t.Fatal("the live chunks are not the stream")
			}
			if len(tail) < limit/2-gapRoom-utf8.UTFMax {
				t.Fatalf("only %d bytes of tail were kept of %d", len(tail), limit)
			}
		}
	})
}

func TestCaptureSpills(t *testing.T) {
	dir := t.TempDir()
	open := func(dir string, limit int64) *capture {
		return newCapture(100, spill{dir: dir, pattern: "x-*", limit: limit})
	}
	t.Run("not before the limit", func(t *testing.T) {
		c := open(dir, 1000)
		c.write(bytes.Repeat([]byte("a"), 100))
		if o := c.output(); o.Truncated || o.SpillPath != "" {
			t.Errorf("got %+v", o)
		}
	})
	t.Run("whole once over it", func(t *testing.T) {
		c := open(dir, 1000)
		for range 50 {
			c.write([]byte("0123456"))
		}
		o := c.output()
		c.close()
		data, _ := os.ReadFile(o.SpillPath)
		if want := strings.Repeat("0123456", 50); string(data) != want {
			t.Errorf("file holds %q", data)
		}
	})
	t.Run("replacement characters alone overflow", func(t *testing.T) {
		c := open(dir, 1000)
		raw := bytes.Repeat([]byte("a\xff"), 50)
		c.write(raw)
		o := c.output()
		c.close()
		data, _ := os.ReadFile(o.SpillPath)
		if !o.Truncated || !bytes.Equal(data, raw) || len(o.Text) > 100 {
			t.Errorf("got %+v, file %q", o, data)
		}
	})
	t.Run("given up over its own limit", func(t *testing.T) {
		c := open(dir, 200)
		c.write(bytes.Repeat([]byte("a"), 201))
		if o := c.output(); !o.Truncated || o.SpillPath != "" {
			t.Errorf("got %+v", o)
		}
	})
	t.Run("folder is made for us alone", func(t *testing.T) {
		c := open(dir+"/new/one", 1000)
		c.write(bytes.Repeat([]byte("a"), 201))
		c.close()
		info, err := os.Stat(dir + "/new/one")
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info, err)
		}
	})
	t.Run("no folder can be made", func(t *testing.T) {
		if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c := open(dir+"/file", 1000)
		c.write(bytes.Repeat([]byte("a"), 201))
		if o := c.output(); !o.Truncated || o.SpillPath != "" || o.Total != 201 {
			t.Errorf("got %+v", o)
		}
	})
}

func TestHiddenVariables(t *testing.T) {
	t.Cleanup(func() {
		named.mu.Lock()
		defer named.mu.Unlock()
		delete(named.set, "HIDDEN_BY_TEST")
	})
	if got := CommandEnv([]string{"HIDDEN_BY_TEST=1"}); got[0] != "HIDDEN_BY_TEST=1" {
		t.Errorf("%q", got)
	}
	HideVariables("", "hidden_by_Test")
	if got := CommandEnv([]string{"HIDDEN_BY_TEST=1", "=x", "SHOWN=2"}); got[0] == "HIDDEN_BY_TEST=1" || !slices.Contains(got, "SHOWN=2") {
		t.Errorf("%q", got)
	}
}

func TestCommandEnv(t *testing.T) {
	got := CommandEnv([]string{
		"PATH=/bin", "HOME=/h", "api_Key=1", "MY_SECRET_X=2", "GITHUB_TOKEN=3", "DSH_HOME=/old", "dsh_x=1",
		"EDITOR=vim", "EMPTY=", "odd", "=C:=C:\\dir", "SSH_AUTH_SOCK=/s",
	}, "DSH_SHELL=1", "HOME=/other")
	kept := got[:len(got)-len(nonInteractive)-2]
	if want := []string{"PATH=/bin", "HOME=/h", "EDITOR=vim", "EMPTY=", "=C:=C:\\dir", "SSH_AUTH_SOCK=/s"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	for _, want := range []string{"NO_COLOR=1", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "EDITOR=true"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if tail := got[len(got)-2:]; !slices.Equal(tail, []string{"DSH_SHELL=1", "HOME=/other"}) {
		t.Errorf("extra variables are %q", tail)
	}
}
