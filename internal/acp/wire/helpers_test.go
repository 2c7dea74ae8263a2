package wire

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"testing"
	"time"
)

// peer is the other end of a connection under test.
type peer struct {
	t     testing.TB
	conn  *Conn
	in    *io.PipeWriter
	lines chan string // closed when our side closed its output
}

// patience bounds every wait for something that has to come: it is there for
// what hangs, and generous because machines that test are busy.
const patience = time.Minute

// serve starts a connection and a peer that reads all the time.
func serve(t testing.TB, h Handler, opts Options) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, lines: make(chan string, 10000)}
	go func() {
		defer close(p.lines)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- line[:len(line)-1]
		}
	}()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	p.conn = Serve(t.Context(), inR, outW, h, opts)
	t.Cleanup(func() {
		_ = p.conn.Close()
		_ = outR.Close()
		for range p.lines { //nolint:revive // drain until closed
		}
	})
	return p
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	if w.t.Context().Err() == nil { // logging after a test has ended panics
		w.t.Logf("%s", b)
	}
	return len(b), nil
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("sending %.80s: %v", line, err)
	}
}

func (p *peer) recv() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the output was closed")
		}
		return line
	case <-time.After(patience):
		p.t.Fatal("nothing came for a minute")
	}
	return ""
}

func (p *peer) expect(want string) {
	p.t.Helper()
	if got := p.recv(); got != want {
		p.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// echo answers every request with its parameters.
var echo = HandlerFunc(func(_ context.Context, _ *Conn, req *Request) {
	_ = req.Reply(req.Params)
})
