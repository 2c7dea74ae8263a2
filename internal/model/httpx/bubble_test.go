package httpx

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// pipes is a network in memory, so that a server and its client can live in a
// bubble of their own time.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.incoming:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// served is a client whose every request goes to the handler. It is for bubbles.
func served(t *testing.T, h http.Handler) *Client {
	p := &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(p) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		p.incoming <- theirs
		return ours, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = srv.Close()
		<-done
	})
	c := client("http://localhost")
	c.HTTP = &http.Client{Transport: transport}
	return c
}
