package web_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools/web"
)

// world is the two tools, on a pipeline.
type world struct {
	pipe  *pipeline.Pipeline
	scope *registry.Scope
	web   *web.Web
	n     int
}

// someone is an agent with a session.
type someone struct {
	id    string
	scope *registry.Scope
}

func (s someone) AgentID() string        { return s.id }
func (s someone) SessionID() string      { return s.id }
func (s someone) Scope() *registry.Scope { return s.scope }

func newWorld(t *testing.T, o web.Options) *world {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{scope: reg.Global()}
	if w.pipe, err = pipeline.New(reg, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	if o.Proxy == nil {
		o.Proxy = func(*url.URL) (*url.URL, error) { return nil, nil }
	}
	if w.web, err = web.Register(reg.Global(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.web.Close)
	return w
}

func (w *world) call(ctx context.Context, name string, args any) *registry.Result {
	w.n++
	return w.pipe.Execute(ctx, pipeline.Call{
		ID: fmt.Sprint("c", w.n), Name: name, Arguments: jsonvalue.MustFromGo(args), Agent: someone{"s", w.scope},
	})
}

func (w *world) fetch(t *testing.T, u string) *registry.Result {
	t.Helper()
	return w.call(t.Context(), "web_fetch", map[string]any{"url": u})
}

// allow reads a list that is right.
func allow(t *testing.T, entries ...string) web.Allow {
	t.Helper()
	a, err := web.ParseAllow(entries)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// serve starts a server on the loopback address.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// names is a resolver with a table; each look-up of a name takes the next entry.
type names struct {
	table map[string][]string
	asked map[string]int
	found func() // called with every answer; may be nil
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	list, ok := n.table[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	at := min(n.asked[host], len(list)-1)
	n.asked[host]++
	var out []netip.Addr
	for _, text := range strings.Split(list[at], " ") {
		out = append(out, netip.MustParseAddr(text))
	}
	if n.found != nil {
		n.found()
	}
	return out, nil
}
