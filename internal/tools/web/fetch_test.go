package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools/web"
)

// served is what a fetch of one answer gives.
func served(t *testing.T, contentType string, body []byte) *registry.Result {
	t.Helper()
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		if contentType == "" {
			rw.Header()["Content-Type"] = nil // or the server guesses
		} else {
			rw.Header().Set("Content-Type", contentType)
		}
		_, _ = rw.Write(body)
	})
	return newWorld(t, web.Options{Allow: allow(t, "127.0.0.1")}).fetch(t, s.URL+"/dir/page")
}

func TestAPageBecomesMarkdown(t *testing.T) {
	page := `<!doctype html><html><head><title>T</title><style>x{}</style><script>alert(1)</script></head><body>
<!-- hidden --><h1>Title</h1><p>See <a href="../other?q=1#part">this</a> and <a href="https://x.example/">that</a>.</p>
<img src="data:image/png;base64,AAAA" alt="pic"><img src="/i.png" alt="two">
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<pre><code>if a &lt; b {}</code></pre><ul><li>one</li><li>two</li></ul><del>old</del><script>alert(2)</script></body></html>`
	r := served(t, "text/html; charset=utf-8", []byte(page))
	v := r.Value()
	if v.Get("body").GetString("kind") != "html" || v.Get("statusCode").String() != "200" {
		t.Fatal(r.Text())
	}
	base := strings.TrimSuffix(v.GetString("url"), "/dir/page")
	want := "# Title\n\nSee [this](" + base + "/other?q=1#part) and [that](https://x.example/).\n\n![two](" + base + "/i.png)\n\n" +
		"| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nif a < b {}\n```\n\n- one\n- two\n\n~~old~~"
	if got := v.Get("body").GetString("content"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if want := "Fetched " + base + "/dir/page (HTTP 200)\n\n" + want; r.Text() != want {
		t.Errorf("%s", r.Text())
	}
}

func encoded(t *testing.T, e encoding.Encoding, text string) []byte {
	t.Helper()
	b, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestContentTypesAndCharsets(t *testing.T) {
	utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	long := strings.Repeat("a", 1500) + "ü"
	for _, tt := range []struct {
		name, header string
		body         []byte
		kind, want   string
	}{
		{"plain", "text/plain", []byte("a\r\nb"), "text", "a\r\nb"},
		{"json", "application/json", []byte(`{"a": "ü"}`), "text", `{"a": "ü"}`},
		{"json of a kind", "application/problem+json", []byte(`{}`), "text", `{}`},
		{"xml", "application/rss+xml", []byte(`<rss/>`), "text", `<rss/>`},
		{"yaml", "application/yaml", []byte("a: 1\n"), "text", "a: 1\n"},
		{"svg is text", "image/svg+xml", []byte(`<svg/>`), "text", `<svg/>`},
		{"xhtml", "application/xhtml+xml", []byte(`<html><body><p>x</p></body></html>`), "html", "x"},
		{"latin 1 by header", "text/plain; charset=ISO-8859-1", []byte("f\xfcr"), "text", "für"},
		{"quoted", `text/plain; charset="iso-8859-1"`, []byte("f\xfcr"), "text", "für"},
		{"unknown charset", "text/plain; charset=klingon", []byte("für"), "text", "für"},
		{"a bad parameter", "text/plain; charset", []byte("für"), "text", "für"},
		{"guessed latin 1", "text/plain", []byte("f\xfcr"), "text", "für"},
		{"utf-8 that shows late", "text/plain", []byte(long), "text", long},
		{"byte order mark", "text/plain", []byte("\xef\xbb\xbfx"), "text", "x"},
		{"utf-16", "text/plain", encoded(t, utf16, "für"), "text", "für"},
		{"shift_jis by meta", "text/html", encoded(t, japanese.ShiftJIS, `<meta charset="shift_jis"><p>日本</p>`), "html", "日本"},
		{"iso-2022-jp by meta", "text/html", encoded(t, japanese.ISO2022JP, `<meta charset="iso-2022-jp"><p>日本</p>`), "html", "日本"},
		{"koi8-r by header", "text/html; charset=koi8-r", encoded(t, charmap.KOI8R, `<p>да</p>`), "html", "да"},
		{"a meta that is wrong", "text/html", []byte(`<meta charset="windows-1252"><p>für</p>`), "html", "für"},
		{"no type, text", "", []byte("just text"), "text", "just text"},
		{"no type, page", "", []byte("<!doctype html><p>x</p>"), "html", "x"},
		{"octets that are text", "application/octet-stream", []byte("text"), "text", "text"},
		{"broken utf-8", "text/plain; charset=utf-8", []byte("a\xffb"), "text", "a\uFFFDb"},
		{"empty", "text/html", nil, "html", ""},
		{"pdf", "application/pdf", []byte("%PDF-1.7"), "", `unsupported content type "application/pdf": a PDF cannot be read; look for the same text as a page`},
		{"pdf in disguise", "text/plain", []byte("%PDF-1.7"), "", `unsupported content type "application/pdf"`},
		{"png", "image/png", []byte("\x89PNG\r\n\x1a\n"), "", `unsupported content type "image/png"`},
		{"png in disguise", "text/html", []byte("\x89PNG\r\n\x1a\n\x00\x00"), "", `unsupported content type "image/png"`},
		{"png without a type", "", []byte("\x89PNG\r\n\x1a\n\x00\x00"), "", `unsupported content type "image/png"`},
		{"zip", "application/zip", []byte("PK\x03\x04"), "", `unsupported content type "application/zip"`},
		{"nothing but zeros", "text/plain", make([]byte, 100), "", `unsupported content type "application/octet-stream"`},
		{"video", "video/mp4; codecs=x", nil, "", `unsupported content type "video/mp4"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := served(t, tt.header, tt.body)
			if tt.kind == "" {
				if !r.IsError() || !strings.HasPrefix(r.Text(), "Error: "+tt.want) {
					t.Error(r.Text())
				}
				return
			}
			if body := r.Value().Get("body"); r.IsError() || body.GetString("kind") != tt.kind || body.GetString("content") != tt.want {
				t.Errorf("%q", r.Text())
			}
		})
	}
}

func TestErrorsOfAServerAreResults(t *testing.T) {
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusNotFound)
		_, _ = rw.Write([]byte("no such page"))
	})
	r := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1")}).fetch(t, s.URL)
	if r.IsError() || r.Text() != "Fetched "+s.URL+" (HTTP 404)\n\nno such page" {
		t.Error(r.Text())
	}
}

func TestRedirects(t *testing.T) {
	var agent string
	mux := http.NewServeMux()
	mux.HandleFunc("/end", func(rw http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		_, _ = rw.Write([]byte("there"))
	})
	for i := range 10 {
		mux.Handle(fmt.Sprint("/", i+1), http.RedirectHandler(fmt.Sprint("/", i), http.StatusMovedPermanently))
	}
	mux.Handle("/0", http.RedirectHandler("end#part", http.StatusTemporaryRedirect))
	mux.HandleFunc("/nowhere", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusFound) })
	s := serve(t, mux.ServeHTTP)
	w := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1"), UserAgent: "tester/1"})
	r := w.fetch(t, s.URL+"/1")
	if want := fmt.Sprintf("Fetched %s/end (HTTP 200)\nRedirected from %s/1\nRedirected from %s/0\n\nthere", s.URL, s.URL, s.URL); r.Text() != want {
		t.Error(r.Text())
	}
	if agent != "tester/1" {
		t.Error(agent)
	}
	if r := w.fetch(t, s.URL+"/4"); r.IsError() {
		t.Error(r.Text())
	}
	if r := w.fetch(t, s.URL+"/5"); r.Text() != "Error: exceeded the maximum of 5 redirects" {
		t.Error(r.Text())
	}
	if r := w.fetch(t, s.URL+"/nowhere"); r.IsError() || !strings.Contains(r.Text(), "(HTTP 302)") {
		t.Error(r.Text())
	}
}

// A long text is cut at a character, and says how long it is.
func TestTruncation(t *testing.T) {
	r := served(t, "text/plain", []byte(strings.Repeat("é", 100_001)))
	body := r.Value().Get("body").GetString("content")
	if body != strings.Repeat("é", 100_000) || r.Value().Get("totalChars").String() != "100001" {
		t.Error(len(body), r.Value().Get("totalChars"))
	}
	if !strings.HasSuffix(r.Text(), "é\n\n(Content truncated. Fetch a more specific URL or section for the full text.)\n(These are the first 100000 of 100001 characters.)") {
		t.Error(r.Text()[len(r.Text())-200:])
	}
	if r := served(t, "text/plain", []byte(strings.Repeat("é", 100_000))); strings.Contains(r.Text(), "truncated") {
		t.Error("a whole text is said to be cut")
	}
}

const tooLong = "Error: response exceeds the maximum of 5000000 bytes"

// Bodies that are too long, said or not, packed or not, cost little memory.
func TestLongBodies(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	block := make([]byte, 1<<20)
	for range 64 {
		_, _ = z.Write(block)
	}
	_ = z.Close()
	for name, h := range map[string]http.HandlerFunc{
		"said": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			rw.Header().Set("Content-Length", "6000000")
			_, _ = rw.Write([]byte("x"))
		},
		"endless": func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			for r.Context().Err() == nil {
				if _, err := rw.Write(block); err != nil {
					return
				}
			}
		},
		"packed": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			rw.Header().Set("Content-Encoding", "gzip")
			_, _ = rw.Write(bomb.Bytes())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, h)
			w := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1")})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := w.fetch(t, s.URL)
			runtime.ReadMemStats(&after)
			if r.Text() != tooLong {
				t.Error(r.Text())
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
				t.Errorf("%d MiB were allocated", grown>>20)
			}
		})
	}
	t.Run("another packing", func(t *testing.T) {
		s := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "br")
			_, _ = rw.Write([]byte("x"))
		})
		r := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1")}).fetch(t, s.URL)
		if r.Text() != `Error: unsupported content encoding "br"` {
			t.Error(r.Text())
		}
	})
}

// A server that does not answer, or not to the end, is given up with the call.
func TestSlowServers(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, h := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		},
		"no end": func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			_, _ = rw.Write([]byte("x"))
			rw.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, h)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			begin := time.Now()
			r := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1")}).call(ctx, "web_fetch", map[string]any{"url": s.URL})
			if !r.IsError() || time.Since(begin) > web.Timeout-5*time.Second {
				t.Error(r.Text(), time.Since(begin))
			}
		})
	}
	t.Run("a closed port", func(t *testing.T) {
		s := serve(t, func(http.ResponseWriter, *http.Request) {})
		at := s.URL
		s.Close()
		r := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1")}).fetch(t, at)
		if r.Text() != "Error: web fetch failed: nothing listens there (connection refused)" {
			t.Error(r.Text())
		}
	})
	t.Run("no HTTP", func(t *testing.T) {
		s := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, _ := rw.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, "SSH-2.0-x\r\n")
			_ = conn.Close()
		})
		r := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1")}).fetch(t, s.URL)
		if !strings.HasPrefix(r.Text(), "Error: web fetch failed: ") {
			t.Error(r.Text())
		}
	})
}

// Pages that are made to be hard to convert give their text all the same.
func TestHardPages(t *testing.T) {
	for name, page := range map[string]string{
		"deep":       strings.Repeat("<div>", 5000) + "needle",
		"unclosed":   "<b><i><p>needle" + strings.Repeat("<b>", 400),
		"wide":       strings.Repeat("<p>x</p>", 20000) + "needle",
		"huge":       "<p>needle</p>" + strings.Repeat("<p>x</p>", 500000),
		"attributes": "<a " + strings.Repeat("x=y ", 100000) + ">needle</a>",
		"lists":      strings.Repeat("<ul><li>", 200) + "needle",
		"tables":     strings.Repeat("<table><tr><td>", 100) + "needle",
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			r := served(t, "text/html", []byte(page))
			if r.IsError() || !strings.Contains(r.Value().String(), "needle") && !strings.Contains(r.Text(), "truncated") {
				t.Errorf("%.300s", r.Text())
			}
			if d := time.Since(begin); d > 3*time.Minute {
				t.Errorf("took %s", d)
			}
		})
	}
}

// A session that fetches a page twice asks its server once, where that is
// allowed; another session asks for itself. Local servers change under the hands.
func TestKeptPages(t *testing.T) {
	asked := 0
	control := ""
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		asked++
		rw.Header().Set("Cache-Control", control)
		_, _ = fmt.Fprintf(rw, "answer %d", asked)
	})
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	// The name resolves to an allowed address, so that it counts as public.
	w := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1"), Resolver: &names{table: map[string][]string{"docs.example": {"127.0.0.1"}}}})
	at := "http://docs.example:" + port + "/"
	w.fetch(t, at)
	if r := w.fetch(t, at); !strings.Contains(r.Text(), "answer 1") || !strings.Contains(r.Text(), "Kept from a fetch 1 s ago") {
		t.Error(r.Text())
	}
	if r := w.fetch(t, at+"#part"); !strings.Contains(r.Text(), "answer 1") {
		t.Error(r.Text())
	}
	w.web.Forget("s")
	if r := w.fetch(t, at); !strings.Contains(r.Text(), "answer 2") || strings.Contains(r.Text(), "Kept") {
		t.Error(r.Text())
	}
	for i := range 10 {
		w.fetch(t, at+fmt.Sprint(i))
	}
	if r := w.fetch(t, at); !strings.Contains(r.Text(), "answer 13") {
		t.Error(r.Text()) // only the last few are kept
	}
	control = "no-store"
	w.fetch(t, at+"x")
	if r := w.fetch(t, at+"x"); !strings.Contains(r.Text(), "answer 15") {
		t.Error(r.Text())
	}
	control = ""
	w.fetch(t, s.URL)
	if r := w.fetch(t, s.URL); strings.Contains(r.Text(), "Kept") {
		t.Error(r.Text())
	}
}

func TestFetchCards(t *testing.T) {
	w := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1")})
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) })
	tool, _ := w.scope.Get("web_fetch")
	args := jsonvalue.MustFromGo(map[string]any{"url": s.URL})
	if c := tool.PresentCall(args); c.Card != cards.Generic || c.Kind != cards.KindFetch || c.Title != s.URL || c.RawInput.String() != `"`+s.URL+`"` {
		t.Errorf("%+v", c)
	}
	r := w.fetch(t, s.URL)
	c := tool.PresentResult(args, cards.ResultInput{Content: r.Content(), Meta: r.Meta()})
	if c == nil || c.Card != cards.Web || c.Web.Kind != "fetch" || c.Web.StatusCode != 200 || c.Web.URL != s.URL {
		t.Errorf("%+v", c)
	}
	if c := tool.PresentResult(args, cards.ResultInput{Content: []content.Block{content.Text("Error: x")}, IsError: true}); c != nil {
		t.Errorf("%+v", c)
	}
	if !tool.ConcurrencySafe(args) {
		t.Error("fetches do not overlap")
	}
}
