package sse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// all reads every event, written as name|data, with ! for a bare one.
func all(t testing.TB, r io.Reader, limit int) ([]string, error) {
	t.Helper()
	var out []string
	for sr := NewReader(r, limit); ; {
		e, err := sr.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			if _, again := sr.Next(); again == nil || again == io.EOF {
				t.Errorf("the error %v did not stay: %v", err, again)
			}
			return out, err
		}
		s := e.Name + "|" + string(e.Data)
		if e.Bare {
			s = "!" + s
		}
		out = append(out, s)
	}
}

func TestReader(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		{"no space after the colon", "data:a\n\n", []string{"|a"}},
		{"only one space is taken", "data:  a\n\n", []string{"| a"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		{"byte order mark", "\uFEFFdata: a\n\n", []string{"|a"}},
		{"a mark later is text", "data: \uFEFFa\n\n", []string{"|\uFEFFa"}},
		{"several data lines", "data: a\ndata:\ndata: b\n\n", []string{"|a\n\nb"}},
		{"comments", ": keep-alive\n\n: keep-alive\n\ndata: a\n: in between\ndata: b\n\n", []string{"|a\nb"}},
		{"event names", "event: ping\ndata: {}\n\nevent: lost\n\ndata: x\n\n", []string{"ping|{}", "|x"}},
		{"other fields", "id: 1\nretry: 5\ndata: a\nnoise\n\n", []string{"|a"}},
		{"no blank line at the end", "data: a\n\ndata: b", []string{"|a", "|b"}},
		{"empty data", "data:\n\n", []string{"|"}},
		{"nothing", "", nil},
		{"bare object", "data: a\n\n{\"error\":{\"message\":\"m\"}}\n", []string{"|a", "!|{\"error\":{\"message\":\"m\"}}\n"}},
		{"bare object over lines", "{\n  \"error\": 1\n}", []string{"!|{\n  \"error\": 1\n}\n"}},
		{"bare object, then data", "{\"error\":1}\ndata: a\n\n", []string{"!|{\"error\":1}\n", "|a"}},
	} {
		for how, r := range map[string]io.Reader{
			"whole": strings.NewReader(c.in), "bytewise": iotest.OneByteReader(strings.NewReader(c.in)),
			"error with data": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			got, err := all(t, r, 0)
			if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("%s, %s: %q, %v; want %q", c.name, how, got, err, c.want)
			}
		}
	}
}

func TestDone(t *testing.T) {
	e, err := NewReader(strings.NewReader("data: [DONE] \r\n\r\n"), 0).Next()
	if err != nil || !e.Done() {
		t.Errorf("%q, %v", e.Data, err)
	}
	if (Event{Data: []byte(`{"a":"[DONE]"}`)}).Done() {
		t.Error("an object is taken for the end")
	}
}

func TestReaderIsBounded(t *testing.T) {
	for name, in := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 200) + "\n\n",
		"no newline": "data: " + strings.Repeat("x", 100_000),
		"many lines": strings.Repeat("data: x\n", 50) + "\n",
	} {
		var tooLong *TooLongError
		if _, err := all(t, strings.NewReader(in), 100); !errors.As(err, &tooLong) || tooLong.Limit != 100 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Comments add up to nothing, however many there are.
	if got, err := all(t, strings.NewReader("data: a\n"+strings.Repeat(": keep-alive\n", 1000)+"\n"), 100); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReaderKeepsTheCause(t *testing.T) {
	cause := errors.New("connection reset")
	got, err := all(t, io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(cause)), 0)
	if !errors.Is(err, cause) || fmt.Sprint(got) != "[|a]" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := NewReader(stuck{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader without progress: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// How the bytes arrive makes no difference.
func FuzzReader(f *testing.F) {
	f.Add("data: a\r\n\r\n: c\n\rdata: b", 3)
	f.Add("\uFEFFevent: x\ndata: {\n\n{\"error\":1}\ndata: [DONE]\n\n", 1)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		const limit = 1 << 10
		whole, err1 := all(t, strings.NewReader(in), limit)
		cut = min(max(cut, 0), len(in))
		parts, err2 := all(t, io.MultiReader(strings.NewReader(in[:cut]), iotest.OneByteReader(strings.NewReader(in[cut:]))), limit)
		if fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", parts) || (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q: %q %v, in pieces %q %v", in, whole, err1, parts, err2)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	const n = 1000
	in := strings.Repeat(`data: {"id":"x","choices":[{"index":0,"delta":{"content":" word"}}]}`+"\n\n", n)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r := NewReader(strings.NewReader(in), 0)
		for range n {
			if _, err := r.Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
