package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpServer is a well-behaved server behind a handler that need not be.
func httpServer(t *testing.T, around func(http.Handler) http.Handler) string {
	s := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}, StructuredContent: map[string]any{"n": 1}}, nil, nil
	})
	srv := httptest.NewServer(around(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

func TestHTTPServer(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	url := httpServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen[r.Method+" "+r.Header.Get("Authorization")] = true
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	w := newWorld(t)
	w.start(Config{Name: "web", URL: url, Headers: map[string]string{"Authorization": "Bearer abc"}})
	w.wants("mcp__web__echo", `{}`, "hello\n{\"n\":1}")
	w.mcp.Close()
	mu.Lock()
	defer mu.Unlock()
	for request := range seen {
		if !strings.HasSuffix(request, "Bearer abc") {
			t.Errorf("without the header: %s", request)
		}
	}
}

// Headers do not follow a redirect to another host.
func TestSecretsStayAtTheirHost(t *testing.T) {
	got := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization") + r.Header.Get("X-Key")
		w.WriteHeader(http.StatusTeapot)
	}))
	defer thief.Close()
	honest := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer honest.Close()
	w := newWorld(t)
	w.start(Config{Name: "web", URL: honest.URL, Headers: map[string]string{"Authorization": "Bearer abc", "X-Key": "k"}})
	select {
	case secrets := <-got:
		if secrets != "" {
			t.Errorf("the other host gets %q", secrets)
		}
	case <-time.After(60 * time.Second):
		t.Error("the redirect is not followed")
	}
}

func TestHTTPServersThatHang(t *testing.T) {
	block := make(chan struct{})
	hangs := func(method string) string {
		return httpServer(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == method {
					select {
					case <-block:
					case <-r.Context().Done():
					}
					return
				}
				next.ServeHTTP(w, r)
			})
		})
	}
	w := newWorld(t)
	mute, clings := hangs(http.MethodPost), hangs(http.MethodDelete)
	t.Cleanup(func() { close(block) }) // before the servers are closed, which wait for it
	w.start(Config{Name: "mute", URL: mute, StartTimeout: 300 * time.Millisecond}, Config{Name: "clings", URL: clings})
	st := w.mcp.Status()
	if st[0].State != Failed || !strings.Contains(st[0].Error, "was not ready after 300ms") || st[1].State != Ready {
		t.Errorf("%s; %s", st[0].Line(), st[1].Line())
	}
	w.mcp.Close() // the one that clings never answers the goodbye
}
