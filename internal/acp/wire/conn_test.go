package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// TestMain fails when goroutines are left over.
func TestMain(m *testing.M) {
	if role := os.Getenv("WIRE_TEST_STDOUT"); role != "" {
		stdoutChild(role)
	}
	code := m.Run()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !strings.Contains(stacks(), "internal/acp/wire.") {
			os.Exit(code)
		}
	}
	fmt.Fprintln(os.Stderr, "goroutines left over:\n"+stacks())
	os.Exit(1)
}

// stacks gives the stacks of all goroutines but the main one.
func stacks() string {
	buf := make([]byte, 1<<20)
	all := string(buf[:runtime.Stack(buf, true)])
	if _, rest, ok := strings.Cut(all, "\n\n"); ok {
		return rest
	}
	return ""
}

func TestEchoKeepsBytes(t *testing.T) {
	p := serve(t, echo, Options{})
	for _, id := range []string{`1`, `"a"`, `-7`, `"\u0061<b>"`, `9007199254740993`, `123456789012345678901234567890`, `""`, `0`} {
		params := `{"z":1,"a":100000000000000000001,"s":"<&>ü"}`
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"m","params":` + params + `}`)
		p.expect(`{"jsonrpc":"2.0","id":` + id + `,"result":` + params + `}`)
	}
}

func TestOneRequestAgainAndAgain(t *testing.T) {
	// The same id may come twice at once; both are answered.
	var mu sync.Mutex
	var held []*Request
	p := serve(t, HandlerFunc(func(_ context.Context, _ *Conn, req *Request) {
		mu.Lock()
		defer mu.Unlock()
		if held = append(held, req); len(held) == 2 {
			_ = held[1].Reply("second")
			_ = held[0].Reply("first")
		}
	}), Options{})
	p.send(`{"id":1,"method":"m"}`)
	p.send(`{"id":1,"method":"m"}`)
	p.expect(`{"jsonrpc":"2.0","id":1,"result":"second"}`)
	p.expect(`{"jsonrpc":"2.0","id":1,"result":"first"}`)
}

func TestInputThatIsThereAtOnce(t *testing.T) {
	// The first request can come before Serve has returned; its handler must
	// still find a whole connection.
	for range 200 {
		var out bytes.Buffer
		c := Serve(t.Context(), strings.NewReader(`{"id":1,"method":"m"}`), &out, HandlerFunc(func(_ context.Context, c *Conn, req *Request) {
			_ = c.Notify("n", nil)
			_ = req.Reply(nil)
		}), Options{})
		<-c.Done()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		want := `{"jsonrpc":"2.0","method":"n"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
		if out.String() != want {
			t.Fatalf("wrote %q", out.String())
		}
	}
}

func TestCall(t *testing.T) {
	p := serve(t, echo, Options{})
	type answer struct {
		result json.RawMessage
		err    error
	}
	answers := make(chan answer, 1)
	call := func(ctx context.Context) {
		go func() {
			r, err := p.conn.Call(ctx, "fs/x", map[string]string{"a": "<b>"})
			answers <- answer{r, err}
		}()
	}

	call(t.Context())
	p.expect(`{"jsonrpc":"2.0","id":0,"method":"fs/x","params":{"a":"<b>"}}`)
	p.send(`{"jsonrpc":"2.0","id":0,"result":{"big":12345678901234567890,"z":[1,2],"a":"é"}}`)
	if a := <-answers; a.err != nil || string(a.result) != `{"big":12345678901234567890,"z":[1,2],"a":"é"}` {
		t.Errorf("got %s, %v", a.result, a.err)
	}

	call(t.Context())
	p.expect(`{"jsonrpc":"2.0","id":1,"method":"fs/x","params":{"a":"<b>"}}`)
	p.send(`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32002,"message":"gone","data":{"details":"x"}}}`)
	a := <-answers
	var fault *protocol.Error
	if !errors.As(a.err, &fault) || fault.Code != protocol.CodeNotFound || string(fault.Data) != `{"details":"x"}` {
		t.Errorf("got %v", a.err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	call(ctx)
	p.expect(`{"jsonrpc":"2.0","id":2,"method":"fs/x","params":{"a":"<b>"}}`)
	cancel()
	p.expect(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`)
	if a := <-answers; !errors.Is(a.err, context.Canceled) {
		t.Errorf("got %v", a.err)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"result":{}}`) // late: dropped
	p.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`)
	p.send(`{"jsonrpc":"2.0","id":4242,"result":{}}`)
	p.send(`{"jsonrpc":"2.0","id":"0","result":{}}`)

	call(t.Context())
	p.expect(`{"jsonrpc":"2.0","id":3,"method":"fs/x","params":{"a":"<b>"}}`)
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	if a := <-answers; !errors.Is(a.err, io.EOF) {
		t.Errorf("got %v", a.err)
	}
	if _, err := p.conn.Call(t.Context(), "m", nil); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestCancelIsInOrder(t *testing.T) {
	// A cancellation right behind its request always finds it, and what the
	// handler sees is in the order it was sent.
	var next int
	p := serve(t, HandlerFunc(func(ctx context.Context, _ *Conn, req *Request) {
		if want := fmt.Sprint(next); string(req.Params) != "["+want+"]" {
			t.Errorf("%s came out of order, want %s", req.Params, want)
		}
		next++
		if req.Notif {
			return
		}
		Go(req, func(ctx context.Context) (any, error) {
			<-ctx.Done()
			if !req.CancelledByPeer() || !errors.Is(context.Cause(ctx), ErrCancelledByPeer) {
				return nil, errors.New("not cancelled by the peer")
			}
			return "cancelled", nil
		})
	}), Options{})
	const rounds = 500
	go func() {
		var b strings.Builder
		for i := range rounds {
			fmt.Fprintf(&b, `{"id":"p%d","method":"session/prompt","params":[%d]}`+"\n", i, 2*i)
			fmt.Fprintf(&b, `{"method":"note","params":[%d]}`+"\n", 2*i+1)
			fmt.Fprintf(&b, `{"method":"$/cancel_request","params":{"requestId":"p%d"}}`+"\n", i)
		}
		_, _ = io.WriteString(p.in, b.String())
	}()
	seen := map[string]bool{}
	for range rounds {
		seen[p.recv()] = true
	}
	for i := range rounds {
		if !seen[fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","result":"cancelled"}`, i)] {
			t.Fatalf("request %d was not answered as cancelled", i)
		}
	}
}

func TestCancelMatchesEqualIDs(t *testing.T) {
	for _, tt := range []struct{ id, cancel string }{
		{`"a"`, `"\u0061"`}, {`0`, `-0`}, {`12345678901234567890123`, `12345678901234567890123`},
	} {
		p := serve(t, HandlerFunc(func(_ context.Context, _ *Conn, req *Request) {
			Go(req, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
		}), Options{})
		p.send(`{"id":` + tt.id + `,"method":"m"}`)
		p.send(`{"method":"$/cancel_request","params":{"requestId":5}}`)
		p.send(`{"method":"$/cancel_request","params":[]}`)
		p.send(`{"method":"$/cancel_request","params":{"requestId":` + tt.cancel + `}}`)
		p.expect(`{"jsonrpc":"2.0","id":` + tt.id + `,"error":{"code":-32800,"message":"Request cancelled: the client asked for it"}}`)
	}
}

func TestHandlerFailures(t *testing.T) {
	p := serve(t, HandlerFunc(func(_ context.Context, _ *Conn, req *Request) {
		switch req.Method {
		case "panic":
			panic("at once")
		case "gopanic":
			Go(req, func(context.Context) (any, error) { panic("later") })
		case "plain":
			Go(req, func(context.Context) (any, error) { return nil, errors.New("/secret/path is broken") })
		case "coded":
			Go(req, func(context.Context) (any, error) {
				return nil, fmt.Errorf("wrapped: %w", protocol.NotFound("session x"))
			})
		case "badresult":
			if err := req.Reply(func() {}); err == nil {
				t.Error("a function was sent")
			}
		case "twice":
			_ = req.Reply(nil)
			if err := req.Reply(1); !errors.Is(err, ErrReplied) {
				t.Errorf("second reply: %v", err)
			}
			if req.Context().Err() == nil {
				t.Error("the context outlived the reply")
			}
		}
	}), Options{})
	for _, tt := range [][2]string{
		{"panic", `"error":{"code":-32603,"message":"Internal error","data":{"details":"the agent failed while it served panic; its log tells more under incident 1"}}`},
		{"gopanic", `"error":{"code":-32603,"message":"Internal error","data":{"details":"the agent failed while it served gopanic; its log tells more under incident 2"}}`},
		{"plain", `"error":{"code":-32603,"message":"Internal error","data":{"details":"the agent failed while it served plain; its log tells more"}}`},
		{"coded", `"error":{"code":-32002,"message":"session x not found"}`},
		{"badresult", `"error":{"code":-32603,"message":"Internal error: the answer could not be encoded"}`},
		{"twice", `"result":{}`},
	} {
		p.send(`{"id":1,"method":"` + tt[0] + `"}`)
		p.expect(`{"jsonrpc":"2.0","id":1,` + tt[1] + `}`)
	}
	p.send(`{"method":"panic"}`) // a notification: nothing to answer, nothing breaks
	p.send(`{"id":2,"method":"twice"}`)
	p.expect(`{"jsonrpc":"2.0","id":2,"result":{}}`)
}

func TestAnswersAfterEndOfInput(t *testing.T) {
	p := serve(t, HandlerFunc(func(_ context.Context, c *Conn, req *Request) {
		Go(req, func(ctx context.Context) (any, error) {
			<-c.Done()
			if err := c.Notify("session/update", map[string]int{"n": 1}); err != nil {
				t.Errorf("notify after the end of input: %v", err)
			}
			return nil, protocol.Cancelled("end")
		})
	}), Options{})
	if _, err := io.WriteString(p.in, `{"id":1,"method":"m"}`); err != nil { // no newline
		t.Fatal(err)
	}
	_ = p.in.Close()
	<-p.conn.Done()
	if !errors.Is(p.conn.Err(), io.EOF) {
		t.Errorf("reason: %v", p.conn.Err())
	}
	if err := p.conn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.conn.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	p.expect(`{"jsonrpc":"2.0","method":"session/update","params":{"n":1}}`)
	p.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"Request cancelled: end"}}`)
	if err := p.conn.Notify("m", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("notify after close: %v", err)
	}
}

// gate is an output that writes nothing until it is opened, or breaks.
type gate struct {
	open chan struct{}
	err  error
	bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	if g.err != nil {
		return 0, g.err
	}
	return g.Buffer.Write(b)
}

func TestStalledPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		out := &gate{open: make(chan struct{})}
		c := Serve(t.Context(), inR, out, echo, Options{QueueFrames: 4, StallTimeout: time.Minute, FlushTimeout: time.Second})
		start := time.Now()
		for i := range 4 {
			if err := c.Notify("n", map[string]int{"i": i}); err != nil {
				t.Fatal(err)
			}
		}
		// Our own messages wait from here on; what is owed to the peer does not.
		if _, err := io.WriteString(inW, "{bad\n{\"id\":1,\"method\":\"m\"}\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := io.WriteString(inW, "{\"id\":2,\"method\":\"m\"}\n"); err != nil {
			t.Fatal(err) // it would wait for ever if the reader waited for room
		}
		errs := make(chan error, 3)
		go func() { errs <- c.Notify("n", nil) }()
		go func() { errs <- c.Notify("n", nil) }()
		go func() { _, err := c.Call(t.Context(), "n", nil); errs <- err }()
		for range 3 {
			if err := <-errs; !errors.Is(err, ErrStalled) {
				t.Errorf("sender got %v", err)
			}
		}
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("closed after %v", waited)
		}
		<-c.Done()
		if !errors.Is(c.Err(), ErrStalled) {
			t.Errorf("reason: %v", c.Err())
		}
		if err := c.Notify("n", nil); !errors.Is(err, ErrStalled) {
			t.Errorf("later sender got %v", err)
		}
		if err := c.Close(); err == nil {
			t.Error("close did not report what it could not write")
		}
		close(out.open)
	})
}

func TestSlowPeerIsNoStalledPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, _ := io.Pipe()
		out := &gate{open: make(chan struct{})}
		c := Serve(t.Context(), inR, out, echo, Options{QueueFrames: 2, StallTimeout: time.Minute})
		end := make(chan struct{})
		defer close(end)
		go func() {
			for {
				select {
				case <-time.After(50 * time.Second):
				case <-end:
					return
				}
				select {
				case out.open <- struct{}{}:
				case <-end:
					return
				}
			}
		}()
		for i := range 20 {
			if err := c.Notify("n", map[string]int{"i": i}); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != 20 {
			t.Errorf("%d lines", n)
		}
		_ = c.Close()
	})
}

// What waits leaves with few writes, whole and in order.
func TestSmallMessagesLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, _ := io.Pipe()
		out := &gate{open: make(chan struct{})}
		var traced []string
		c := Serve(t.Context(), inR, out, echo, Options{Trace: func(_ bool, line []byte) { traced = append(traced, string(line)) }})
		var want []string
		send := func(text string) {
			if err := c.Notify("n", map[string]string{"t": text}); err != nil {
				t.Fatal(err)
			}
			want = append(want, `{"jsonrpc":"2.0","method":"n","params":{"t":"`+text+`"}}`)
		}
		send("alone")
		synctest.Wait() // it is being written
		big := strings.Repeat("b", writeBytes)
		for range 3 {
			for i := range 10 {
				send(strconv.Itoa(i))
			}
			send(big)
		}
		writes := 0
		flushed := make(chan error)
		go func() { flushed <- c.Flush(t.Context()) }()
		for open := true; open; {
			select {
			case out.open <- struct{}{}:
				writes++
			case err := <-flushed:
				if open = false; err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := strings.Join(want, "\n") + "\n"; out.String() != got {
			t.Errorf("%d bytes were written, want %d", out.Len(), len(got))
		}
		if !slices.Equal(traced, want) {
			t.Errorf("%d lines were traced, want %d", len(traced), len(want))
		}
		if writes != 7 { // the first, then three times ten small ones and a big one
			t.Errorf("%d writes", writes)
		}
		_ = c.Close()
	})
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, _ := io.Pipe()
		out := &gate{open: make(chan struct{})}
		c := Serve(t.Context(), inR, out, echo, Options{FlushTimeout: 3 * time.Second})
		_ = c.Notify("n", nil)
		start := time.Now()
		if err := c.Close(); err == nil || time.Since(start) != 3*time.Second {
			t.Errorf("close: %v after %v", err, time.Since(start))
		}
		close(out.open)
	})
}

func TestBrokenPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, _ := io.Pipe()
		out := &gate{open: make(chan struct{}), err: io.ErrClosedPipe}
		c := Serve(t.Context(), inR, out, echo, Options{})
		answer := make(chan error)
		go func() { _, err := c.Call(t.Context(), "m", nil); answer <- err }()
		synctest.Wait()
		close(out.open)
		<-c.Done()
		var broken *WriteError
		if !errors.As(c.Err(), &broken) || !errors.Is(c.Err(), io.ErrClosedPipe) {
			t.Errorf("reason: %v", c.Err())
		}
		if err := <-answer; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("call: %v", err)
		}
		if err := c.Notify("n", nil); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("notify: %v", err)
		}
		_ = c.Close()
	})
}

func TestContextEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		out := &gate{open: make(chan struct{})}
		close(out.open)
		ctx, cancel := context.WithCancelCause(t.Context())
		c := Serve(ctx, inR, out, echo, Options{})
		reason := errors.New("terminated")
		cancel(reason)
		<-c.Done()
		if !errors.Is(c.Err(), reason) {
			t.Errorf("reason: %v", c.Err())
		}
		// What still comes is read and dropped; what is owed can still be said.
		_, _ = io.WriteString(inW, `{"id":1,"method":"m"}`+"\n")
		if err := c.Notify("bye", nil); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if got, want := out.String(), `{"jsonrpc":"2.0","method":"bye"}`+"\n"; got != want {
			t.Errorf("wrote %s", got)
		}
	})
}

func TestLongLines(t *testing.T) {
	p := serve(t, echo, Options{MaxLine: 1 << 20})
	fits := `{"id":1,"method":"m","params":{"s":"` + strings.Repeat("x", 1<<20-39) + `"}}`
	if len(fits) != 1<<20 {
		t.Fatal(len(fits))
	}
	p.send(fits + "\r")
	if got := p.recv(); len(got) < 1<<20-100 || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"s":"xxx`) {
		t.Errorf("got %.100s (%d bytes)", got, len(got))
	}
	p.send(fits + " ")
	p.expect(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: the line is longer than 1048576 bytes and was skipped"}}`)
	p.send(`{"id":2,"method":"m"}`)
	p.expect(`{"jsonrpc":"2.0","id":2,"result":{}}`)

	// A line far above the ceiling costs no memory.
	var before, after runtime.MemStats
	chunk := bytes.Repeat([]byte("y"), 1<<20)
	runtime.ReadMemStats(&before)
	for range 256 {
		if _, err := p.in.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	p.send("")
	p.recv()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("skipping a line of 256 MiB allocated %d bytes", used)
	}
}

func TestConcurrentSenders(t *testing.T) {
	p := serve(t, HandlerFunc(func(_ context.Context, _ *Conn, req *Request) {
		Go(req, func(context.Context) (any, error) { return req.Params, nil })
	}), Options{QueueFrames: 8})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				if err := p.conn.Notify("u", map[string]int{"g": g, "i": i}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 100 {
			_, _ = fmt.Fprintf(p.in, `{"id":%d,"method":"m","params":{"n":%d}}`+"\n", i, i)
		}
	})
	last := map[int]int{}
	for range 900 {
		var m struct {
			ID     *int `json:"id"`
			Params struct{ G, I int }
			Result struct{ N int }
		}
		line := p.recv()
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if m.ID != nil {
			if *m.ID != m.Result.N {
				t.Errorf("answer crossed: %s", line)
			}
			continue
		}
		if m.Params.I != last[m.Params.G] {
			t.Fatalf("out of order: %s, want %d", line, last[m.Params.G])
		}
		last[m.Params.G]++
	}
	wg.Wait()
}

func TestTrace(t *testing.T) {
	var mu sync.Mutex
	var got []string
	p := serve(t, echo, Options{Trace: func(in bool, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("%t %s", in, line))
	}})
	p.send(`{"id":1,"method":"m"} `)
	p.recv()
	p.send("{bad")
	p.recv()
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		`true {"id":1,"method":"m"}`, `false {"jsonrpc":"2.0","id":1,"result":{}}`,
		`true {bad`, `false {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: invalid character 'b' looking for beginning of object key string at byte 2 of the line"}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// invalidMessage refuses to be sent.
type invalidMessage struct{}

func (invalidMessage) Validate() error { return errors.New("title is empty") }

func TestInvalidMessagesAreNotSent(t *testing.T) {
	p := serve(t, HandlerFunc(func(_ context.Context, _ *Conn, req *Request) {
		if err := req.Reply(invalidMessage{}); err == nil || !strings.Contains(err.Error(), "title is empty") {
			t.Errorf("reply: %v", err)
		}
	}), Options{})
	refused := func(what string, err error) {
		t.Helper()
		var invalid *InvalidError
		if !errors.As(err, &invalid) || invalid.Method != "n" || !strings.Contains(err.Error(), "title is empty") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("notify", p.conn.Notify("n", invalidMessage{}))
	_, err := p.conn.TryNotify("n", invalidMessage{})
	refused("try", err)
	_, err = p.conn.Call(t.Context(), "n", invalidMessage{})
	refused("call", err)
	// Text that is no UTF-8 is repaired: a frame has to be.
	if err := p.conn.Notify("n", map[string]json.RawMessage{"raw": json.RawMessage("\"a\xffb\"")}); err != nil {
		t.Error(err)
	}
	p.expect(`{"jsonrpc":"2.0","method":"n","params":{"raw":"a�b"}}`)
	p.send(`{"id":1,"method":"m"}`)
	p.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error: the answer could not be encoded"}}`)
}
