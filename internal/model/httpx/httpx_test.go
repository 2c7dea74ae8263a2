package httpx

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

const secret = "sk-secret-0123456789abcdef"

func client(base string) *Client {
	return &Client{Provider: "acme", BaseURL: base, Key: func() (string, error) { return secret, nil }, KeyHint: "set ACME_KEY"}
}

func get(t *testing.T, c *Client) (string, error) {
	t.Helper()
	resp, err := c.Do(t.Context(), Request{Method: http.MethodPost, Path: "/x", Body: []byte("{}"), Model: "big-1"})
	if err != nil {
		return "", err
	}
	defer resp.Close()
	data, err := io.ReadAll(resp)
	return string(data), err
}

func codeOf(err error) string {
	var e *model.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("%T", err)
	}
	if e.Retryable {
		return e.Code + " retryable"
	}
	return e.Code
}

func noKey(t *testing.T, name string, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		if s := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(s, secret) || strings.Contains(s, "pass-word") {
			t.Errorf("%s: a secret shows: %s", name, s)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		header []string
		code   string
		words  []string
	}{
		{"wrong key", 401, `{"error":{"message":"Incorrect API key provided: ` + secret + `"}}`, nil, "AUTH", []string{"refused the API key", "set ACME_KEY"}},
		{"an unknown model of Anthropic's", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: big-1"}}`, nil, "NOT_FOUND", []string{`has no model "big-1"`}},
		{"a wrong path of Anthropic's", 404, `{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}`, nil, "NOT_FOUND", []string{"not at this path"}},
		{"forbidden", 403, `{"error":{"message":"Country not supported"}}`, nil, "AUTH", []string{"Country not supported", `"big-1"`}},
		{"balance", 402, `{"error":{"message":"Insufficient Balance"}}`, nil, "QUOTA", []string{"top it up", "Insufficient Balance"}},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, []string{"Retry-After", "5"}, "QUOTA", []string{"top it up"}},
		{"rate", 429, `{"error":{"message":"slow down"}}`, nil, "RATE_LIMITED retryable", []string{"slow down", "wait and try again"}},
		{"rate with a wait", 429, `slow down`, []string{"Retry-After", "90"}, "RATE_LIMITED retryable", []string{"asks to wait 1m30s"}},
		{"rate in ms", 429, ``, []string{"Retry-After-Ms", "1500"}, "RATE_LIMITED retryable", []string{"asks to wait 1.5s"}},
		{"rate in words", 429, `{"error":{"message":"Rate limit reached. Please try again in 1.5s."}}`, []string{"X-Other", "1"}, "RATE_LIMITED retryable", []string{"asks to wait 1.5s"}},
		{"an option, not the model", 400, `{"error":{"message":"model big-1: parameter foo is not supported"}}`, nil, "PROTOCOL", []string{"refused the request"}},
		{"context, with the answer's limit", 400, `{"error":{"message":"input length and max_tokens exceed context limit: 190000 + 64000 > 200000"}}`, nil, "CONTEXT_LENGTH", []string{"compact"}},
		{"500", 500, `{"error":"boom"}`, nil, "OVERLOADED retryable", []string{"HTTP 500", "boom"}},
		{"502 page", 502, "<!DOCTYPE html><html><head><title>502 Bad\nGateway</title></head><body>" + strings.Repeat("x", 1000), nil, "OVERLOADED retryable", []string{"try again later: it answered with a web page", `"502 Bad Gateway"`}},
		{"503", 503, ``, []string{"Retry-After", "3"}, "OVERLOADED retryable", []string{"later"}},
		{"conflict", 409, `{"error":{"message":"the model is being loaded","type":"conflict_error"}}`, nil, "OVERLOADED retryable", []string{"HTTP 409", "being loaded", "try again"}},
		{"conflict with a wait", 409, ``, []string{"Retry-After", "2"}, "OVERLOADED retryable", []string{"busy"}},
		{"too early", 425, ``, nil, "OVERLOADED retryable", []string{"busy", "HTTP 425"}},
		{"overloaded, Anthropic", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, []string{"Retry-After", "4"}, "OVERLOADED retryable", []string{"HTTP 529", "Overloaded"}},
		{"408", 408, ``, nil, "TIMEOUT retryable", []string{"too long"}},
		{"504", 504, ``, nil, "TIMEOUT retryable", []string{"too long"}},
		{"501", 501, ``, nil, "PROTOCOL", []string{"base_url"}},
		{"model", 404, `{"error":{"message":"The model 'big-1' does not exist","code":"model_not_found"}}`, nil, "NOT_FOUND", []string{`has no model "big-1"`}},
		{"model, DeepSeek", 400, `{"error":{"message":"Model Not Exist"}}`, nil, "NOT_FOUND", []string{`has no model "big-1"`}},
		{"model, Ollama", 404, `{"error":{"message":"model \"big-1\" not found, try pulling it first"}}`, nil, "NOT_FOUND", []string{"ollama pull big-1"}},
		{"path", 404, `404 page not found`, nil, "NOT_FOUND", []string{"/v1", "base_url"}},
		{"context", 400, `{"error":{"message":"This model's maximum context length is 65536 tokens."}}`, nil, "CONTEXT_LENGTH", []string{"compact"}},
		{"context, llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, nil, "CONTEXT_LENGTH", []string{"compact"}},
		{"too large", 413, ``, nil, "CONTEXT_LENGTH", []string{"too large"}},
		{"bad request", 400, `{"detail":[{"loc":["body"],"msg":"x"}]}`, nil, "PROTOCOL", []string{"refused the request", `"msg":"x"`}},
		{"redirect", 302, ``, []string{"Location", "https://user:pass-word@other.example/v1?key=pass-word"}, "NETWORK", []string{"https://other.example", "base_url"}},
		{"echo", 400, `{"error":{"message":"bad header Authorization: Bearer ` + secret + `, key-abcdefgh12345"}}`, nil, "PROTOCOL", []string{"[key]"}},
		{"behind OpenRouter", 502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream says no"}}}`, nil, "OVERLOADED retryable", []string{"upstream says no"}},
		{"an array", 400, `[{"error":{"message":"in a list"}}]`, nil, "PROTOCOL", []string{"in a list"}},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(c.header); i += 2 {
				w.Header().Set(c.header[i], c.header[i+1])
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		_, err := get(t, client(srv.URL))
		srv.Close()
		if codeOf(err) != c.code {
			t.Errorf("%s: %s, want %s: %v", c.name, codeOf(err), c.code, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q, want %q", c.name, err, w)
			}
		}
		var e *model.Error
		if errors.As(err, &e); e.Status != c.status || (e.RetryAfter > 0) != (e.Retryable && c.header != nil) || len(e.Message) > 800 {
			t.Errorf("%s: %+v", c.name, e)
		}
		noKey(t, c.name, err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0.5": 500 * time.Millisecond, "Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:03:05 GMT": 0,
		"-3": 0, "soon": 0, "": 0, "NaN": 0, "1e300": 365 * 24 * time.Hour, "+Inf": 365 * 24 * time.Hour,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {in}}, now); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	c := client("http://127.0.0.1:1")
	c.Key = func() (string, error) { return "", errors.New("the store is locked") }
	if _, err := get(t, c); codeOf(err) != "AUTH" || !strings.Contains(err.Error(), "locked") {
		t.Error(err)
	}
	c.Key = func() (string, error) { return secret + "\nX: y", nil }
	_, err := get(t, c)
	if codeOf(err) != "AUTH" || !strings.Contains(err.Error(), "line break") {
		t.Error(err)
	}
	noKey(t, "line break", err)
	c.Key, c.KeyNeeded = nil, true
	if _, err := get(t, c); codeOf(err) != "AUTH" || !strings.Contains(err.Error(), "none is set: set ACME_KEY") {
		t.Error(err)
	}
}

func TestNetwork(t *testing.T) {
	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	addr := closed.Addr().String()
	tlsServer := httptest.NewTLSServer(http.NotFoundHandler())
	defer tlsServer.Close()
	tlsServer.Config.ErrorLog = nil
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	closed.Close() // not before: the others could get its port
	for _, c := range []struct{ name, base, code, words string }{
		{"nobody", "http://user:pass-word@" + addr + "/v1", "NETWORK retryable", "nothing listens at http://" + addr},
		{"self-signed", tlsServer.URL, "NETWORK", "SSL_CERT_FILE"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), "NETWORK", "http:// instead"},
		{"no scheme", "localhost:8080", "NETWORK", "http://"},
		{"no URL", "http://[", "NETWORK", "no URL"},
		{"no host", "http://nowhere.invalid", "NETWORK", "nowhere.invalid"},
	} {
		_, err := get(t, client(c.base))
		if got := codeOf(err); got != c.code && !(c.name == "no host" && got == "NETWORK retryable") || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %s %v, want %s %q", c.name, got, err, c.code, c.words)
		}
		noKey(t, c.name, err)
	}
}

// certificate writes the certificate of a server for SSL_CERT_FILE.
func certificate(t *testing.T, s *httptest.Server) {
	t.Helper()
	// The system's authorities are read once in a process, with that variable: a
	// test that ran later would trust this server, too.
	if _, err := x509.SystemCertPool(); err != nil {
		t.Log(err)
	}
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", name)
}

func echo(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "from "+r.Host) }

func TestExtraAuthority(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(echo))
	defer s.Close()
	certificate(t, s)
	if got, err := get(t, client(s.URL)); err != nil || !strings.HasPrefix(got, "from ") {
		t.Error(got, err)
	}
	t.Setenv("SSL_CERT_FILE", filepath.Join(t.TempDir(), "absent.pem"))
	if _, err := get(t, client(s.URL)); codeOf(err) != "NETWORK" || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Error(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	os.WriteFile(empty, nil, 0o600)
	t.Setenv("SSL_CERT_FILE", empty)
	if _, err := get(t, client(s.URL)); codeOf(err) != "NETWORK" || !strings.Contains(err.Error(), "no PEM certificate") {
		t.Error(err)
	}
}

// proxy tunnels every connection to one server, and counts them.
func proxy(t *testing.T, to string, tunnels *atomic.Int32) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			t.Errorf("%s through the proxy", r.Method)
		}
		tunnels.Add(1)
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		up, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		down, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			io.Copy(up, bufio.NewReader(buf))
			up.Close()
		}()
		io.Copy(down, up)
		down.Close()
	}))
}

func TestProxy(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(echo))
	defer s.Close()
	var tunnels atomic.Int32
	p := proxy(t, s.Listener.Addr().String(), &tunnels)
	defer p.Close()
	certificate(t, s)
	t.Setenv("NO_PROXY", "")
	t.Setenv("HTTPS_PROXY", strings.Replace(p.URL, "http://", "http://me:pass-word@", 1))
	// httptest's certificate is for this name.
	got, err := get(t, client("https://example.com"))
	if err != nil || got != "from example.com" || tunnels.Load() != 1 {
		t.Errorf("%q %v, %d tunnels", got, err, tunnels.Load())
	}
	t.Setenv("HTTPS_PROXY", p.URL)
	if _, err := get(t, client("https://example.com")); codeOf(err) != "NETWORK" || !strings.Contains(err.Error(), "name and a password") {
		t.Error(err)
	}
	p.Close()
	if _, err := get(t, client("https://example.com")); codeOf(err) != "NETWORK retryable" || !strings.Contains(err.Error(), "proxy") {
		t.Error(err)
	}
}

// A key never follows a redirect.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed") }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	if _, err := get(t, client(s.URL)); codeOf(err) != "NETWORK" || !strings.Contains(err.Error(), other.URL) {
		t.Error(err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"deepseek-chat", "deepseek-reasoner", "vendor/qwen3-coder", "claude-sonnet-4-5-20250929"}
	for word, want := range map[string]string{
		"deepseek-chta": "deepseek-chat", "DeepSeek-Chat": "deepseek-chat", "deepseek-reasoning": "deepseek-reasoner",
		"qwen3-coder": "vendor/qwen3-coder", "claude-sonnet-4-5": "claude-sonnet-4-5-20250929", "gpt-9": "",
	} {
		got, ok := Nearest(word, names)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	e := SuggestModel(&model.Error{Code: "NOT_FOUND", Message: "no"}, "zzz", []model.Info{{ID: "a"}, {ID: "b"}})
	if e.Message != "no; it has a, b" {
		t.Error(e.Message)
	}
	// A name that the server lists is no misspelling of itself.
	e = SuggestModel(&model.Error{Code: "NOT_FOUND", Message: "no"}, "b", []model.Info{{ID: "a"}, {ID: "b"}})
	if strings.Contains(e.Message, "did you mean") || !strings.Contains(e.Message, "although it lists it") {
		t.Error(e.Message)
	}
}

func FuzzText(f *testing.F) {
	f.Add(`{"error":{"message":"m","code":1}}`)
	f.Add("<html><title>x</title>")
	f.Fuzz(func(t *testing.T, body string) {
		e := client("http://x").StatusError(Failure{Status: 400, Body: []byte(body + secret), secret: secret})
		if e.Message == "" || strings.Contains(e.Message, secret) || strings.ContainsAny(e.Message, "\n\r") {
			t.Fatalf("%q", e.Message)
		}
	})
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"a plain.secret.9 b": "a [key] b", "sk-abcdefgh12345": "[key]", "Bearer abcdefghijkl": "[key]", "sk-short": "sk-short", "the key is wrong": "the key is wrong",
	} {
		if got := redact(in, "plain.secret.9"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A server may send the header at once and think then: the patience for the first
// byte is that for the first byte of the answer, and the shorter one for pauses
// holds from there.
func TestPatienceBeforeTheAnswer(t *testing.T) {
	slow := func(think, pause time.Duration) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wait := func(d time.Duration) {
				w.(http.Flusher).Flush()
				select {
				case <-time.After(d):
				case <-r.Context().Done():
				}
			}
			wait(think)
			_, _ = io.WriteString(w, "one ")
			wait(pause)
			_, _ = io.WriteString(w, "two")
		})
	}
	const short, long = 100 * time.Millisecond, 10 * time.Second
	for _, c := range []struct {
		name                           string
		first, idle, thinking, pausing time.Duration
		text, code, words              string
	}{
		{"thinks longer than it may pause", long, short, 4 * short, 0, "one two", "", ""},
		{"thinks too long", short, long, 2 * long, 0, "", "TIMEOUT retryable", "did not begin to answer within 100ms"},
		{"pauses too long", long, short, 0, 2 * long, "one ", "TIMEOUT retryable", "stopped in the middle"},
		{"thinks longer than without progress", 2 * long, long, long, 0, "one two", "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			cl := served(t, slow(c.thinking, c.pausing))
			cl.FirstByte, cl.Idle, cl.Progress = c.first, c.idle, 2*short
			if c.pausing > 0 {
				cl.Progress = long
			}
			text, err := get(t, cl)
			switch {
			case c.code == "" && (err != nil || text != c.text):
				t.Errorf("%s: %q, %v", c.name, text, err)
			case c.code != "" && (err == nil || codeOf(err) != c.code || !strings.Contains(err.Error(), c.words)):
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}
