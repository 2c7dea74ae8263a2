// Package web has the tools web_fetch and web_search. What they may reach is
// decided at the address that is dialled, not by how a URL is written; who may
// use them is for the policy to say.
package web

import (
	"context"
	_ "embed" // the tools' descriptions
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// The names of the tools.
const (
	FetchName  = "web_fetch"
	SearchName = "web_search"
)

// The bounds of one request.
const (
	Timeout      = 30 * time.Second
	maxURL       = 2048      // characters of a URL
	maxRedirects = 5         // of one origin
	maxBody      = 5_000_000 // bytes of an answer, decompressed
	maxText      = 100_000   // characters of its text
	maxHeader    = 256 << 10 // bytes of its header
)

//go:embed fetch.md
var fetchDescription string

//go:embed search.md
var searchDescription string

// Options configure the tools.
type Options struct {
	// Allow lists addresses of private networks that may be reached all the same.
	Allow Allow
	// Search is the service that searches; nil registers no web_search.
	Search Searcher
	// UserAgent is how the program names itself; "" means dsh-acp.
	UserAgent string
	// Resolver looks names up; nil means the system's.
	Resolver Resolver
	// Follow, if set, says whether a call may go on to the URL that its answer
	// leads to, of the same origin: a rule may be about the path.
	Follow func(exec *registry.Execution, to string) bool
	// Proxy says which proxy serves a URL; nil means what the environment says.
	Proxy func(*url.URL) (*url.URL, error)
}

// Web is what the two tools of one program share.
type Web struct {
	opt    Options
	direct *http.Client // every address is checked when it is dialled
	cache  cache

	proxyOnce sync.Once
	proxy     func(*url.URL) (*url.URL, error)

	mu      sync.Mutex
	proxied map[string]*http.Client // by proxy
}

// Register adds the tools to a scope. Nothing is read and nobody is asked before
// a call comes.
func Register(scope *registry.Scope, o Options) (*Web, error) {
	w := New(o)
	if _, err := scope.Register(w.fetchDefinition()); err != nil {
		return nil, err
	}
	if o.Search == nil {
		return w, nil
	}
	_, err := scope.Register(w.searchDefinition())
	return w, err
}

// New makes the tools without registering them.
func New(o Options) *Web {
	if o.UserAgent == "" {
		o.UserAgent = "dsh-acp"
	}
	if o.Resolver == nil {
		o.Resolver = systemResolver{}
	}
	w := &Web{opt: o, proxied: map[string]*http.Client{}}
	w.direct = client(&http.Transport{DialContext: w.dial, MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true, MaxIdleConns: 8, IdleConnTimeout: time.Minute})
	return w
}

// Forget drops what was kept for a session.
func (w *Web) Forget(session string) { w.cache.forget(session) }

// Close ends idle connections.
func (w *Web) Close() {
	w.direct.CloseIdleConnections()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.proxied {
		c.CloseIdleConnections()
	}
}

// client shows redirects instead of following them.
func client(t *http.Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// clientFor is the client that reaches a URL. Through a proxy the addresses are
// the proxy's business; what can be told of the target is checked before.
func (w *Web) clientFor(ctx context.Context, u *url.URL) (*http.Client, error) {
	w.proxyOnce.Do(func() {
		if w.proxy = w.opt.Proxy; w.proxy == nil {
			w.proxy = httpproxy.FromEnvironment().ProxyFunc()
		}
	})
	proxy, err := w.proxy(u)
	if err != nil {
		return nil, errors.New("the proxy of the environment cannot be used: check HTTPS_PROXY and HTTP_PROXY")
	}
	if proxy == nil {
		return w.direct, nil
	}
	if err := w.checkTarget(ctx, u); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := proxy.String()
	if w.proxied[key] == nil {
		w.proxied[key] = client(&http.Transport{Proxy: http.ProxyURL(proxy), MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true, MaxIdleConns: 8, IdleConnTimeout: time.Minute})
	}
	return w.proxied[key], nil
}

// mustSchema converts the literal of an output schema.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic("web: an output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}

// cut keeps the first n characters of a text and says how many there are.
func cut(s string, n int) (head string, total int) {
	head, total = s, 0
	for i := range s {
		if total == n {
			head = s[:i]
		}
		total++
	}
	return strings.Clone(head), total
}
