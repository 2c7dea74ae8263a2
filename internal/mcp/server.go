package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

const (
	// firstPause and maxPause bound the wait before a server is started again; it
	// doubles with every failure in a row.
	firstPause = 500 * time.Millisecond
	maxPause   = 30 * time.Second
	// maxFailures is how often in a row a server may fail before it is given up.
	maxFailures = 5
	// healthy is how long a server must have run for its failures to be forgotten.
	healthy = time.Minute
	// endPatience is how long the end of a process may be on its way after the end
	// of its output, which is how long the explanation takes for one that lives on.
	endPatience = 500 * time.Millisecond
	// listPause gathers announcements of a changed list into one look.
	listPause = 200 * time.Millisecond
	// handshake is the version of the protocol that a conversation is opened in:
	// the newest that begins with initialize, which every server knows. One that
	// refuses it is asked in the newest of all.
	handshake = "2025-11-25"
)

// server is one server of a session.
type server struct {
	s       *Session
	cfg     Config
	log     *slog.Logger
	settled chan struct{} // closed when the first attempt is over
	once    sync.Once
	logs    logGate
	asking  chan struct{} // holds a token while a person is asked for the server

	mu       sync.Mutex
	state    State
	err      error
	stderr   string
	intro    string
	restarts int
	link     *link // nil unless ready
	changed  chan struct{}
	offered  []*remoteTool
	refused  []RefusedTool
	owner    *registry.Owner // of the instructions

	calls     map[string]*call // by progress token
	callCount int
	lastCall  []*call                            // those that are out, the newest last
	failures  map[registry.Token][]content.Block // of calls whose result is being made
}

func newServer(s *Session, c Config) *server {
	return &server{
		s: s, cfg: c, state: Starting, log: s.opt.Logger.With("mcp", c.Name, "session", s.opt.SessionID),
		settled: make(chan struct{}), asking: make(chan struct{}, 1), changed: make(chan struct{}),
		calls: map[string]*call{}, failures: map[registry.Token][]content.Block{},
	}
}

// link is one connection to the server.
type link struct {
	session *mcp.ClientSession
	process *proc.Process // of stdio
	conn    *stdioConn    // of stdio
	http    *httpLink     // of http and sse
	relist  chan struct{} // the server says that its tools have changed
	gone    chan struct{} // closed when the connection has ended
	err     error         // why; good once gone is closed
	life    context.Context
	end     context.CancelFunc // of life; called when the connection has ended, too
}

// run keeps the server alive until ctx ends or it is given up.
func (v *server) run(ctx context.Context) {
	defer v.settle()
	failures := 0
	for {
		began := time.Now()
		err := harmless(v.live(ctx))
		if ctx.Err() != nil {
			v.withdraw()
			v.set(Closed, nil)
			return
		}
		if time.Since(began) > healthy {
			failures = 0
		}
		failures++
		if failures >= maxFailures || final(err) {
			v.withdraw()
			v.set(Failed, err)
			v.s.notify(true, "The MCP server "+v.cfg.Name+" does not work", err.Error())
			return
		}
		pause := min(firstPause<<(failures-1), maxPause)
		v.set(Restarting, err)
		v.settle()
		v.log.Warn("the MCP server has ended and is started again", "err", err, "in", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		v.mu.Lock()
		v.restarts++
		v.mu.Unlock()
	}
}

func (v *server) settle() { v.once.Do(func() { close(v.settled) }) }

// finalError is a failure that a second attempt would not mend.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func final(err error) bool {
	var f finalError
	var start *proc.StartError
	var refused *UnauthorizedError
	return errors.As(err, &f) || errors.As(err, &start) || errors.As(err, &refused) || errors.Is(err, proc.ErrClosed)
}

func (v *server) set(state State, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = state
	if err != nil {
		v.err = err
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// harmlessError has words of a server in it, and shows none that steer a terminal.
type harmlessError struct{ error }

func (e harmlessError) Error() string { return oneLine(e.error.Error(), 2000) }
func (e harmlessError) Unwrap() error { return e.error }

func harmless(err error) error {
	if err == nil {
		return nil
	}
	return harmlessError{err}
}

// live is one life of the server, from its start to its end. The error says why
// it ended.
func (v *server) live(ctx context.Context) error {
	if v.cfg.Problem != nil {
		return finalError{v.cfg.Problem}
	}
	l, err := v.start(ctx)
	if err != nil {
		return err
	}
	defer v.stop(l)
	v.settle()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.gone:
			return v.why(l, l.err)
		case <-l.relist:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.gone:
			return v.why(l, l.err)
		case <-time.After(listPause):
		}
		select {
		case <-l.relist: // announced again meanwhile
		default:
		}
		list, cancel := context.WithTimeout(ctx, v.cfg.StartTimeout)
		tools, err := l.tools(list)
		cancel()
		if err != nil {
			v.log.Warn("the changed list of tools could not be read; the old one stays", "err", err)
			continue
		}
		v.offer(tools)
	}
}

// start connects and lists the tools, within the server's start limit.
func (v *server) start(ctx context.Context) (*link, error) {
	limited, cancel := context.WithTimeout(ctx, v.cfg.StartTimeout)
	defer cancel()
	l, err := v.connect(limited, handshake)
	var answer *jsonrpc.Error
	if errors.As(err, &answer) && limited.Err() == nil {
		// It answers, but not to this greeting.
		v.log.Debug("the server refuses the greeting and is asked in the newest protocol", "err", err)
		l, err = v.connect(limited, "")
	}
	if err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			err = v.late(err)
		}
		return nil, err
	}
	var tools []rawTool
	if caps := l.session.InitializeResult().Capabilities; caps != nil && caps.Tools != nil {
		if tools, err = l.tools(limited); err != nil {
			err = v.why(l, err)
			if limited.Err() != nil && ctx.Err() == nil {
				err = v.late(err)
			}
			v.stop(l)
			return nil, err
		}
	}
	v.offer(tools)
	v.instruct(l.session.InitializeResult())
	v.mu.Lock()
	v.link, v.err = l, nil
	v.mu.Unlock()
	v.set(Ready, nil)
	v.log.Info("the MCP server is ready", "tools", len(tools))
	return l, nil
}

// late is the failure of a server that takes too long.
func (v *server) late(err error) error {
	text := fmt.Sprintf("it was not ready after %s: see whether %s works in a terminal, or raise its start_timeout", v.cfg.StartTimeout, v.cfg.Target())
	var withTail *endedError
	if errors.As(err, &withTail) && withTail.stderr != "" {
		text += "; it wrote: " + withTail.stderr
	}
	return finalError{errors.New(text)}
}

// connect makes a connection and shakes hands. What it has started is stopped
// again when it fails.
func (v *server) connect(ctx context.Context, version string) (*link, error) {
	l := &link{relist: make(chan struct{}, 1), gone: make(chan struct{})}
	// Streams live in the context that they are opened in, so that is the
	// connection's own; the start only ends it when it fails.
	l.life, l.end = context.WithCancel(context.WithoutCancel(ctx))
	started := context.AfterFunc(ctx, l.end)
	var transport mcp.Transport
	switch v.cfg.Transport {
	case HTTP, SSE:
		h, err := newHTTPLink(v.cfg)
		if err != nil {
			l.end()
			return nil, finalError{err}
		}
		if v.s.opt.Token != nil {
			h.token = func(ctx context.Context) (string, error) { return v.s.opt.Token(ctx, v.cfg) }
		}
		l.http, transport = h, h.transport()
		if v.cfg.Transport == SSE {
			transport = tappedTransport{transport}
		}
	default:
		p, err := v.spawn()
		var start *proc.StartError
		if errors.As(err, &start) {
			err = fmt.Errorf("%w: install it, or give its whole path (PATH is that of the program that started this one)", err)
		}
		if err != nil {
			l.end()
			return nil, err
		}
		l.process = p
		transport = keepConn{&stdioTransport{process: p, noise: func(line string) {
			v.log.Warn("the server writes to stdout what is no message; it is ignored", "line", line)
		}}, &l.conn}
	}
	client := v.client(l)
	session, err := client.Connect(l.life, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil && !started() {
		err = ctx.Err()
		_ = session.Close()
	}
	if err != nil {
		err = v.why(l, err)
		v.stop(l)
		return nil, err
	}
	l.session = session
	v.mu.Lock()
	v.intro = ""
	if info := session.InitializeResult().ServerInfo; info != nil {
		v.intro = oneLine(info.Name+" "+info.Version, 100)
	}
	v.mu.Unlock()
	v.s.running.Go(func() {
		err := session.Wait()
		if err == nil {
			err = io.EOF
		}
		l.err = err
		close(l.gone)
		l.end()
	})
	return l, nil
}

// keepConn lets the server get at the connection of a process.
type keepConn struct {
	*stdioTransport
	to **stdioConn
}

// Connect connects and keeps the connection.
func (k keepConn) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := k.stdioTransport.Connect(ctx)
	if err == nil {
		*k.to = c.(*stdioConn)
	}
	return c, err
}

// spawn starts the server's process.
func (v *server) spawn() (*proc.Process, error) {
	c := v.cfg
	dir := c.Dir
	if dir == "" {
		dir = v.s.opt.Cwd
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(v.s.opt.Cwd, dir)
	}
	env := make([]string, 0, len(c.Env))
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	logged := 0
	return v.s.opt.Supervisor.Start(proc.Command{
		Spec:  proc.Spec{Args: append([]string{c.Command}, c.Args...), Env: proc.CommandEnv(os.Environ(), env...), Dir: dir},
		Owner: v.s.opt.SessionID, Grace: killGrace,
	}, proc.StartOptions{StderrLimit: maxStderr, OnStderr: func(chunk []byte) {
		if logged < maxStderr {
			logged += len(chunk)
			v.log.Debug("stderr of the MCP server", "text", string(chunk))
		}
	}})
}

// stop ends a connection and its process and waits for both.
func (v *server) stop(l *link) {
	defer l.end()
	v.mu.Lock()
	if v.link == l {
		v.link = nil
	}
	v.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close() // ends every call that is still out
	}
	if l.session != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = l.session.Close()
		}()
		select {
		case <-done:
		case <-time.After(2 * time.Second):
		}
	}
	if l.process != nil {
		patience, cancel := context.WithTimeout(context.Background(), stopPatience)
		l.process.Stop(patience)
		cancel()
	}
	if l.http != nil {
		l.http.close()
	}
	if l.session != nil {
		select {
		case <-l.gone:
		case <-time.After(2 * time.Second):
		}
	}
}

// endedError says how a server's process ended, with the last it said.
type endedError struct{ what, stderr string }

func (e *endedError) Error() string {
	if e.stderr == "" {
		return e.what
	}
	return e.what + "; it wrote: " + e.stderr
}

// why explains an error of a connection with what is known of its other end.
func (v *server) why(l *link, err error) error {
	if l.http != nil {
		if refused := l.http.refusal(); refused != nil {
			return refused
		}
		if v.cfg.Transport == HTTP && err != nil && strings.Contains(err.Error(), "Not Found") || err != nil && strings.Contains(err.Error(), "Method Not Allowed") {
			return fmt.Errorf("%w (is the URL right? a server of the older protocol needs type: sse)", err)
		}
		return err
	}
	if l.process == nil {
		return err
	}
	ended := false
	select {
	case <-l.process.Done():
		ended = true
	case <-time.After(endPatience):
		select { // both may have come while this process was held up
		case <-l.process.Done():
			ended = true
		default:
		}
	}
	if ended {
		l.process.Release() // and with it the rest of what it wrote
	}
	out := l.process.Stderr()
	v.mu.Lock()
	v.stderr = out.Text
	v.mu.Unlock()
	tail := oneLine(lastLines(out.Text, 5), 600)
	switch {
	case ended && answered(err):
		// It ended because we hung up on it: what it said before is the reason.
		if tail != "" {
			return fmt.Errorf("%w; it wrote: %s", err, tail)
		}
		return err
	case ended:
		return &endedError{"the process ended (" + l.process.Exit().String() + ")", tail}
	case errors.Is(err, io.EOF):
		return &endedError{"it closed its output", tail}
	}
	return &endedError{err.Error(), tail}
}

// answered says whether an error is about what a server said, rather than about
// a connection that is gone.
func answered(err error) bool {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) {
		return true
	}
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE, mcp.ErrConnectionClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, gone) {
			return false
		}
	}
	return err != nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// oneLine makes text of a stranger fit for a message: one line of at most n
// characters, nothing that steers a terminal.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return s
}

func (v *server) status() Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	st := Status{
		Name: v.cfg.Name, Origin: v.cfg.Origin, Transport: v.cfg.Transport, Target: v.cfg.Target(),
		State: v.state, Server: v.intro, Stderr: v.stderr, Restarts: v.restarts,
		Refused: append([]RefusedTool(nil), v.refused...),
	}
	if v.link != nil && v.link.process != nil {
		st.Stderr = v.link.process.Stderr().Text
	}
	if v.err != nil {
		st.Error = v.err.Error()
	}
	for _, t := range v.offered {
		st.Tools = append(st.Tools, ToolStatus{Name: t.name, Original: t.raw.name})
	}
	return st
}
