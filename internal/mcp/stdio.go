package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
	"github.com/dsh-acp/dsh-acp/internal/proc"
)

const (
	// maxMessage is the longest message of a server, in bytes. A longer answer
	// becomes an error of its call.
	maxMessage = 32 << 20
	// maxStderr is how much of what a server writes to stderr is kept.
	maxStderr = 16 << 10
	// maxNoise is how many lines that are no messages are reported.
	maxNoise = 5
	// stopPatience is how long a server may go on after its stdin was closed.
	stopPatience = 500 * time.Millisecond
	// killGrace is the time between SIGTERM and SIGKILL after that.
	killGrace = time.Second
)

// stdioTransport speaks to a process over its pipes, one message a line. It
// stands in for the library's own because processes belong to internal/proc, and
// because it survives what real servers write to stdout.
type stdioTransport struct {
	process *proc.Process
	noise   func(line string) // told about the first lines that are no messages
}

// Connect starts reading.
func (t *stdioTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &stdioConn{
		process: t.process, noise: t.noise,
		incoming: make(chan jsonrpc.Message), closed: make(chan struct{}), ended: make(chan struct{}),
		writing: make(chan struct{}, 1),
	}
	go c.read()
	go c.watch()
	return c, nil
}

// stdioConn is the connection. It owns its process from Connect on.
type stdioConn struct {
	process  *proc.Process
	noise    func(string)
	noisy    int
	awaited  awaited
	incoming chan jsonrpc.Message
	writing  chan struct{} // holds a token while somebody writes
	once     sync.Once
	closed   chan struct{} // closed by Close
	ended    chan struct{} // closed when nothing comes any more
	err      error         // why; good once ended is closed
}

// SessionID is empty: a process is one session.
func (c *stdioConn) SessionID() string { return "" }

// Read gives the next message.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.incoming:
		return msg, nil
	case <-c.ended:
		return nil, c.err
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// watch ends the reading when the process is gone and something that it started
// still holds its pipe.
func (c *stdioConn) watch() {
	select {
	case <-c.ended:
		return
	case <-c.process.Done():
	}
	select {
	case <-c.ended:
	case <-time.After(stopPatience):
		_ = c.process.Stdout.SetReadDeadline(time.Unix(1, 0))
	}
}

// read takes the lines apart until the process closes its end.
func (c *stdioConn) read() {
	defer close(c.ended)
	c.err = io.EOF
	r := bufio.NewReaderSize(c.process.Stdout, 64<<10)
	for {
		line, cut, err := readLine(r, maxMessage)
		if len(line) > 0 && !c.line(line, cut) {
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
				c.err = err
			}
			return
		}
	}
}

// line handles one line; false when the connection was closed.
func (c *stdioConn) line(line []byte, cut int64) bool {
	if cut > 0 {
		if msg := oversized(line, cut); msg != nil {
			return c.deliver(msg)
		}
		c.ignore(line)
		return true
	}
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) == 0 {
		return true
	}
	switch trimmed[0] {
	case '{':
		msg, err := jsonrpc.DecodeMessage(trimmed)
		if err != nil {
			c.ignore(line)
			msg = broken(trimmed, err)
		}
		return msg == nil || c.deliver(msg)
	case '[': // a batch, as older servers send
		var batch []json.RawMessage
		if json.Unmarshal(trimmed, &batch) == nil {
			for _, raw := range batch {
				if msg, err := jsonrpc.DecodeMessage(raw); err == nil && !c.deliver(msg) {
					return false
				}
			}
			return true
		}
	}
	c.ignore(line)
	return true
}

func (c *stdioConn) deliver(msg jsonrpc.Message) bool {
	c.awaited.received(msg)
	keepOrder(msg)
	select {
	case c.incoming <- msg:
		return true
	case <-c.closed:
		return false
	}
}

// ignore drops what is no message: servers print to stdout by mistake.
func (c *stdioConn) ignore(line []byte) {
	if c.noisy++; c.noisy <= maxNoise && c.noise != nil {
		c.noise(string(bytes.TrimSpace(line[:min(len(line), 200)])))
	}
}

// Write sends one message. A server that does not read holds nobody up: when ctx
// ends before the message is through, the write ends, and with it the connection
// if half a message was sent.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	data = append(bytes.ReplaceAll(data, []byte("\n"), nil), '\n')
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return mcp.ErrConnectionClosed
	}
	defer func() { <-c.writing }()
	c.awaited.sent(ctx, msg)
	unblock := context.AfterFunc(ctx, func() { _ = c.process.Stdin.SetWriteDeadline(time.Unix(1, 0)) })
	n, err := c.process.Stdin.Write(data)
	if !unblock() {
		_ = c.process.Stdin.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case n > 0:
		_ = c.Close()
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("the server does not read: %w", err)
}

// Close ends the conversation and the process. It does not wait for the latter.
func (c *stdioConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		_ = c.process.Stdin.Close()
	})
	return nil
}

// readLine reads up to a newline. Of a line longer than limit only the beginning
// and the end are kept; size is how many bytes it has then, 0 otherwise.
func readLine(r *bufio.Reader, limit int) (line []byte, size int64, err error) {
	var tail []byte
	over := false
	for {
		part, err := r.ReadSlice('\n')
		size += int64(len(part))
		switch {
		case over:
			tail = lastOf(append(tail, part...), keepEnds)
		case len(line)+len(part) <= limit:
			line = append(line, part...)
		default:
			over = true
			tail = lastOf(append(lastOf(line, keepEnds), part...), keepEnds)
			line = bytes.Clone(line[:min(len(line), keepEnds)])
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case over:
			return append(line, tail...), size, err
		default:
			return line, 0, err
		}
	}
}

// keepEnds is how much of either end of a line that is too long is kept.
const keepEnds = 4 << 10

func lastOf(p []byte, n int) []byte {
	return bytes.Clone(p[max(0, len(p)-n):])
}

var (
	idFirst = lazyregexp.New(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]`)
	idLast  = lazyregexp.New(`,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// oversized is the answer to a call whose real answer is too long; nil when the
// line is no answer, or hides whose it is.
func oversized(line []byte, size int64) jsonrpc.Message {
	m := idFirst.FindSubmatch(line)
	if m == nil {
		m = idLast.FindSubmatch(line)
	}
	if m == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return nil
	}
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: fmt.Sprintf("the server's answer has %d bytes, more than the %d that are read: ask for less at once", size, maxMessage),
	}}
}
