package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// Handler serves what the peer sends.
type Handler interface {
	// Handle is called for each request and notification, in order, on the
	// reading goroutine. It must not block: while it runs nothing is read, not
	// even the answer to a call it would wait for. It registers what has to be
	// found by the messages behind this one, and leaves the work to [Go] or to a
	// goroutine of its own. A panic is contained and answered with an internal
	// error.
	//
	// ctx is the request's: it ends when the peer cancels the request, when the
	// reply is sent, and when the connection ends. A notification's ends with
	// the connection.
	Handle(ctx context.Context, c *Conn, req *Request)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, c *Conn, req *Request)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, c *Conn, req *Request) { f(ctx, c, req) }

// Conn is one connection. Its methods may be called from any goroutine.
type Conn struct {
	opts    Options
	log     *slog.Logger
	handler Handler
	in      io.Reader
	out     io.Writer
	jc      *jsonrpc2.Conn
	q       *queue

	ctx     context.Context // ends with the connection
	cancel  context.CancelCauseFunc
	ready   chan struct{} // closed when jc is set: the reader may begin
	closing chan struct{} // closed by Close: the reader may return
	closed  chan struct{} // closed when Close is done
	once    sync.Once

	incidents atomic.Int64 // handler panics so far

	callMu sync.Mutex // keeps the numbers of calls and their order in step
	nextID uint64     // of our next call; guarded by callMu

	mu       sync.Mutex
	requests map[uint64]*Request // incoming, not yet replied to
	nextNum  uint64              // our own number of the next incoming request
	calls    map[uint64]*call    // outgoing, not yet answered
	running  int                 // goroutines started by Go
	idle     chan struct{}       // closed when running falls to zero; nil when nobody waits
}

// call is one outgoing request.
type call struct {
	result    json.RawMessage
	err       *protocol.Error
	abandoned bool // nobody waits any more
}

// Serve starts a connection that reads in and writes out, and returns at once.
// It ends with the input, with the first failed write, when ctx ends, or by
// Close; the owner must call Close in every case. Close also closes in and out
// if they can be closed, since that is the only way to free a blocked read.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h Handler, opts Options) *Conn {
	opts = opts.withDefaults()
	c := &Conn{
		opts: opts, log: opts.Logger, handler: h, in: in, out: out,
		ready: make(chan struct{}), closing: make(chan struct{}), closed: make(chan struct{}),
		requests: map[uint64]*Request{}, calls: map[uint64]*call{},
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.q = newQueue(opts.QueueFrames, opts.QueueBytes, opts.StallTimeout, c.cancel)
	if opts.Trace != nil {
		c.q.trace = func(line []byte) { opts.Trace(false, line[:len(line)-1]) }
	}
	go c.q.run(out)
	s := &stream{c: c, lines: newLineReader(in, opts.MaxLine)}
	// The library gets a context without an end of its own: when ctx ends, our
	// side still writes what it owes, until Close.
	c.jc = jsonrpc2.NewConn(context.WithoutCancel(ctx), s, libraryHandler{c, s},
		jsonrpc2.OnSend(s.onSend), jsonrpc2.SetLogger(libraryLogger{c.log}))
	close(c.ready)
	return c
}

type libraryHandler struct {
	c *Conn
	s *stream
}

// Handle passes the request behind the stub to the connection's handler.
func (h libraryHandler) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {
	req := h.s.current
	h.s.current = nil
	defer func() {
		if r := recover(); r != nil {
			req.panicked(r, debug.Stack())
		}
	}()
	h.c.handler.Handle(req.ctx, h.c, req)
}

type libraryLogger struct{ log *slog.Logger }

// Printf sends the library's remarks to the log.
func (l libraryLogger) Printf(format string, v ...any) {
	l.log.Debug("jsonrpc2: " + fmt.Sprintf(string(bytes.TrimSpace([]byte(format))), v...))
}

// Done is closed when the connection has ended: nothing more will be handed to
// the handler, and every context of it has ended.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err says why the connection ended, nil while it lives: io.EOF when the peer
// closed its end, [ErrStalled], a [*WriteError], [ErrClosed], the cause of the
// context given to Serve, or an error of reading.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// inputEnded ends the connection for reading; replies can still be written.
func (c *Conn) inputEnded(err error) {
	if !errors.Is(err, io.EOF) {
		err = fmt.Errorf("wire: reading from the peer failed: %w", err)
	}
	c.cancel(err)
}

// Notify sends a notification. params is anything with a JSON form that is an
// object; nil leaves the member out; if it has a Validate method, that is asked
// first, and what it finds is an *[InvalidError]. It waits while the queue is full, and
// fails when the connection is closed or its output has broken.
func (c *Conn) Notify(method string, params any) error {
	return c.notify(context.Background(), method, params, classOwn)
}

func (c *Conn) notify(ctx context.Context, method string, params any, class sendClass) error {
	line, err := requestFrame(nil, method, params)
	if err != nil {
		return err
	}
	if class == classReply {
		if !c.q.tryAdmit(len(line), class) {
			return ErrStalled
		}
	} else if err := c.q.admit(ctx, len(line), class); err != nil {
		return err
	}
	// Nothing is paired with a notification, so the library need not see it.
	return c.q.push(outFrame{line: line, room: len(line)})
}

// sent turns the library's verdict on a frame into ours. The library refuses
// only when it is closed, and then has not taken the frame's room.
func (c *Conn) sent(f outFrame, err error) error {
	if errors.Is(err, jsonrpc2.ErrClosed) {
		c.q.release(f.room)
		return ErrClosed
	}
	return err
}

// Call sends a request and waits for its answer: the result, or the peer's
// [*protocol.Error]. When ctx ends first, the peer is told with
// $/cancel_request, a late answer is dropped, and the cause of ctx is returned.
// When the connection ends first, its reason is returned, wrapped.
func (c *Conn) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return c.CallNoting(ctx, method, params, func() {})
}

// CallNoting is [Conn.Call], and calls sent once the request has its place in
// the order of what the peer reads: what is sent later comes behind it.
func (c *Conn) CallNoting(ctx context.Context, method string, params any, sent func()) (json.RawMessage, error) {
	// The parameters are encoded before any lock is taken.
	var buf bytes.Buffer
	if params != nil {
		if err := appendJSON(&buf, params); err != nil {
			return nil, &InvalidError{Method: method, Err: err}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if reason := c.Err(); reason != nil {
		return nil, &endedError{reason: reason}
	}
	ctx, stop := c.joined(ctx)
	defer stop()
	room := buf.Len() + len(method) + roomOverhead
	if err := c.q.admit(ctx, room, classOwn); err != nil {
		return nil, err
	}

	out := &call{}
	id, waiter, err := c.dispatch(method, buf.Bytes(), room, out)
	if err != nil {
		return nil, err
	}
	sent()
	if err := waiter.Wait(ctx, nil); err != nil {
		return nil, c.abandon(ctx, id, out, err)
	}
	if out.err != nil {
		return nil, out.err
	}
	return out.result, nil
}

// joined gives a context that also ends with the connection.
func (c *Conn) joined(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() {
		cancel(&endedError{reason: c.Err()})
	})
	return ctx, func() { stop(); cancel(nil) }
}

// endedError is why a call failed when the connection ended under it.
type endedError struct{ reason error }

// Error names the reason.
func (e *endedError) Error() string {
	return "wire: the connection ended before the answer came: " + e.reason.Error()
}

// Unwrap gives the connection's reason.
func (e *endedError) Unwrap() error { return e.reason }

// dispatch numbers a call and sends it. Numbers and order agree because one
// lock spans both; the library, too, counts its calls from 0, which matters for
// the first, whose number 0 it takes for "none given".
func (c *Conn) dispatch(method string, params []byte, room int, out *call) (uint64, jsonrpc2.Waiter, error) {
	c.callMu.Lock()
	defer c.callMu.Unlock()
	id := c.nextID
	c.nextID++

	var line bytes.Buffer
	line.Grow(len(params) + len(method) + roomOverhead)
	line.WriteString(`{"jsonrpc":"2.0","id":` + strconv.FormatUint(id, 10) + `,"method":`)
	line.Write(jsonString(method))
	if len(params) > 0 {
		line.WriteString(`,"params":`)
		line.Write(params)
	}
	line.WriteString("}\n")

	c.mu.Lock()
	c.calls[id] = out
	c.mu.Unlock()
	f := outFrame{line: line.Bytes(), room: room}
	waiter, err := c.jc.DispatchCall(context.Background(), method, nil,
		jsonrpc2.PickID(jsonrpc2.ID{Num: id}), jsonrpc2.ExtraField(frameField, f))
	if err := c.sent(f, err); err != nil {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		return 0, waiter, err
	}
	return id, waiter, nil
}

// abandon gives up waiting for a call and says why.
func (c *Conn) abandon(ctx context.Context, id uint64, out *call, err error) error {
	c.mu.Lock()
	// The entry stays, so that a late answer also frees the library's own.
	out.abandoned = true
	c.mu.Unlock()
	if errors.Is(err, jsonrpc2.ErrClosed) {
		if reason := c.Err(); reason != nil {
			return &endedError{reason: reason}
		}
		return ErrClosed
	}
	cause := context.Cause(ctx)
	if c.ctx.Err() == nil {
		params := protocol.CancelRequest{RequestID: json.RawMessage(strconv.FormatUint(id, 10))}
		if err := c.notify(context.Background(), protocol.MethodCancelRequest, params, classReply); err != nil {
			c.log.Debug("cancellation not sent", "id", id, "error", err)
		}
	}
	return cause
}

// settle takes an answer of the peer to a call of ours. It reports false for an
// answer that belongs to none.
func (c *Conn) settle(env envelope) (uint64, bool) {
	number, err := strconv.ParseUint(string(env.id), 10, 64)
	if err != nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.calls[number]
	if out == nil {
		return 0, false
	}
	delete(c.calls, number)
	switch {
	case out.abandoned:
		c.log.Debug("late answer dropped", "id", number)
	case env.err != nil:
		out.err = decodeError(env.err)
	default:
		out.result = env.result
	}
	return number, true
}

// decodeError reads an error object, leniently: whatever it is, the call failed.
func decodeError(raw json.RawMessage) *protocol.Error {
	var e protocol.Error
	if err := json.Unmarshal(raw, &e); err != nil || e.Code == 0 && e.Message == "" {
		return (&protocol.Error{
			Code:    protocol.CodeInternalError,
			Message: "The client answered with an error that is no JSON-RPC error object",
		}).WithData(raw)
	}
	return &e
}

// reject answers a message that is not handed up. It waits for room like any
// reply.
func (c *Conn) reject(id json.RawMessage, fault *protocol.Error) {
	c.log.Warn("message from the client refused", "id", string(id), "code", int(fault.Code), "reason", fault.Message)
	line, err := replyFrame(id, "error", fault)
	if err != nil {
		c.log.Error("refusal not sent", "error", err)
		return
	}
	if err := c.q.admit(context.Background(), len(line), classReply); err != nil {
		c.log.Debug("refusal not sent", "error", err)
		return
	}
	if err := c.q.push(outFrame{line: line, room: len(line)}); err != nil {
		c.log.Debug("refusal not sent", "error", err)
	}
}

// Flush waits until everything sent so far has been written, or ctx ends, or
// the output breaks.
func (c *Conn) Flush(ctx context.Context) error { return c.q.flush(ctx) }

// Wait waits until every goroutine started by [Go] has returned. Call it after
// Done and before Close, so that their replies still leave.
func (c *Conn) Wait(ctx context.Context) error {
	c.mu.Lock()
	if c.running == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends the connection: what is queued is written, for at most the flush
// timeout, then both ends are closed if they can be. It returns the error of
// that last writing, nil if everything left. Further calls wait for the first
// and return nil.
func (c *Conn) Close() error {
	var err error
	c.once.Do(func() {
		defer close(c.closed)
		c.cancel(ErrClosed)
		ctx, cancel := context.WithTimeoutCause(context.Background(), c.opts.FlushTimeout,
			errors.New("wire: the peer did not read the last messages in time"))
		defer cancel()
		c.q.close()
		if err = c.q.flush(ctx); err == nil {
			<-c.q.done
		}
		c.q.kill(ErrClosed)
		close(c.closing)
		_ = c.jc.Close() // fails only when closed before, which nobody else does
		for _, end := range []any{c.in, c.out} {
			if closer, ok := end.(io.Closer); ok {
				if err := closer.Close(); err != nil {
					c.log.Debug("closing an end of the connection", "error", err)
				}
			}
		}
		c.endRequests()
	})
	<-c.closed
	return err
}
