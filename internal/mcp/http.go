package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goodbyeLimit bounds the request that ends a session at an http server.
const goodbyeLimit = time.Second

// UnauthorizedError says that an http server wants credentials it did not get.
type UnauthorizedError struct {
	Server, URL string
	Status      int
}

// Error says what to do.
func (e *UnauthorizedError) Error() string {
	return fmt.Sprintf("the server refuses access (HTTP %d): run dsh-acp mcp --login %s, or give it a header such as headers: {Authorization: \"Bearer ${MY_TOKEN}\"}", e.Status, shellWord(e.Server))
}

func shellWord(s string) string {
	if plain(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// httpLink is one http connection's way to the network: it adds the configured
// headers, on the configured host only, notices refusals, and hands over the
// bytes of answers.
type httpLink struct {
	cfg   Config
	host  string
	base  *http.Transport
	token func(context.Context) (string, error) // of a login; may be nil

	mu      sync.Mutex
	refused int // the last status that refused access
}

func newHTTPLink(c Config) (*httpLink, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no http or https URL", c.URL)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	return &httpLink{cfg: c, host: u.Host, base: base}, nil
}

func (l *httpLink) client() *http.Client { return &http.Client{Transport: l} }

// transport is the library's transport over this link.
func (l *httpLink) transport() mcp.Transport {
	if l.cfg.Transport == SSE {
		return &mcp.SSEClientTransport{Endpoint: l.cfg.URL, HTTPClient: l.client(), MaxEventSize: maxMessage}
	}
	return &mcp.StreamableClientTransport{Endpoint: l.cfg.URL, HTTPClient: l.client(), MaxEventSize: maxMessage}
}

// refusal is the error of a server that wants credentials; nil when it did not
// refuse.
func (l *httpLink) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == 0 {
		return nil
	}
	return &UnauthorizedError{Server: l.cfg.Name, URL: l.cfg.URL, Status: l.refused}
}

// RoundTrip sends one request.
func (l *httpLink) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	ours := req.URL.Host == l.host // a redirect must not carry secrets elsewhere
	if ours {
		for name, value := range l.cfg.Headers {
			req.Header.Set(name, value)
		}
		if l.token != nil && req.Header.Get("Authorization") == "" {
			token, err := l.token(req.Context())
			if err != nil {
				return nil, err
			}
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
		}
	}
	if req.Method == http.MethodDelete {
		// The goodbye, whose answer nobody reads, must not hold up the end.
		ctx, cancel := context.WithTimeout(req.Context(), goodbyeLimit)
		defer cancel()
		req = req.WithContext(ctx)
	}
	resp, err := l.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if ours {
		l.mu.Lock()
		l.refused = 0
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
			l.refused = resp.StatusCode
		}
		l.mu.Unlock()
	}
	if l.cfg.Transport == HTTP {
		resp.Body = orderedBody(resp)
	}
	if a := answerOf(req.Context()); a != nil && resp.StatusCode == http.StatusOK {
		resp.Body = tapBody(resp, a)
	}
	return resp, nil
}

func (l *httpLink) close() { l.base.CloseIdleConnections() }

// tapBody lets the library read an answer while its bytes are put aside.
func tapBody(resp *http.Response, a *answer) io.ReadCloser {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	t := &tap{body: resp.Body, answer: a, events: kind == "text/event-stream"}
	if kind != "application/json" && !t.events {
		return resp.Body
	}
	return t
}

// tap is the body of an answer. What it has kept is looked at whenever a message
// is complete: at an empty line between events, else at the end.
type tap struct {
	body   io.ReadCloser
	answer *answer
	events bool
	size   int64
	kept   []byte
	scan   int // how much of kept has no end of an event in it
	given  bool
}

// Read reads on.
func (t *tap) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	if t.size += int64(n); t.size > maxMessage && !t.events {
		return 0, fmt.Errorf("the server's answer has more than the %d bytes that are read", maxMessage)
	}
	t.take(p[:n], errors.Is(err, io.EOF))
	return n, err
}

// Close closes the body.
func (t *tap) Close() error { return t.body.Close() }

func (t *tap) take(p []byte, end bool) {
	if t.given || len(t.kept) > maxMessage {
		t.kept = nil
		return
	}
	t.kept = append(t.kept, p...)
	if !t.events {
		if end {
			t.message(t.kept)
		}
		return
	}
	for {
		at, size := eventEndFrom(t.kept, t.scan)
		if at < 0 {
			t.scan = len(t.kept)
			break
		}
		t.message(eventData(t.kept[:at]))
		t.kept, t.scan = t.kept[at+size:], 0
	}
	if end {
		t.message(eventData(t.kept))
	}
}

// message puts the result of a response aside. A stream holds one response, the
// one to the request that opened it.
func (t *tap) message(data []byte) {
	msg, err := jsonrpc.DecodeMessage(bytes.TrimSpace(data))
	if err != nil {
		return
	}
	if resp, ok := msg.(*jsonrpc.Response); ok && resp.Error == nil {
		t.answer.set(bytes.Clone(resp.Result))
		t.given = true
	}
}

// eventEndFrom finds the empty line behind an event, which has no end in what was
// scanned: a long event comes in many pieces, and is not searched again for each.
func eventEndFrom(p []byte, scanned int) (at, size int) {
	from := max(0, scanned-len("\r\n\r"))
	at = -1
	for _, sep := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if i := bytes.Index(p[from:], []byte(sep)); i >= 0 && (at < 0 || from+i < at) {
			at, size = from+i, len(sep)
		}
	}
	return at, size
}

// eventData joins the data lines of an event.
func eventData(event []byte) []byte {
	var out []byte
	sc := bufio.NewScanner(bytes.NewReader(bytes.ReplaceAll(event, []byte("\r"), []byte("\n"))))
	sc.Buffer(nil, maxMessage+1)
	for sc.Scan() {
		if data, ok := bytes.CutPrefix(sc.Bytes(), []byte("data:")); ok {
			if len(out) > 0 {
				out = append(out, '\n')
			}
			out = append(out, bytes.TrimPrefix(data, []byte(" "))...)
		}
	}
	return out
}

// tapped wraps a connection so that the bytes of answers are put aside, for
// transports whose answers do not come with the request.
type tapped struct {
	mcp.Connection
	awaited awaited
}

type tappedTransport struct{ next mcp.Transport }

// Connect connects the transport behind it.
func (t tappedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.next.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tapped{Connection: c}, nil
}

// Read gives the next message.
func (c *tapped) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err == nil {
		c.awaited.received(msg)
		keepOrder(msg)
	}
	return msg, err
}

// Write sends a message.
func (c *tapped) Write(ctx context.Context, msg jsonrpc.Message) error {
	c.awaited.sent(ctx, msg)
	return c.Connection.Write(ctx, msg)
}
