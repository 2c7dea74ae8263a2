package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Options are what the hooks of one session need. Supervisor and Cwd are
// required.
type Options struct {
	Supervisor *proc.Supervisor
	SessionID  string
	Cwd        string // absolute; where the commands run
	// Transcript is the path of the session's log; may be "".
	Transcript string
	// Resumed says that the session goes on after having been stored.
	Resumed bool
	// Record writes an event into the session's log. Its error fails what the
	// hook was asked about. Nil records nothing.
	Record func(eventType string, data jsonvalue.Value) error
	// Mode names the permission mode to the hooks; nil says "default".
	Mode func() string
	// Logger gets what hooks say to the person, and what went wrong.
	Logger *slog.Logger
}

// Hooks are the hooks of one session. Its methods may be called concurrently.
type Hooks struct {
	opts Options

	mu        sync.Mutex
	files     []*File
	fresh     []*File // those whose SessionStart has not run
	turn      int64
	continues int                                   // by Stop, in this turn
	halted    string                                // why the turn is to end, "" when it is not
	runs      map[string]int                        // handlers run, by dialect and point
	pending   map[registry.Token][]registry.Context // of PreToolUse, until the call's result
}

// New makes the hooks of a session of files that may run; files without
// handlers cost nothing. It reports the files' problems.
func New(o Options, files ...*File) (*Hooks, error) {
	if o.Supervisor == nil || o.Cwd == "" {
		return nil, errors.New("hooks: a supervisor and a working directory are needed")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Hooks{opts: o, runs: map[string]int{}, pending: map[registry.Token][]registry.Context{}}
	h.Add(files...)
	return h, nil
}

// Add lets more files run, behind those that are there, from the next point on;
// their SessionStart comes with the next prompt. It reports the files' problems.
func (h *Hooks) Add(files ...*File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range files {
		for _, p := range f.Problems {
			h.opts.Logger.Warn("a part of a hook file has no effect", "file", f.Path, "problem", p)
		}
		if f.Len() > 0 {
			// What runs keeps the list that it began with.
			h.files = append(slices.Clip(h.files), f)
			h.fresh = append(h.fresh, f)
		}
	}
}

// Empty reports whether there is no hook that could run.
func (h *Hooks) Empty() bool { return len(h.list()) == 0 }

func (h *Hooks) list() []*File {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.files
}

// merged is what all hooks of a point said together.
type merged struct {
	kind     verdictKind
	reason   string
	source   jsonvalue.Value // who gave the reason
	failed   bool            // the no is for want of a valid answer
	halt     bool
	contexts []registry.Context
}

// source names a dialect's hooks where their text enters a conversation.
func source(d Dialect) jsonvalue.Value {
	return jsonvalue.Object(
		jsonvalue.Member{Key: "kind", Value: jsonvalue.String("plugin")},
		jsonvalue.Member{Key: "plugin", Value: jsonvalue.String("hooks-" + string(d))})
}

// run runs the hooks of a point one after the other, in the order of the files;
// the strictest answer counts, the first of equals. input says whether a group
// is for what happens, and gives its input.
func (h *Hooks) run(ctx context.Context, p Point, input func(matcher) ([]byte, bool)) (merged, error) {
	return h.runOf(ctx, h.list(), p, input)
}

// runOf is run for some of the files.
func (h *Hooks) runOf(ctx context.Context, files []*File, p Point, input func(matcher) ([]byte, bool)) (merged, error) {
	var m merged
	for _, f := range files {
		ran := map[string]bool{} // one command runs once, however many groups name it
		for _, g := range f.groups[p] {
			in, ok := input(g.matcher)
			if !ok {
				continue
			}
			for _, hd := range g.handlers {
				if ran[hd.command] {
					continue
				}
				ran[hd.command] = true
				if err := h.one(ctx, f, p, g.matcher, hd, in, &m); err != nil {
					return merged{}, err
				}
			}
		}
	}
	return m, nil
}

// one runs one handler between its two events.
func (h *Hooks) one(ctx context.Context, f *File, p Point, by matcher, hd handler, input []byte, m *merged) error {
	turn, id := h.nextRun(f.Dialect, p)
	invoked := []jsonvalue.Member{
		{Key: "turn", Value: jsonvalue.Int(turn)},
		{Key: "point", Value: jsonvalue.String(string(p))},
		{Key: "dialect", Value: jsonvalue.String(string(f.Dialect))},
		{Key: "handlerId", Value: jsonvalue.String(id)},
	}
	if by.text != "" {
		invoked = append(invoked, jsonvalue.Member{Key: "matcher", Value: jsonvalue.String(by.text)})
	}
	if err := h.record(TypeInvoked, jsonvalue.Object(invoked...)); err != nil {
		return err
	}
	o, runErr := h.execute(ctx, p, hd, input)
	if runErr != nil {
		o.verdict = verdict{kind: pass, failure: runErr}
	}
	if err := h.record(TypeResult, o.event(turn, p, id)); err != nil {
		return err
	}
	if runErr != nil {
		return runErr
	}
	log := h.opts.Logger.With("file", f.Path, "point", string(p), "command", clip(hd.command, maxSummary))
	if o.failure != nil {
		log.Warn("a hook failed", "err", o.failure, "counts", o.kind.String(), "stderr", clip(o.stderr, maxSummary))
	}
	if o.notice != "" {
		log.Warn("a hook says: " + clip(o.notice, maxSummary))
	}
	h.merge(m, f.Dialect, o)
	return nil
}

func (h *Hooks) merge(m *merged, d Dialect, o outcome) {
	if o.kind > m.kind {
		m.kind, m.reason, m.source, m.failed = o.kind, o.reason, source(d), o.failure != nil
	}
	if o.context != "" {
		m.contexts = append(m.contexts, registry.Context{Content: []content.Block{content.Text(o.context)}, Source: source(d)})
	}
	if o.halt {
		m.halt = true
		h.mu.Lock()
		h.halted = o.notice
		h.mu.Unlock()
	}
}

// nextRun numbers the runs of a dialect at a point, so that an event and its
// result find each other.
func (h *Hooks) nextRun(d Dialect, p Point) (turn int64, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := string(d) + ":" + string(p)
	h.runs[key]++
	return h.turn, fmt.Sprintf("%s:%d", key, h.runs[key])
}

func (h *Hooks) record(eventType string, data jsonvalue.Value) error {
	if h.opts.Record == nil {
		return nil
	}
	if err := h.opts.Record(eventType, data); err != nil {
		return fmt.Errorf("what a hook does could not be logged: %w", err)
	}
	return nil
}

// input is what every hook reads on standard input, with what its point adds.
func (h *Hooks) input(p Point, more ...jsonvalue.Member) []byte {
	mode := "default"
	if h.opts.Mode != nil {
		mode = h.opts.Mode()
	}
	h.mu.Lock()
	turn := h.turn
	h.mu.Unlock()
	return append(jsonvalue.Object(append([]jsonvalue.Member{
		{Key: "session_id", Value: jsonvalue.String(h.opts.SessionID)},
		{Key: "transcript_path", Value: jsonvalue.String(h.opts.Transcript)},
		{Key: "cwd", Value: jsonvalue.String(h.opts.Cwd)},
		{Key: "permission_mode", Value: jsonvalue.String(mode)},
		{Key: "turn_id", Value: jsonvalue.String(fmt.Sprint(turn))},
		{Key: "hook_event_name", Value: jsonvalue.String(string(p))},
	}, more...)...).JSON(), '\n')
}

// always is the input of points that have no matcher.
func always(in []byte) func(matcher) ([]byte, bool) {
	return func(matcher) ([]byte, bool) { return in, true }
}
