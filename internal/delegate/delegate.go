// Package delegate runs subagents: sessions that do a task for another session,
// during one of its calls.
//
// A subagent has a log and a scope of its own, the scope below that of its
// parent: the parent's permissions, hooks and other listeners see its calls too.
// What it does is told in the parent's log, from which an editor's card of the
// call is projected; its questions go to the person of the parent.
package delegate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/subagent"
)

// Limits bound the subagents of one session, those of its subagents among them.
type Limits struct {
	MaxDepth   int           // how deep subagents may have subagents; 0: there are none
	MaxRunning int           // how many may work at a time
	MaxSteps   int           // model requests of one
	Timeout    time.Duration // of one; the time in which a person is asked is free
	// Tools are the names, or patterns with * and ?, of the tools that a subagent
	// has; nil means all but those that speak with the user.
	Tools []string
	// Model answers a subagent that begins afresh: "" the parent's, else the name
	// of a model of the parent's provider, or PROVIDER/NAME.
	Model string
}

// Options of a [Manager].
type Options struct {
	// NewLog makes the log of a subagent, in a place that goes with its parent's.
	NewLog func(parent *agent.Session, h session.Header) (*session.Log, error)
	// Opened is called with the ids and the scope of a subagent before anything
	// happens in it; nil: nothing is to be done.
	Opened func(parent, child string, scope *registry.Scope, fork bool)
	// Closed ends what the session of a subagent left behind, when it has ended,
	// or could not begin once it had a log.
	Closed func(ctx context.Context, id string)
	Logger *slog.Logger // nil discards
}

// Manager runs the subagents of every session. It is the [subagent.Runner] of
// the program, and safe for concurrent use.
type Manager struct {
	opt Options

	mu    sync.Mutex
	trees map[string]*tree // by session id, of roots and of subagents
}

// New makes a manager. NewLog is required.
func New(o Options) (*Manager, error) {
	if o.NewLog == nil {
		return nil, errors.New("delegate: a place for logs is needed")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{opt: o, trees: map[string]*tree{}}, nil
}

// Begin lets a session that a person talks to have subagents; End takes it back.
// Where there are to be none, the scope loses the tools.
func (m *Manager) Begin(id string, scope *registry.Scope, l Limits) error {
	if l.MaxDepth <= 0 {
		_, err := scope.Restrict(registry.Restriction{Deny: known(scope, subagent.Name, subagent.ForkName)})
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trees[id] = newTree(l)
	return nil
}

// End forgets a session.
func (m *Manager) End(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.trees, id)
}

func (m *Manager) tree(id string) *tree {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trees[id]
}

func (m *Manager) adopt(id string, t *tree) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trees[id] = t
}

// Run has a subagent do a task for the session whose call it is. It implements
// [subagent.Runner]. Errors that the model is to read say what became of it.
func (m *Manager) Run(ctx context.Context, r subagent.Request) (subagent.Outcome, error) {
	parent, ok := r.Call.Execution().Agent().(*agent.Session)
	if !ok {
		return subagent.Outcome{}, errors.New("a subagent works for a session with a model, and this call belongs to none")
	}
	t := m.tree(parent.SessionID())
	depth := parent.Log().Header().DelegationDepth + 1
	if t == nil || depth > t.limits.MaxDepth {
		return subagent.Outcome{}, pipeline.NewError("SubagentDepthError", "SUBAGENT_DEPTH",
			fmt.Sprintf("subagents may not be nested deeper than %d: do the task yourself", depth-1))
	}
	leave, err := t.enter(ctx, parent.SessionID(), depth > 1)
	if err != nil {
		return subagent.Outcome{}, err
	}
	defer leave()
	w := &work{m: m, parent: parent, tree: t, depth: depth, req: r}
	return w.do(ctx)
}

// userTools are those that speak with the user about the session: a subagent's
// questions, plans and lists are not the user's.
var userTools = []string{"ask_user_question", "exit_plan_mode", "todo_write"}

// restriction says which inherited tools a subagent has.
func restriction(parent *registry.Scope, l Limits, depth int) registry.Restriction {
	deny := userTools
	if depth >= l.MaxDepth {
		deny = append(deny[:len(deny):len(deny)], subagent.Name, subagent.ForkName)
	}
	f := registry.Restriction{Deny: known(parent, deny...)}
	if l.Tools == nil {
		if len(f.Deny) == 0 {
			f.Deny = nil
		}
		return f
	}
	f.Allow = []string{}
	for _, name := range parent.KnownNames() {
		for _, pattern := range l.Tools {
			if ok, _ := path.Match(pattern, name); ok {
				f.Allow = append(f.Allow, name)
				break
			}
		}
	}
	return f
}

// known keeps the names that a scope has: others cannot be restricted.
func known(scope *registry.Scope, names ...string) []string {
	out := []string{}
	for _, have := range scope.KnownNames() {
		for _, name := range names {
			if have == name {
				out = append(out, name)
			}
		}
	}
	return out
}

// choose puts the configured model in the place of the parent's.
func choose(cfg *agent.Config, want string) {
	id, name, both := strings.Cut(want, "/")
	if both {
		// The name of a model may itself hold a slash.
		if p := cfg.Catalogue.Provider(id); p != nil {
			cfg.Provider, cfg.Model, cfg.Effort = p, name, ""
			return
		}
	}
	if want != "" && cfg.Model != want {
		cfg.Model, cfg.Effort = want, ""
	}
}
