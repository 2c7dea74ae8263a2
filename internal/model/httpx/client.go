// Package httpx carries the requests of the remote providers: one transport
// with proxies and extra authorities, idle timeouts, and failures in words
// that say what to do next. No API key leaves it but in a request header.
package httpx

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// The default timeouts.
const (
	// DefaultFirstByte is how long a server may think before its first byte:
	// a local one may have to load the model first.
	DefaultFirstByte = 5 * time.Minute
	// DefaultIdle is how long a started answer may pause.
	DefaultIdle = 2 * time.Minute
	// DefaultProgress is how long a server may send keep-alives and nothing
	// else.
	DefaultProgress = 10 * time.Minute
)

// Client sends requests to one server. Fill it before first use; it is then
// safe for concurrent use.
type Client struct {
	// Provider is the name used in messages.
	Provider string
	// BaseURL is the address requests are relative to.
	BaseURL string
	// Key gives the API key, asked for with every request; nil or "" sends none.
	Key func() (string, error)
	// KeyHint ends a sentence about a missing or refused key: what to do about it.
	KeyHint string
	// KeyNeeded fails a request that has no key before it is sent.
	KeyNeeded bool
	// SetKey puts the key into a request; nil means "Authorization: Bearer".
	SetKey func(h http.Header, key string)
	// Secrets are further texts that no message may repeat, such as the values of
	// a gateway's headers.
	Secrets []string
	// HTTP sends; nil means a transport of our own that honours the proxy
	// variables and SSL_CERT_FILE. Its Timeout should be 0, as answers stream.
	HTTP *http.Client
	// FirstByte, Idle and Progress are the timeouts; 0 means the default.
	FirstByte, Idle, Progress time.Duration

	once sync.Once
	own  *http.Client
	err  error
}

// Request is one HTTP request.
type Request struct {
	// Method and Path, which is appended to the base URL.
	Method, Path string
	// Header holds what goes beside the key and the content type.
	Header http.Header
	// Body is JSON, or nil.
	Body []byte
	// Model is named in messages; may be empty.
	Model string
}

// Response is a successful answer.
type Response struct {
	// Status and Header of the answer.
	Status int
	Header http.Header

	c      *Client
	ctx    context.Context // the caller's
	inner  context.Context // the request's, whose cause tells our own timeouts
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	secret string

	idle, progress *time.Timer
	began          atomic.Bool // a byte of the body has come
}

// errIdle and errProgress are the causes of our own cancellations.
var (
	errFirstByte = errors.New("no first byte")
	errIdle      = errors.New("idle")
	errProgress  = errors.New("no progress")
)

func or(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}

// Do sends a request and returns the answer once its header is there. Every
// status but 2xx is an *[model.Error]; so is a failure below HTTP. When ctx
// ended first the error is ctx.Err(). Close the response.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancelCause(ctx)
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(inner, r.Method, address(c.BaseURL, r.Path), body)
	if err == nil && req.URL.Host == "" && (req.URL.Scheme == "http" || req.URL.Scheme == "https") {
		err = errors.New("no host")
	}
	if err != nil {
		cancel(nil)
		return nil, &model.Error{Code: "NETWORK", Message: fmt.Sprintf("the address of %s is no URL; set model.base_url to something like http://localhost:8080/v1", c.Provider)}
	}
	for k, vs := range r.Header {
		req.Header[k] = vs
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "dsh-acp")
	if key != "" && req.Header.Get("Authorization") == "" {
		if c.SetKey != nil {
			c.SetKey(req.Header, key)
		} else {
			req.Header.Set("Authorization", "Bearer "+key)
		}
	}
	resp := &Response{c: c, ctx: ctx, inner: inner, cancel: cancel, secret: key}
	first := time.AfterFunc(or(c.FirstByte, DefaultFirstByte), func() { cancel(errFirstByte) })
	got, err := client.Do(req)
	first.Stop()
	if err != nil {
		err = resp.failure(err)
		cancel(nil)
		return nil, err
	}
	resp.Status, resp.Header, resp.body = got.StatusCode, got.Header, got.Body
	// Many servers send the header at once and think then, so the patience of the
	// first byte lasts until a byte of the answer is there.
	patience := or(c.FirstByte, DefaultFirstByte)
	resp.idle = time.AfterFunc(patience, func() {
		if resp.began.Load() {
			cancel(errIdle)
		} else {
			cancel(errFirstByte)
		}
	})
	resp.progress = time.AfterFunc(max(patience, or(c.Progress, DefaultProgress)), func() { cancel(errProgress) })
	if got.StatusCode/100 != 2 {
		defer resp.Close()
		// A body that does not come must not hide the status.
		resp.Patience(10 * time.Second)
		text, _ := io.ReadAll(io.LimitReader(got.Body, 64<<10))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, c.StatusError(Failure{Status: got.StatusCode, Header: got.Header, Body: text, Model: r.Model, secret: key})
	}
	return resp, nil
}

// address appends a path to a base URL, before the query that some gateways
// have in theirs.
func address(base, path string) string {
	base, query, _ := strings.Cut(base, "?")
	base = strings.TrimRight(base, "/") + path
	if query == "" {
		return base
	}
	if strings.Contains(path, "?") {
		return base + "&" + query
	}
	return base + "?" + query
}

// BaseURL takes a base URL as people write it: without blanks around it, slashes
// at its end, and any of these ends of its path. Its query stays.
func BaseURL(text string, ends ...string) string {
	base, query, asks := strings.Cut(strings.TrimSpace(text), "?")
	for _, end := range append([]string{""}, ends...) {
		base = strings.TrimRight(strings.TrimSuffix(base, end), "/")
	}
	if asks {
		return base + "?" + query
	}
	return base
}

// key asks for the API key. A key that no header can carry is refused here, as
// net/http would in words that help nobody.
func (c *Client) key() (string, error) {
	key, err := "", error(nil)
	if c.Key != nil {
		key, err = c.Key()
	}
	if err != nil {
		return "", &model.Error{Code: "AUTH", Message: fmt.Sprintf("the API key of %s cannot be had: %s", c.Provider, err), Err: err}
	}
	key = strings.TrimSpace(key)
	if key == "" && c.KeyNeeded {
		return "", &model.Error{Code: "AUTH", Message: fmt.Sprintf("%s wants an API key and none is set: %s", c.Provider, c.keyHint())}
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] >= 0x7F {
			return "", &model.Error{Code: "AUTH", Message: fmt.Sprintf("the API key of %s holds a blank, a line break or a character that is not ASCII, so it cannot be right: %s", c.Provider, c.keyHint())}
		}
	}
	return key, nil
}

func (c *Client) keyHint() string {
	if c.KeyHint != "" {
		return c.KeyHint
	}
	return "set the variable that model.api_key_env names"
}

// client returns the HTTP client, made at first use so that a provider that is
// never asked costs nothing.
func (c *Client) client() (*http.Client, error) {
	if c.HTTP != nil {
		return c.HTTP, nil
	}
	c.once.Do(func() {
		roots, err := authorities()
		if err != nil {
			c.err = &model.Error{Code: "NETWORK", Message: "SSL_CERT_FILE cannot be used: " + err.Error() + "; point it at a PEM file with the certificate of the authority, or unset it", Err: err}
			return
		}
		proxy := httpproxy.FromEnvironment().ProxyFunc()
		c.own = &http.Client{
			Transport: &http.Transport{
				Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
				TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout: 20 * time.Second,
				ForceAttemptHTTP2:   true,
				MaxIdleConnsPerHost: 4,
				IdleConnTimeout:     90 * time.Second,
			},
			// A redirected POST loses its body, and a key must not travel to
			// another host: say where the server wants us instead.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
	return c.own, c.err
}

// authorities are the system's, and those of SSL_CERT_FILE beside them: where
// Go reads that variable itself it replaces the system's, and on macOS and
// Windows it does not read it at all.
func authorities() (*x509.CertPool, error) {
	name := os.Getenv("SSL_CERT_FILE")
	if name == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", name)
	}
	return pool, nil
}

// Read reads the body. Errors but io.EOF are what [Client.Do] gives.
func (r *Response) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if n > 0 {
		if !r.began.Swap(true) {
			r.progress.Reset(or(r.c.Progress, DefaultProgress))
		}
		r.idle.Reset(or(r.c.Idle, DefaultIdle))
	}
	if err != nil && err != io.EOF {
		err = r.failure(err)
	}
	return n, err
}

// Progress tells that something arrived that was more than a keep-alive.
func (r *Response) Progress() { r.progress.Reset(or(r.c.Progress, DefaultProgress)) }

// Patience bounds the rest of the answer, for when it is not needed any more.
func (r *Response) Patience(d time.Duration) {
	r.progress.Reset(min(d, or(r.c.Progress, DefaultProgress)))
}

// Drain reads the few bytes that may follow a complete answer, so that the
// connection can serve the next request too. It waits very little.
func (r *Response) Drain() {
	r.Patience(50 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, r.body, 4<<10)
}

// Close ends the request at once, read or not.
func (r *Response) Close() {
	r.idle.Stop()
	r.progress.Stop()
	r.cancel(nil)
	r.body.Close()
}

// Redact removes the key that was sent from a text of the server.
func (r *Response) Redact(s string) string { return r.c.redact(s, r.secret) }

// ServerError is the error for a failure that came inside a successful answer.
func (r *Response) ServerError(body []byte, modelID string) *model.Error {
	return r.c.StatusError(Failure{Status: statusIn(body), Header: r.Header, Body: body, Model: modelID, Inside: true, secret: r.secret})
}
