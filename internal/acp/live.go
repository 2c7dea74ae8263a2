package acp

import (
	"context"
	"errors"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// maxQueuedPrompts bounds how many prompts may wait in one session.
const maxQueuedPrompts = 32

// liveSession is a session that a client has open: its turns run one at a time,
// on one goroutine, in the order in which the prompts came.
type liveSession struct {
	server   *Server
	agent    *agent.Session
	cards    cards.Options // how its events are shown; fixed when it was opened
	inbox    chan *promptJob
	replayed bool          // its log was shown when it was loaded
	done     chan struct{} // closed when its goroutine has ended and its log is closed
	freed    sync.Once     // what it left is ended; see closeSession

	forms       bool     // the client shows forms
	steersAll   bool     // the client wants its prompts in the running turn
	scopes      bool     // the client tells permission options of one kind apart
	showNotices bool     // the client shows notices
	notices     *notices // what the session's parts have to say beside the log
	additional  []string // the additional directories it was opened with

	// viewMu keeps the order in which settings are shown, and with the answers
	// that repeat them. It may be taken under projMu, not the other way round.
	viewMu        sync.Mutex
	shownMode     string // the mode that the client was told last
	shownCommands []model.Command
	shownOptions  []byte // the options that the client was told last, as JSON

	projMu sync.Mutex // the projector, and the order of updates
	proj   *cards.Projector
	live   *outputs // what runs; its order is projMu's

	mu       sync.Mutex
	jobs     map[*promptJob]struct{} // waiting and running
	steering []*promptJob            // waiting jobs that the running turn may take
	merged   []*promptJob            // jobs that it has taken
	closed   bool
}

// promptJob is one session/prompt from its arrival to its answer.
type promptJob struct {
	req    *wire.Request
	sent   promptParts     // as it came
	prompt []content.Block // what the model reads
	shown  []content.Block // what the person sent; nil when it is the same
	// command is the command that the prompt is; nil when it is for the model. args
	// is what follows its name.
	command *Command
	args    string
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// guarded by liveSession.mu:
	begun   bool // its own turn runs or has run
	merged  bool // it became part of a running turn
	dropped bool // it was cancelled while it waited, and has been answered
	stopped bool // a hook stopped it
	why     string
}

// errCancelledByClient is the cause of a turn that session/cancel or
// $/cancel_request ended.
var errCancelledByClient = errors.New("the client cancelled the turn")

// newLiveSession starts the session's goroutine. Its events are shown from here
// on.
func newLiveSession(srv *Server, a *agent.Session, caps protocol.ClientCapabilities, notes *notices) *liveSession {
	opt := cards.Options{
		Cwd: a.Cwd(), TerminalOutput: caps.Meta.Bool("terminal_output"), NestedCalls: nestsCalls(caps), Compactions: caps.Compaction, BlockedPrompts: len(caps.Meta) > 0 || caps.Notices, Logger: srv.log,
	}
	l := &liveSession{
		server: srv, agent: a, cards: opt, forms: caps.FormElicitation, steersAll: caps.Meta.Bool(metaSteer), scopes: caps.Meta.Bool("permission_scopes"),
		showNotices: caps.Notices, notices: notes, additional: a.AdditionalDirectories(),
		shownMode: modeID(a.Settings().Planning),
		inbox:     make(chan *promptJob, maxQueuedPrompts),
		done:      make(chan struct{}),
		jobs:      map[*promptJob]struct{}{},
		proj:      cards.NewProjector(agent.ScopePresenters{Scope: a.Scope()}, opt),
	}
	l.live = newOutputs(&l.projMu, l.proj, l.trySend)
	l.projMu.Lock() // until it knows what came before
	defer l.projMu.Unlock()
	before, _ := a.Log().SubscribeFrom(l.show)
	for _, ev := range before {
		l.proj.Remember(agent.CardEvent(ev))
	}
	a.WatchOutput(l.live.write)
	a.WatchSteering(l.takeSteering)
	return l
}

// nestsCalls says whether the client is sent the calls of a program as cards of
// their own. It may say so itself under _meta; else it is taken for one that
// reads the link if it reads anything under _meta. The protocol has no nesting,
// so to other clients these cards would look like calls of the model.
func nestsCalls(caps protocol.ClientCapabilities) bool {
	if _, said := caps.Meta["nested_tool_calls"]; said {
		return caps.Meta.Bool("nested_tool_calls")
	}
	return len(caps.Meta) > 0
}

// run serves the inbox until it is closed, then closes the session.
func (l *liveSession) run() {
	defer close(l.done)
	for job := range l.inbox {
		if l.begin(job) {
			l.turn(job)
		}
	}
	if err := l.agent.Close(); err != nil {
		l.server.log.Error("a session log could not be closed", "session", l.agent.SessionID(), "err", err)
	}
	l.live.close()
}

// enqueue takes a prompt. It never blocks.
func (l *liveSession) enqueue(req *wire.Request, p promptParts, meta protocol.Meta) *protocol.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return protocol.InvalidRequest("the session is closed: open a new one")
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(req.Context()))
	job := &promptJob{req: req, sent: p, prompt: p.model, shown: p.shown, ctx: ctx, cancel: cancel}
	select {
	case l.inbox <- job:
	default:
		cancel(nil)
		return protocol.InvalidRequest("too many prompts are waiting in this session: wait for one to end, or cancel")
	}
	l.jobs[job] = struct{}{}
	if l.steers(meta, p) {
		l.steering = append(l.steering, job)
	}
	// The request's own context ends by $/cancel_request or with the connection.
	context.AfterFunc(req.Context(), func() {
		if req.CancelledByPeer() {
			cancel(errCancelledByClient)
			l.drop(job)
		} else {
			cancel(agent.ErrDisposed)
		}
	})
	return nil
}

// cancelTurns ends the running turn and every waiting one.
func (l *liveSession) cancelTurns(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for job := range l.jobs {
		job.cancel(cause)
	}
}

// dispose ends the session: no prompt is taken any more, what runs is cancelled.
// The session's goroutine closes the log when it is done.
func (l *liveSession) dispose() {
	l.stop()
	l.cancelTurns(agent.ErrDisposed)
}

// stop takes no prompt any more.
func (l *liveSession) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.inbox)
	}
}

// turn runs one prompt and answers it. Every update of the turn has been sent
// when the answer goes out.
func (l *liveSession) turn(job *promptJob) {
	defer func() {
		if r := recover(); r != nil {
			l.server.log.Error("a turn panicked", "session", l.agent.SessionID(), "panic", r)
			l.answerTurn(job, nil, protocol.InternalError("the turn failed unexpectedly; the log has the details"))
		}
	}()
	reason, err := l.runJob(job)
	if err != nil {
		l.answerTurn(job, nil, turnFailure(err))
		return
	}
	answer := protocol.NewPromptResponse(protocol.StopReason(reason))
	if job.stopped {
		// There is no stop reason for it; a client that shows nothing else has it here.
		answer.Meta = answer.Meta.With(metaBlocked, struct {
			Reason string `json:"reason"`
		}{job.why})
	}
	l.answerTurn(job, answer, nil)
}

// runJob runs a prompt: a command, a turn, or one after the other.
func (l *liveSession) runJob(job *promptJob) (agent.StopReason, error) {
	if job.ctx.Err() != nil { // cancelled while it waited: nothing is logged
		return agent.Cancelled, nil
	}
	l.syncCommands()
	if job.command, job.args = l.server.findCommand(l.agent, job.sent.text); job.command != nil {
		done, err := l.runCommand(job)
		switch {
		case err != nil:
			return "", err
		case done && job.ctx.Err() != nil:
			return agent.Cancelled, nil
		case done:
			return agent.EndTurn, nil
		}
	}
	defer l.syncCommands()
	reason, err := l.agent.PromptShown(job.ctx, job.prompt, job.shown)
	if reason == agent.Cancelled {
		job.why, job.stopped = l.agent.StoppedPrompt()
	}
	return reason, err
}

// codeKeyRefused is the code of a turn that failed because the model's server
// did not accept the key.
const codeKeyRefused = "AUTH"

// turnFailure is the answer to a prompt whose turn has failed.
func turnFailure(err error) *protocol.Error {
	var turn *agent.TurnError
	if !errors.As(err, &turn) {
		return protocol.InternalError(err.Error())
	}
	e := &protocol.Error{Code: protocol.CodeInternalError, Message: "Internal error: turn failed: " + turn.Message}
	if turn.Code == codeKeyRefused { // editors then offer to log in
		e = protocol.AuthRequired("turn failed: " + turn.Message)
	}
	return e.WithDetails(turn.Message)
}

// show projects one event of the log and sends what it shows. The log calls it
// in append order.
func (l *liveSession) show(ev session.Event) {
	l.projMu.Lock()
	defer l.projMu.Unlock()
	updates := l.proj.Project(agent.CardEvent(ev))
	for i, u := range updates {
		updates[i] = l.live.settle(u)
	}
	l.send(updates)
	if ev.Type != session.TypeAssistantChunk {
		l.live.sweep()
	}
	if ev.Type == session.TypePlanMode {
		l.syncView()
	}
}

// send sends what a projection shows.
func (l *liveSession) send(updates []cards.Update) {
	for _, u := range updates {
		if wireUpdate := updateFor(u); wireUpdate != nil {
			l.server.update(l.agent.SessionID(), wireUpdate)
		}
	}
}

// trySend sends a preview unless it would have to wait for the client.
func (l *liveSession) trySend(u cards.ToolUpdate) bool {
	return l.server.tryUpdate(l.agent.SessionID(), updateFor(u))
}

// announced returns the card of a running call, for a permission request.
func (l *liveSession) announced(callID string) (cards.ToolCall, bool) {
	l.projMu.Lock()
	defer l.projMu.Unlock()
	return l.proj.Announced(callID)
}
