package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// provider is a model that the test plays.
type provider struct {
	mu       sync.Mutex
	requests []model.Request
	answer   func(ctx context.Context, req model.Request, yield func(model.Chunk, error) bool)
	models   []model.Info
}

func (p *provider) ProviderID() string                           { return "test" }
func (p *provider) Models(context.Context) ([]model.Info, error) { return p.models, nil }

func (p *provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	p.mu.Lock()
	p.requests = append(p.requests, req)
	p.mu.Unlock()
	return func(yield func(model.Chunk, error) bool) { p.answer(ctx, req, yield) }
}

func says(text string, yield func(model.Chunk, error) bool) {
	for _, c := range []model.Chunk{
		model.StartChunk(0, model.PartText), model.TextChunk(0, text), model.EndChunk(0, model.Text(text)), model.FinishChunk(model.FinishStop),
	} {
		if !yield(c, nil) {
			return
		}
	}
}

// backend keeps its sessions in memory.
type backend struct {
	reg       *registry.Registry
	pipe      *pipeline.Pipeline
	model     *provider
	opened    func(SessionParams)
	closed    func(id string)
	params    SessionParams
	commands  []model.Command
	catalogue *agent.Catalogue
	before    []session.Draft // what the log of a session begins with
	stored    string          // the id of a session that can be loaded; it begins so too
}

func (b *backend) OpenSession(_ context.Context, p SessionParams) (*agent.Session, error) {
	return b.open("", p)
}

func (b *backend) open(id string, p SessionParams) (*agent.Session, error) {
	log := session.NewMemory(session.Header{ID: id, Cwd: p.Cwd}, session.Options{})
	b.params = p
	if _, err := log.AppendAll(b.before); err != nil {
		return nil, err
	}
	if b.opened != nil {
		b.opened(p)
	}
	return agent.NewSession(agent.Config{
		Log: log, Provider: b.model, Model: "m", Pipeline: b.pipe, Scope: b.reg.Global().Child(log.Header().ID),
		Asker: p.Asker, Elicitor: p.Elicitor, AdditionalDirectories: p.AdditionalDirectories,
		Catalogue: b.catalogue,
	})
}

func (b *backend) LoadSession(_ context.Context, id string, p SessionParams) (*agent.Session, error) {
	if b.stored == "" || id != b.stored {
		return nil, session.ErrNotFound
	}
	return b.open(id, p)
}
func (b *backend) ListSessions(context.Context) ([]session.Summary, error) { return nil, nil }
func (b *backend) DeleteSession(context.Context, string) error             { return nil }
func (b *backend) SessionClosed(_ context.Context, id string) {
	if b.closed != nil {
		b.closed(id)
	}
}
func (b *backend) Commands(*agent.Session) []model.Command { return b.commands }
func (b *backend) AuthHint() string                        { return "" }
func (b *backend) CheckAuth(context.Context) error         { return nil }
func (b *backend) EndProcesses(context.Context) error      { return nil }

// harness is a server with a client on its pipes.
type harness struct {
	t       testing.TB
	backend *backend
	server  *Server
	in      *io.PipeWriter
	logged  *lockedBuffer

	mu     sync.Mutex
	cond   *sync.Cond
	frames []map[string]json.RawMessage
	nextID int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// newHarness serves a client that initializes with these capabilities, a JSON
// object.
func newHarness(t testing.TB, caps string) *harness {
	t.Helper()
	h := &harness{t: t, logged: &lockedBuffer{}, backend: &backend{model: &provider{}}}
	h.cond = sync.NewCond(&h.mu)
	h.backend.model.answer = func(_ context.Context, _ model.Request, yield func(model.Chunk, error) bool) { says("ok", yield) }
	var err error
	if h.backend.reg, err = registry.New(registry.Options{}); err != nil {
		t.Fatal(err)
	}
	if h.backend.pipe, err = pipeline.New(h.backend.reg, pipeline.Options{Approver: agent.Approver{}}); err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h.in = inW
	srv := NewServer(Options{
		Name: "test", Version: "1", Backend: h.backend, Wire: wire.Options{},
		Logger: slog.New(slog.NewTextHandler(h.logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	srv.listWait = patience
	h.server = srv
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := srv.Serve(context.Background(), inR, outW); err != nil {
			t.Errorf("Serve: %v", err)
		}
		_ = outW.Close()
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var f map[string]json.RawMessage
			if err := json.Unmarshal(line, &f); err != nil {
				t.Errorf("no frame: %q", line)
			}
			h.mu.Lock()
			h.frames = append(h.frames, f)
			h.cond.Broadcast()
			h.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		<-served
		<-read
	})
	if f := h.call(protocol.MethodInitialize, `{"protocolVersion":1,"clientCapabilities":`+caps+`}`); f["error"] != nil {
		t.Fatalf("initialize: %s", f["error"])
	}
	return h
}

// open makes a session.
func (h *harness) open() string {
	h.t.Helper()
	f := h.call(protocol.MethodSessionNew, `{"cwd":`+strconv.Quote(h.t.TempDir())+`,"mcpServers":[]}`)
	var r struct{ SessionID string }
	if json.Unmarshal(f["result"], &r) != nil || r.SessionID == "" {
		h.t.Fatalf("session/new: %s", f["error"])
	}
	return r.SessionID
}

func (h *harness) request(method, params string) (id string) {
	h.t.Helper()
	h.mu.Lock()
	h.nextID++
	id = strconv.Itoa(h.nextID)
	h.mu.Unlock()
	if _, err := io.WriteString(h.in, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+"}\n"); err != nil {
		h.t.Fatal(err)
	}
	return id
}

func (h *harness) notify(method, params string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, `{"jsonrpc":"2.0","method":"`+method+`","params":`+params+"}\n"); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) call(method, params string) map[string]json.RawMessage {
	h.t.Helper()
	return h.reply(h.request(method, params))
}

// reply waits for the answer to a request.
func (h *harness) reply(id string) map[string]json.RawMessage {
	h.t.Helper()
	var got map[string]json.RawMessage
	h.wait("the answer to "+id, func() bool {
		for _, f := range h.frames {
			if string(f["id"]) == id && f["method"] == nil {
				got = f
				return true
			}
		}
		return false
	})
	return got
}

// patience bounds every wait for something that has to come: it is there for
// what hangs, and generous because machines that test are busy.
const patience = time.Minute

// wait waits until something is true of the frames; until waits for other things.
func (h *harness) wait(what string, pred func() bool) {
	h.t.Helper()
	end := time.Now().Add(patience)
	timer := time.AfterFunc(patience, h.cond.Broadcast)
	defer timer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for !pred() {
		if time.Now().After(end) {
			h.t.Fatalf("waited in vain for %s\n%s", what, h.logged)
		}
		h.cond.Wait()
	}
}

// updates gives the updates of that kind so far, as JSON texts.
func (h *harness) updates(kind string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.updatesLocked(kind)
}

func (h *harness) updatesLocked(kind string) []string {
	var out []string
	for _, f := range h.frames {
		var p struct{ Update json.RawMessage }
		var u struct{ SessionUpdate string }
		if json.Unmarshal(f["params"], &p) == nil && json.Unmarshal(p.Update, &u) == nil && u.SessionUpdate == kind {
			out = append(out, string(p.Update))
		}
	}
	return out
}
