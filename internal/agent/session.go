// Package agent runs turns: a prompt goes to the model, the model's calls go
// through the pipeline, their results go back, until the model is done. All it
// does is in the session log before anybody sees it.
package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// DefaultMaxSteps is how many model requests one turn may make.
const DefaultMaxSteps = 200

// Config is what a Session is made of. Log, Provider, Model, Pipeline and Scope
// are required.
type Config struct {
	Log      *session.Log
	Provider model.Provider
	Model    string // the model's id at the provider
	Pipeline *pipeline.Pipeline
	Scope    *registry.Scope // the session's own scope; closed with the session
	Asker    Asker           // nil: no approval channel
	// AdditionalDirectories are the folders of the workspace besides the log's
	// working directory, absolute.
	AdditionalDirectories []string
	// Grants remembers "always allow" answers; nil offers none.
	Grants Grants
	// NeverAsk reports whether the approval policy rejects every question
	// without asking it (rule R5.12); nil means false.
	NeverAsk func() bool
	// Catalogue lists the models that can be chosen, those of Provider among
	// them; nil offers no choice.
	Catalogue *Catalogue
	// Effort is the thought level to begin with; "" is the model's own.
	Effort string
	// Permissions is what can be switched of the permissions; nil: nothing.
	Permissions Permissions
	// PresentTools changes how the model gets at the tools; nil offers no choice.
	PresentTools func(registry.Mode) error
	// PlanPrompt is what the model is told while plan mode is on.
	PlanPrompt string
	// Elicitor puts the questions of tools to the user; nil: nobody can be asked.
	Elicitor Elicitor
	MaxSteps int // model requests a turn; 0 means DefaultMaxSteps
	// Backoff says when a failed model request is repeated.
	Backoff model.Backoff
	// Price gives the price of a model, if it is known; nil: no prices are known.
	Price func(provider, id string) (Price, bool)
	// Charge is told of every request that the session makes; nil: nobody is. A
	// subagent's requests are charged to its parent.
	Charge func(provider, id string, u *model.Usage)
	// Compaction says when the conversation is replaced by a summary.
	Compaction Compaction
	// Listeners watch the turns, in this order.
	Listeners []Listener
	// News is what happened in the session of that id beside the turns, such as
	// the end of what runs in the background. It is asked before every step and
	// tells each thing once. A subagent's session has its parent's.
	News func(sessionID string) []registry.Context
	// OnClose ends what the session of that id has running, while its log is
	// still open. A subagent's session has its parent's.
	OnClose func(sessionID string)
	// Output gets live output of a running call. It must not block.
	Output func(callID string, chunk []byte)
	// Conceal gives for each call a function that keeps out of its live output
	// what nobody may see, piece by piece; nil changes nothing. What goes into the
	// log is the log's to conceal.
	Conceal func() func(piece []byte, last bool) []byte
	Logger  *slog.Logger
}

// Session is one conversation: a log, a scope and a turn loop. It is the
// registry.Agent of its tool calls. One turn runs at a time; Prompt must not be
// called again before it has returned.
type Session struct {
	cfg    Config
	header session.Header
	roots  []string

	turn     int64
	titled   bool
	commands int64               // slash commands in the log
	parked   []registry.Context  // context of a cancelled step, for the next turn
	callIDs  map[string]struct{} // every call id of the session, to keep them unique

	lastHeader jsonvalue.Value
	spent      spending

	steering atomic.Pointer[func() []Steering] // see WatchSteering

	live  concealing                                        // see CallOutput
	watch atomic.Pointer[func(callID string, chunk []byte)] // see WatchOutput

	compactions int   // that were begun in the log
	full        int64 // tokens before which a compaction that failed is not tried again

	mu   sync.Mutex
	set  choices
	halt string // why the turn is to end; see stoppedFor
}

// NewSession makes a session that continues its log: turn numbers go on after
// the log's last one.
func NewSession(cfg Config) (*Session, error) {
	if cfg.Log == nil || cfg.Provider == nil || cfg.Pipeline == nil || cfg.Scope == nil {
		return nil, errors.New("agent: a session needs a log, a provider, a pipeline and a scope")
	}
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = DefaultMaxSteps
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Catalogue == nil {
		cfg.Catalogue = NewCatalogue(cfg.Logger, cfg.Provider)
	}
	s := &Session{cfg: cfg, header: cfg.Log.Header(), callIDs: map[string]struct{}{}}
	s.roots = rootsOf(s.header.Cwd, cfg.AdditionalDirectories)
	events := cfg.Log.Kept()
	if err := s.restore(events); err != nil {
		return nil, err
	}
	for _, ev := range events {
		switch ev.Type {
		case session.TypeTurnStart:
			s.turn = max(s.turn, ev.Turn())
		case session.TypeCompactStart:
			s.compactions++
		case session.TypeTitle:
			s.titled = true
		case TypeUsage:
			s.spent.restore(ev.Data)
		case TypeCommandRun:
			s.commands++
		case session.TypeToolCall:
			s.callIDs[ev.Data.GetString("callId")] = struct{}{}
		}
	}
	if _, err := cfg.Scope.AddSection(registry.Section{
		Name: "plan-mode", Order: registry.OrderGuidance, Verbatim: true, Text: s.planPrompt,
	}); err != nil {
		return nil, err
	}
	return s, nil
}

// planPrompt is empty outside plan mode.
func (s *Session) planPrompt(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.set.now.Planning {
		return "", nil
	}
	return s.cfg.PlanPrompt, nil
}

// AgentID is the session's id.
func (s *Session) AgentID() string { return s.header.ID }

// Scope is through which the session sees tools.
func (s *Session) Scope() *registry.Scope { return s.cfg.Scope }

// Cwd is the session's working directory, absolute.
func (s *Session) Cwd() string { return s.header.Cwd }

// SessionID is the session's id, for tools that name it.
func (s *Session) SessionID() string { return s.header.ID }

// Log is the session's event log.
func (s *Session) Log() *session.Log { return s.cfg.Log }

// Close ends the session: its registrations go and its log is flushed. A turn
// must not be running any more.
func (s *Session) Close() error {
	if s.cfg.OnClose != nil {
		s.cfg.OnClose(s.header.ID)
	}
	s.cfg.Scope.Close()
	return s.cfg.Log.Close()
}

// append writes one event.
func (s *Session) append(typ string, data jsonvalue.Value, sources ...int64) (session.Event, error) {
	return s.cfg.Log.Append(session.Draft{Type: typ, Data: data, Sources: sources})
}

// contextDraft is the event that puts added context before the model.
func contextDraft(c registry.Context) session.Draft {
	data := session.Data("content", content.ToValue(c.Content), "source", c.Source)
	if !c.Meta.IsUndefined() {
		data = data.With("meta", c.Meta)
	}
	return session.Draft{Type: session.TypeContextMessage, Data: data}
}

// ErrDisposed is the cause with which the owner of a session cancels a turn
// because the program is shutting down.
var ErrDisposed = errors.New("the session is being disposed")

// endKind names in the log why a cancelled turn ended.
func endKind(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), ErrDisposed) {
		return session.EndDisposed
	}
	return session.EndAborted
}

// SessionLogPath is the path of the session's log; empty when it is kept in
// memory.
func (s *Session) SessionLogPath() string { return s.cfg.Log.Path() }
