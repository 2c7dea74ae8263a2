package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The services that can search.
const (
	SearXNG = "searxng" // a server of one's own; wants BaseURL
	Brave   = "brave"   // wants a key
	Tavily  = "tavily"  // wants a key
)

// Service says which service searches.
type Service struct {
	Provider string
	// BaseURL is the server; "" means the service's own.
	BaseURL string
	// Key gives the key, or says why there is none.
	Key       func() (string, error)
	UserAgent string
}

// NewSearcher makes the searcher of a service. It asks nobody.
func NewSearcher(s Service) (Searcher, error) {
	b := &backend{Service: s}
	switch s.Provider {
	case SearXNG:
		b.ask, b.answer = askSearXNG, answerSearXNG
		if s.BaseURL == "" {
			return nil, errors.New("the search service searxng needs its base_url")
		}
	case Brave:
		b.ask, b.answer, b.keyed = askBrave, answerBrave, true
		b.BaseURL = orElse(s.BaseURL, "https://api.search.brave.com")
	case Tavily:
		b.ask, b.answer, b.keyed = askTavily, answerTavily, true
		b.BaseURL = orElse(s.BaseURL, "https://api.tavily.com")
	default:
		return nil, fmt.Errorf("the search service %q is not known", s.Provider)
	}
	b.BaseURL = strings.TrimSuffix(b.BaseURL, "/")
	return b, nil
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// backend is one service: how it is asked and how it answers.
type backend struct {
	Service
	keyed  bool
	ask    func(base, key, query string, sources int) (*http.Request, error)
	answer func(jsonvalue.Value) Found

	once   sync.Once
	client *http.Client
}

// maxAnswer bounds a service's answer, in bytes.
const maxAnswer = 2 << 20

// Search asks the service.
func (b *backend) Search(ctx context.Context, query string, sources int) (Found, error) {
	key := ""
	if b.keyed {
		var err error
		if key, err = b.Key(); err != nil {
			return Found{}, err
		}
	}
	req, err := b.ask(b.BaseURL, key, query, sources)
	if err != nil {
		return Found{}, errors.New("the search service's base_url is no URL")
	}
	req = req.WithContext(ctx)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", orElse(b.UserAgent, "dsh-acp"))
	b.once.Do(func() {
		proxy := httpproxy.FromEnvironment().ProxyFunc()
		b.client = client(&http.Transport{
			Proxy:                  func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
			MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true,
		})
	})
	resp, err := b.client.Do(req)
	if err != nil {
		return Found{}, b.failed(err, key)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return Found{}, b.failed(err, key)
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		if b.Provider == SearXNG {
			return Found{}, fmt.Errorf("the server refuses the request (HTTP %d): it may not allow format=json; add json to search.formats in its settings", resp.StatusCode)
		}
		return Found{}, fmt.Errorf("%s refuses the key (HTTP %d): the user has to check it", b.Provider, resp.StatusCode)
	case resp.StatusCode == http.StatusTooManyRequests:
		return Found{}, fmt.Errorf("%s allows no more searches for now (HTTP 429): wait, or go on without", b.Provider)
	case resp.StatusCode != http.StatusOK:
		return Found{}, fmt.Errorf("%s answered with HTTP %d", b.Provider, resp.StatusCode)
	case len(body) > maxAnswer:
		return Found{}, fmt.Errorf("the answer of %s exceeds %d bytes", b.Provider, maxAnswer)
	}
	v, err := jsonvalue.Parse(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	if err != nil || !v.IsObject() {
		return Found{}, fmt.Errorf("the answer of %s is not the JSON that was asked for", b.Provider)
	}
	return b.answer(v), nil
}

// failed says what went wrong below HTTP, without the URL, which may hold a query
// or a key.
func (b *backend) failed(err error, key string) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	if key != "" {
		text = strings.ReplaceAll(text, key, "…")
	}
	return fmt.Errorf("%s cannot be reached: %s", b.Provider, text)
}

func askSearXNG(base, _, query string, _ int) (*http.Request, error) {
	return http.NewRequest(http.MethodGet, base+"/search?"+url.Values{"q": {query}, "format": {"json"}}.Encode(), nil)
}

func answerSearXNG(v jsonvalue.Value) Found {
	f := Found{Sources: sourcesOf(v.Get("results"), "content", "publishedDate")}
	var answers []string
	for _, a := range v.Get("answers").Elements() {
		if text, ok := a.Str(); ok {
			answers = append(answers, text)
		} else if text := a.GetString("answer"); text != "" {
			answers = append(answers, text)
		}
	}
	f.Answer = strings.Join(answers, "\n\n")
	return f
}

func askBrave(base, key, query string, sources int) (*http.Request, error) {
	// One more than is shown tells whether there are more.
	q := url.Values{"q": {query}, "count": {strconv.Itoa(sources + 1)}, "text_decorations": {"false"}}
	req, err := http.NewRequest(http.MethodGet, base+"/res/v1/web/search?"+q.Encode(), nil)
	if err == nil {
		req.Header.Set("X-Subscription-Token", key)
	}
	return req, err
}

func answerBrave(v jsonvalue.Value) Found {
	return Found{Sources: sourcesOf(v.Get("web").Get("results"), "description", "page_age")}
}

func askTavily(base, key, query string, sources int) (*http.Request, error) {
	body := jsonvalue.Object(
		jsonvalue.Member{Key: "query", Value: jsonvalue.String(query)},
		jsonvalue.Member{Key: "max_results", Value: jsonvalue.Int(int64(sources + 1))},
		jsonvalue.Member{Key: "include_answer", Value: jsonvalue.Bool(true)},
	)
	req, err := http.NewRequest(http.MethodPost, base+"/search", bytes.NewReader(body.JSON()))
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

func answerTavily(v jsonvalue.Value) Found {
	return Found{Answer: v.GetString("answer"), Sources: sourcesOf(v.Get("results"), "content", "published_date")}
}

// sourcesOf reads a list of results; the services differ in two names.
func sourcesOf(list jsonvalue.Value, snippet, published string) []Source {
	var out []Source
	for _, r := range list.Elements() {
		out = append(out, Source{
			URL: r.GetString("url"), Title: html.UnescapeString(r.GetString("title")),
			Snippet: html.UnescapeString(r.GetString(snippet)), PublishedAt: r.GetString(published),
		})
	}
	return out
}
