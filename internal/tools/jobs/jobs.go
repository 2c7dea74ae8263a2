// Package jobs keeps what runs in the background of a session: commands that a
// call has started and does not wait for. A job belongs to the session that
// started it; others can neither see nor reach it, and it ends with the session
// at the latest. The tools task_output, task_list and task_kill are how the model
// gets at its jobs.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

// The session events of a job. The start is logged when it runs, the end with
// its last output, also between turns: an editor shows them as a card of its own.
const (
	TypeStart = "job/start" // taskId, callId, kind, label, description?, cwd?, outputPath?
	TypeEnd   = "job/end"   // taskId, status, detail?, exitCode?, signal?, output, truncated?, outputPath?, outputHeld? (bytes of it in the file, when that is not all)
)

// DefaultMaxRunning is how many jobs of one session may run at the same time.
const DefaultMaxRunning = 16

// maxKept is how many jobs of a session are remembered; the oldest that have
// ended are forgotten first.
const maxKept = 64

// Options of a Manager.
type Options struct {
	// MaxRunning bounds the jobs of one session that run at the same time. Zero
	// means DefaultMaxRunning.
	MaxRunning int
	// Dir gives the folder that keeps the whole output of a session's jobs; ""
	// means that only its end is kept, in memory.
	Dir func(session string) string
	// Conceal, if set, gives for each job a function that changes what its file
	// takes, piece by piece; the last piece may be empty.
	Conceal func() func(piece []byte, last bool) []byte
	Logger  *slog.Logger
}

// Manager has the jobs of every session. It is safe for concurrent use.
type Manager struct {
	opts Options

	mu     sync.Mutex
	closed bool
	owners map[string]*owner
}

// owner is one session's jobs.
type owner struct {
	jobs   []*Job // in the order of their start
	last   int    // the number of the last one
	closed bool
}

// New makes a manager without jobs.
func New(o Options) *Manager {
	if o.MaxRunning <= 0 {
		o.MaxRunning = DefaultMaxRunning
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{opts: o, owners: map[string]*owner{}}
}

// Spec is a job to start.
type Spec struct {
	// Kind names what it is, such as bash, and begins its id.
	Kind string
	// Label says in one line what it does: the command.
	Label string
	// Description and Cwd are for the editor's card; both may be empty.
	Description, Cwd string
	// Run does the work until it is done or ctx ends, in a goroutine of the
	// manager's. It calls started once, when the work has begun; an error without
	// that is why nothing was started. Output comes in whole characters.
	Run func(ctx context.Context, started func(), output func([]byte)) (End, error)
}

// End is how a job ended by itself.
type End struct {
	// Failed says that it did not do what it was to do; Killed that it was ended
	// from outside.
	Failed, Killed bool
	// Detail says more, such as "exit code: 1"; may be empty.
	Detail string
	// ExitCode and Signal are those of a command; at most one is set.
	ExitCode *int
	Signal   string
}

var errClosed = errors.New("the session is closing; no more background tasks are started")

// Start starts a job for the agent of a call and returns its id as soon as it
// runs. It fails when the session has too many, when nothing could be started, and
// when ctx has ended, which ends the job.
func (m *Manager) Start(ctx context.Context, exec *registry.Execution, s Spec) (id string, err error) {
	j, err := m.admit(exec, s)
	if err != nil {
		return "", err
	}
	began := make(chan struct{})
	go j.run(s.Run, began)
	select {
	case <-began:
	case <-j.done: // nothing was started
		m.remove(j)
		return "", j.failure
	}
	if err := j.announce(exec); err != nil {
		j.cancel(errNotLogged)
		<-j.done
		m.remove(j)
		return "", fmt.Errorf("the background task was ended, for the session log cannot be written: %w", err)
	}
	if ctx.Err() != nil { // cancelled meanwhile: nobody will learn the id
		j.kill()
		return "", context.Cause(ctx)
	}
	return j.id, nil
}

var errNotLogged = errors.New("not logged")

// admit makes room for a job.
func (m *Manager) admit(exec *registry.Execution, s Spec) (*Job, error) {
	key := ownerOf(exec)
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.owner(key)
	if m.closed || o.closed {
		return nil, errClosed
	}
	running := 0
	for _, j := range o.jobs {
		if !j.ended() {
			running++
		}
	}
	if running >= m.opts.MaxRunning {
		return nil, fmt.Errorf("too many background tasks are running (%d): wait for one to end, or end one with task_kill", running)
	}
	for len(o.jobs) >= maxKept {
		oldest := slices.IndexFunc(o.jobs, (*Job).ended)
		if oldest < 0 {
			break
		}
		o.jobs = slices.Delete(o.jobs, oldest, oldest+1)
	}
	o.last++
	j := newJob(m, key, s.Kind+"_"+strconv.Itoa(o.last), s)
	if m.opts.Dir != nil {
		if dir := m.opts.Dir(key); dir != "" {
			j.out.path = filepath.Join(dir, j.id+".txt")
			if m.opts.Conceal != nil {
				j.out.conceal = m.opts.Conceal()
			}
		}
	}
	j.to = sessionOf(exec)
	o.jobs = append(o.jobs, j)
	return j, nil
}

func (m *Manager) owner(key string) *owner {
	o := m.owners[key]
	if o == nil {
		o = &owner{}
		m.owners[key] = o
	}
	return o
}

func (m *Manager) remove(j *Job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.owners[j.owner]; o != nil {
		o.jobs = slices.DeleteFunc(o.jobs, func(k *Job) bool { return k == j })
	}
}

// ownerOf is whom the jobs of a call belong to.
func ownerOf(exec *registry.Execution) string {
	if id := tools.SessionID(exec); id != "" {
		return id
	}
	return tools.AgentKey(exec)
}

// session is what an agent may have for its jobs.
type session interface {
	// Record appends an event to the session's log, at any time.
	Record(eventType string, data jsonvalue.Value) error
	// CallOutput shows live output.
	CallOutput(callID string, chunk []byte)
}

type nowhere struct{}

func (nowhere) Record(string, jsonvalue.Value) error { return nil }
func (nowhere) CallOutput(string, []byte)            {}

func sessionOf(exec *registry.Execution) session {
	if s, ok := exec.Agent().(session); ok {
		return s
	}
	return nowhere{}
}

// find gives the caller's own job of that id. Ids of other sessions are unknown
// like any other.
func (m *Manager) find(exec *registry.Execution, id string) (*Job, error) {
	if id == "" {
		return nil, errors.New(`invalid task_id: expected a non-empty string, got ""`)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.owners[ownerOf(exec)]; o != nil {
		for _, j := range o.jobs {
			if j.id == id {
				return j, nil
			}
		}
	}
	return nil, fmt.Errorf("unknown task %s", id)
}

func (m *Manager) list(exec *registry.Execution) []*Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.owners[ownerOf(exec)]; o != nil {
		return slices.Clone(o.jobs)
	}
	return nil
}

// CloseSession ends a session's jobs, all at the same time, and waits until they
// have ended and been logged, or ctx ends. No more are started.
func (m *Manager) CloseSession(ctx context.Context, session string) error {
	m.mu.Lock()
	o := m.owner(session)
	o.closed = true
	all := slices.Clone(o.jobs)
	m.mu.Unlock()
	err := endAll(ctx, all)
	m.mu.Lock()
	delete(m.owners, session)
	m.mu.Unlock()
	return err
}

// Close ends every job there is.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	var all []*Job
	for _, o := range m.owners {
		all = append(all, o.jobs...)
	}
	m.mu.Unlock()
	return endAll(ctx, all)
}

func endAll(ctx context.Context, jobs []*Job) error {
	for _, j := range jobs {
		j.cancel(errSessionClosed)
	}
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-ctx.Done():
			return fmt.Errorf("background tasks are still running: %w", context.Cause(ctx))
		}
	}
	return nil
}

// News is what the model is to be told of a session: jobs that have ended and
// whose end it does not know. Each is told once.
func (m *Manager) News(session string) []registry.Context {
	m.mu.Lock()
	var all []*Job
	if o := m.owners[session]; o != nil {
		all = slices.Clone(o.jobs)
	}
	m.mu.Unlock()
	var news []registry.Context
	for _, j := range all {
		if text, ok := j.tell(); ok {
			news = append(news, notice(j.id, text))
		}
	}
	return news
}

// spool is a file that takes the whole of a job's output, up to a limit.
type spool struct {
	path    string // "" means none
	file    io.WriteCloser
	written int64
	failed  bool
	cut     bool                                 // it lacks the end
	conceal func(piece []byte, last bool) []byte // nil changes nothing
}

// spoolLimit is how many bytes of a job's output its file takes.
const spoolLimit = 64 << 20

func (s *spool) write(p []byte) {
	if s.path == "" || s.failed || len(p) == 0 {
		s.cut = s.cut || len(p) > 0
		return
	}
	if s.file == nil {
		err := os.MkdirAll(filepath.Dir(s.path), 0o700)
		if err == nil {
			s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
		if err != nil {
			s.failed, s.path, s.file = true, "", nil
			return
		}
	}
	if s.conceal != nil {
		p = s.conceal(p, false)
	}
	s.put(p)
}

func (s *spool) put(p []byte) {
	if room := spoolLimit - s.written; int64(len(p)) > room {
		p, s.cut = p[:room], true
	}
	n, err := s.file.Write(p)
	s.written += int64(n)
	s.cut = s.cut || err != nil
	if err != nil || s.written >= spoolLimit {
		s.failed = true
		_ = s.file.Close()
		s.file = nil
	}
}

// holds says what of the output is in the file.
func (s *spool) holds() string {
	if s.cut && s.path != "" {
		return fmt.Sprintf("the first %d bytes of it", s.written)
	}
	return "full output"
}

func (s *spool) close() {
	if s.file != nil && s.conceal != nil {
		s.put(s.conceal(nil, true))
	}
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// oneLine is the first line of a command, cut to some length.
func oneLine(s string) string {
	const limit = 120
	s, more, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	if strings.TrimSpace(more) != "" {
		return s + " …"
	}
	return s
}
