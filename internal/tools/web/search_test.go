package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/tools/web"
)

type searcher func(ctx context.Context, query string, n int) (web.Found, error)

func (f searcher) Search(ctx context.Context, query string, n int) (web.Found, error) {
	return f(ctx, query, n)
}

func finds(f web.Found) web.Searcher {
	return searcher(func(context.Context, string, int) (web.Found, error) { return f, nil })
}

func TestSearchTexts(t *testing.T) {
	many := web.Found{}
	for i := range 9 {
		many.Sources = append(many.Sources, web.Source{URL: fmt.Sprint("https://x.example/", i)})
	}
	const cite = "Cite the relevant URLs above as markdown links in your answer."
	for _, tt := range []struct {
		name  string
		found web.Found
		want  string
	}{
		{"nothing", web.Found{}, "No results found.\n\n" + cite},
		{"an answer", web.Found{Answer: "42 "}, "42\n\n" + cite},
		{"sources", web.Found{Answer: "It is.", Sources: []web.Source{
			{URL: "https://a.example/x", Title: "A [b]", Snippet: "some\n text", PublishedAt: "2026-01-02"},
			{URL: "https://b.example/y"},
			{URL: "https://b.example/y", Title: "again"},
			{URL: "javascript:alert(1)", Title: "no"},
			{URL: "", Title: "no"},
		}}, "It is.\n\nSources:\n- [A (b)](https://a.example/x) — some text (2026-01-02)\n- [b.example](https://b.example/y)\n\n" + cite},
		{"more than are shown", many, "Sources:\n- [x.example](https://x.example/0)\n- [x.example](https://x.example/1)\n- [x.example](https://x.example/2)\n" +
			"- [x.example](https://x.example/3)\n- [x.example](https://x.example/4)\n- [x.example](https://x.example/5)\n- [x.example](https://x.example/6)\n" +
			"- [x.example](https://x.example/7)\n\n(Showing the first 8 sources. Refine the query for more.)\n\n" + cite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, web.Options{Search: finds(tt.found)})
			r := w.call(t.Context(), "web_search", map[string]any{"query": "q"})
			if r.IsError() || r.Text() != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", r.Text(), tt.want)
			}
			tool, _ := w.scope.Get("web_search")
			c := tool.PresentResult(jsonvalue.MustFromGo(map[string]any{"query": "q"}), cards.ResultInput{Content: r.Content(), Meta: r.Meta()})
			if c == nil || c.Card != cards.Web || c.Web.Kind != "search" || len(c.Web.Sources) != r.Value().Get("sources").Len() {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestSearchArgumentsAndFailures(t *testing.T) {
	w := newWorld(t, web.Options{Search: searcher(func(ctx context.Context, _ string, _ int) (web.Found, error) {
		return web.Found{}, errors.New("out of order")
	})})
	for query, want := range map[string]string{
		" ":                       "Error: query must be a non-empty string",
		strings.Repeat("é", 1001): "Error: query must have at most 1000 characters, and has 1001",
		"x":                       "Error: web search failed: out of order",
	} {
		if r := w.call(t.Context(), "web_search", map[string]any{"query": query}); r.Text() != want {
			t.Errorf("%q", r.Text())
		}
	}
	if _, there := newWorld(t, web.Options{}).scope.Get("web_search"); there {
		t.Error("web_search is offered without a service")
	}
}

// Each service is asked in its own way and gives the same.
func TestServices(t *testing.T) {
	for _, tt := range []struct {
		provider, answer string
		check            func(r *http.Request, body string) error
	}{
		{"searxng", `{"results":[{"url":"https://a.example","title":"A &amp; B","content":"c","publishedDate":"2026"}],"answers":[{"answer":"yes"},"no"]}`, func(r *http.Request, _ string) error {
			if r.Method != "GET" || r.URL.Path != "/search" || r.URL.Query().Get("q") != "the query" || r.URL.Query().Get("format") != "json" {
				return errors.New(r.URL.String())
			}
			return nil
		}},
		{"brave", `{"web":{"results":[{"url":"https://a.example","title":"A &amp; B","description":"c","page_age":"2026"}]}}`, func(r *http.Request, _ string) error {
			if r.URL.Path != "/res/v1/web/search" || r.URL.Query().Get("q") != "the query" || r.Header.Get("X-Subscription-Token") != "k3y" {
				return errors.New(r.URL.String())
			}
			return nil
		}},
		{"tavily", `{"answer":"yes","results":[{"url":"https://a.example","title":"A & B","content":"c","published_date":"2026"}]}`, func(r *http.Request, body string) error {
			var q struct{ Query string }
			if r.Method != "POST" || r.URL.Path != "/search" || json.Unmarshal([]byte(body), &q) != nil || q.Query != "the query" || r.Header.Get("Authorization") != "Bearer k3y" {
				return errors.New(body)
			}
			return nil
		}},
	} {
		t.Run(tt.provider, func(t *testing.T) {
			status := http.StatusOK
			s := serve(t, func(rw http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if err := tt.check(r, string(body)); err != nil {
					t.Error(err)
				}
				if status == http.StatusFound {
					rw.Header().Set("Location", "https://elsewhere.example/")
				}
				rw.WriteHeader(status)
				_, _ = io.WriteString(rw, tt.answer)
			})
			b, err := web.NewSearcher(web.Service{Provider: tt.provider, BaseURL: s.URL + "/", Key: func() (string, error) { return "k3y", nil }})
			if err != nil {
				t.Fatal(err)
			}
			found, err := b.Search(t.Context(), "the query", 8)
			want := web.Source{URL: "https://a.example", Title: "A & B", Snippet: "c", PublishedAt: "2026"}
			if err != nil || len(found.Sources) != 1 || found.Sources[0] != want {
				t.Errorf("%v %+v", err, found)
			}
			for code, words := range map[int]string{401: "refuse", 429: "no more searches", 500: "HTTP 500", 302: "HTTP 302"} {
				status = code
				if _, err := b.Search(t.Context(), "the query", 8); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "k3y") {
					t.Errorf("%d: %v", code, err)
				}
			}
			status, tt.answer = http.StatusOK, "<html>"
			if _, err := b.Search(t.Context(), "the query", 8); err == nil || !strings.Contains(err.Error(), "not the JSON") {
				t.Error(err)
			}
			s.Close()
			if _, err := b.Search(t.Context(), "the query", 8); err == nil || !strings.Contains(err.Error(), "cannot be reached") || strings.Contains(err.Error(), "query") {
				t.Error(err)
			}
		})
	}
}

func TestServicesThatCannotBeAsked(t *testing.T) {
	for _, s := range []web.Service{{Provider: "searxng"}, {Provider: "altavista"}} {
		if _, err := web.NewSearcher(s); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	b, err := web.NewSearcher(web.Service{Provider: "brave", Key: func() (string, error) { return "", errors.New("no key: set BRAVE_API_KEY") }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Search(t.Context(), "q", 8); err == nil || err.Error() != "no key: set BRAVE_API_KEY" {
		t.Error(err)
	}
}
