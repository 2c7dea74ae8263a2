package agent

import (
	"context"
	"strconv"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// stepOutcome says how the turn goes on after a step.
type stepOutcome int

const (
	stepContinue stepOutcome = iota
	stepDone
	stepMaxTokens
	stepRefused
	stepCancelled
)

// step makes one model request and runs the calls of its answer. The step is
// closed in the log on every path, except when the log itself fails.
func (s *Session) step(ctx context.Context, step int64) (stepOutcome, error) {
	var drafts []session.Draft
	if step > 1 { // before the first, openTurn has
		events, told, err := s.settle()
		if err != nil {
			return 0, s.failTurn(0, err)
		}
		drafts = append(append(events, told...), s.news()...)
	}
	drafts = append(drafts, session.Draft{Type: session.TypeStepStart, Data: session.Data("turn", s.turn, "step", step)})
	if _, err := s.cfg.Log.AppendAll(drafts); err != nil {
		return 0, logFailure(err)
	}
	prompt, err := s.cfg.Scope.Assemble(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return stepCancelled, s.endStep(step)
		}
		return 0, s.failTurn(step, err)
	}
	to := s.target()
	if err := s.compactIfFull(ctx, step, to, prompt); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return stepCancelled, s.endStep(step)
	}
	if err := s.logHeader(to, prompt); err != nil {
		return 0, logFailure(err)
	}
	answer, err := s.request(ctx, step, to.provider, s.newRequest(to, prompt))
	if err != nil {
		return 0, err
	}
	if answer.failure != nil && !answer.cancelled {
		if answer, err = s.requestShorter(ctx, step, to, prompt, answer); err != nil {
			return 0, err
		}
	}
	if answer.cancelled {
		return stepCancelled, s.endStep(step)
	}
	if answer.failure != nil {
		return 0, s.failTurn(step, answer.failure)
	}
	out, err := s.finish(ctx, step, to, answer)
	if err != nil {
		return 0, err
	}
	return out, s.endStep(step)
}

func (s *Session) newRequest(to target, p *registry.Prompt) model.Request {
	req := model.Request{
		SessionID: s.header.ID, Cwd: s.header.Cwd, Model: to.model, ReasoningEffort: to.effort,
		System: p.System, Messages: session.Messages(s.cfg.Log.Kept()),
	}
	for _, t := range p.Tools {
		req.Tools = append(req.Tools, model.ToolSchema{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	return req
}

// logHeader records what the model is told besides the conversation, when it is
// told it for the first time or something changed.
func (s *Session) logHeader(to target, p *registry.Prompt) error {
	tools := make([]any, len(p.Tools))
	for i, t := range p.Tools {
		tools[i] = session.Data("name", t.Name, "description", t.Description, "parameters", t.Parameters)
	}
	header := session.Data("config", to.headerConfig(), "system", p.System, "tools", tools)
	reason := "initial"
	if !s.lastHeader.IsUndefined() {
		if s.lastHeader.Equal(header) {
			return nil
		}
		reason = "change"
	}
	s.lastHeader = header
	_, err := s.append(session.TypeRequestHeader, session.Data("header", header, "reason", reason))
	return err
}

// answer is what one model request gave.
type answer struct {
	acc       model.Accumulator
	chunkSeqs []int64
	cancelled bool
	failure   error
}

// request asks the model, again when it fails in a way that may heal. No call of
// an answer runs before the answer is whole, so nothing runs twice.
func (s *Session) request(ctx context.Context, step int64, from model.Provider, req model.Request) (*answer, error) {
	for attempt := 1; ; attempt++ {
		a, err := s.stream(ctx, step, from, req)
		if err != nil || a.cancelled || a.failure == nil {
			return a, err
		}
		retry, giveUp := s.cfg.Backoff.Next(attempt, a.failure)
		if giveUp != nil {
			a.failure = giveUp
			return a, nil
		}
		// The failed attempt stays in the log; this event says that it counts no
		// more, to people as to whoever reads the log.
		if _, err := s.append(session.TypeRetry, session.Data("turn", s.turn, "step", step,
			"attempt", retry.Attempt, "maxAttempts", retry.Max, "delayMs", retry.Wait.Milliseconds(), "failure", retry.Failure.Value())); err != nil {
			return nil, logFailure(err)
		}
		if retry.Sleep(ctx) != nil {
			a.cancelled = true
			return a, nil
		}
	}
}

// requestShorter asks once more when the conversation was too long and could be
// made shorter; else it gives what it was given.
func (s *Session) requestShorter(ctx context.Context, step int64, to target, p *registry.Prompt, refused *answer) (*answer, error) {
	shorter, err := s.compactOverflow(ctx, step, to, p, refused.failure)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		refused.cancelled = true
		return refused, nil
	case !shorter:
		return refused, nil
	}
	if len(refused.chunkSeqs) > 0 {
		// Something of the refused answer was shown: say that it counts no more.
		if _, err := s.append(session.TypeRetry, session.Data("turn", s.turn, "step", step, "attempt", 2, "maxAttempts", 2,
			"delayMs", 0, "failure", model.AsError(refused.failure).Value())); err != nil {
			return nil, logFailure(err)
		}
	}
	return s.request(ctx, step, to.provider, s.newRequest(to, p))
}

// stream plays the model's answer into the log, chunk by chunk.
func (s *Session) stream(ctx context.Context, step int64, from model.Provider, req model.Request) (*answer, error) {
	a := &answer{}
	turnStep := session.Data("turn", s.turn, "step", step)
	for chunk, err := range from.Stream(ctx, req) {
		if ctx.Err() != nil {
			a.cancelled = true
			return a, nil
		}
		if err == nil {
			err = a.acc.Add(chunk)
		}
		if err != nil {
			a.failure = err
			return a, nil
		}
		ev, err := s.append(session.TypeAssistantChunk, turnStep.With("chunk", chunk.Value()))
		if err != nil {
			return nil, logFailure(err)
		}
		a.chunkSeqs = append(a.chunkSeqs, ev.Seq)
	}
	switch fin := a.acc.Finish(); {
	case ctx.Err() != nil:
		a.cancelled = true
	case fin == nil:
		a.failure = &model.Error{Code: "INCOMPLETE", Message: "the model's answer ended without a finish; try the prompt again", Retryable: true}
	case fin.Failure != nil:
		a.failure = fin.Failure
	case fin.Kind == model.FinishError || fin.Kind == model.FinishAborted:
		a.failure = &model.Error{Code: "INCOMPLETE", Message: "the model's answer ended with " + string(fin.Kind) + "; try the prompt again"}
	}
	return a, nil
}

// finish logs the whole message and runs its calls.
func (s *Session) finish(ctx context.Context, step int64, to target, a *answer) (stepOutcome, error) {
	msg := a.acc.Message(to.provider.ProviderID(), to.model)
	calls := s.uniqueCalls(msg.Content)
	data := session.Data("turn", s.turn, "step", step, "content", model.PartsValue(msg.Content),
		"provenance", session.Data("provider", msg.Provider, "model", msg.Model))
	if u := a.acc.Usage(); u != nil {
		data = data.With("usage", u.Value())
	}
	if _, err := s.append(session.TypeAssistantMessage, data, a.chunkSeqs...); err != nil {
		return 0, logFailure(err)
	}
	if u := a.acc.Usage(); u != nil {
		s.spend(to.provider.ProviderID(), to.model, u)
		if err := s.logUsage(step, to, u.Context()); err != nil {
			return 0, err
		}
	}
	kind := a.acc.Finish().Kind
	if !kind.Whole() {
		// A call of an answer that was cut may be a fragment: it never runs.
		if err := s.refuseCalls(ctx, step, calls, kind); err != nil {
			return 0, logFailure(err)
		}
		if kind == model.FinishMaxTokens {
			return stepMaxTokens, nil
		}
		return stepRefused, nil
	}
	if len(calls) == 0 {
		return stepDone, nil
	}
	return s.runCalls(ctx, step, calls)
}

// uniqueCalls gives every call of the message an id that is unique in the
// session, in the message itself, so that what is announced, asked about,
// logged and answered is one id.
func (s *Session) uniqueCalls(parts []model.Part) []model.Part {
	var calls []model.Part
	for i := range parts {
		if parts[i].Type != model.PartToolCall {
			continue
		}
		base := parts[i].ID
		if base == "" {
			base = "call"
		}
		id := base
		for n := 2; ; n++ {
			if _, taken := s.callIDs[id]; !taken && (parts[i].ID != "" || id != base) {
				break
			}
			id = base + "_" + strconv.Itoa(n)
		}
		s.callIDs[id] = struct{}{}
		parts[i].ID = id
		calls = append(calls, parts[i])
	}
	return calls
}

func (s *Session) runCalls(ctx context.Context, step int64, parts []model.Part) (stepOutcome, error) {
	sink := &logSink{s: s, step: step, seqs: make([]int64, len(parts))}
	calls := make([]pipeline.Call, len(parts))
	for i, p := range parts {
		calls[i] = pipeline.Call{
			ID: p.ID, Name: p.Name, RawArguments: p.Arguments, Agent: s,
			OnRunning: func(e *registry.Execution) { sink.started(e.CallID()) },
			Emit: func(eventType string, data jsonvalue.Value) error {
				_, err := s.append(eventType, data)
				return err
			},
			Output: func(chunk []byte) { s.CallOutput(p.ID, chunk) },
		}
	}
	out, err := s.cfg.Pipeline.RunBatch(ctx, calls, sink)
	if err != nil {
		return 0, logFailure(err)
	}
	s.parked = append(s.parked, out.Parked...)
	switch {
	case out.Cancelled || ctx.Err() != nil:
		return stepCancelled, nil
	case out.ConcludesTurn:
		return stepDone, nil
	}
	return stepContinue, nil
}

// refuseCalls logs calls that are not run with the reason as their results.
func (s *Session) refuseCalls(ctx context.Context, step int64, parts []model.Part, kind model.FinishKind) error {
	sink := &logSink{s: s, step: step, seqs: make([]int64, len(parts))}
	why := "tool call was not executed: the answer it belongs to was cut off by the token limit"
	if kind != model.FinishMaxTokens {
		why = "tool call was not executed: the provider ended the answer it belongs to (" + string(kind) + ")"
	}
	for i, p := range parts {
		call := pipeline.Call{ID: p.ID, Name: p.Name, RawArguments: p.Arguments, Agent: s}
		if err := sink.AppendCall(ctx, i, call); err != nil {
			return err
		}
		res := registry.Failure(registry.ErrorInfo{Message: why, Name: "ToolCallTruncatedError", Code: "TOOL_CALL_TRUNCATED"})
		if err := sink.AppendResult(ctx, i, call, nil, res); err != nil {
			return err
		}
	}
	return nil
}

// logSink is where the scheduler's calls and results go: the session log.
type logSink struct {
	s    *Session
	step int64
	seqs []int64 // the seq of each call's tool/call event
}

// AppendCall logs tool/call; the event's seq is what the result refers to.
func (k *logSink) AppendCall(_ context.Context, i int, c pipeline.Call) error {
	ev, err := k.s.append(session.TypeToolCall, session.Data(
		"turn", k.s.turn, "step", k.step, "callId", c.ID, "name", c.Name, "arguments", c.RawArguments))
	k.seqs[i] = ev.Seq
	return err
}

// started logs that a body is about to run. Its failure shows at the next append.
func (k *logSink) started(callID string) {
	if _, err := k.s.append(TypeToolStart, session.Data("turn", k.s.turn, "step", k.step, "callId", callID)); err != nil {
		k.s.cfg.Logger.Error("the start of a tool call could not be logged", "call", callID, "err", err)
	}
}

// AppendResult logs tool/result, citing its call.
func (k *logSink) AppendResult(_ context.Context, i int, c pipeline.Call, _ *registry.Execution, r *registry.Result) error {
	k.s.live.forget(c.ID)
	data := session.Data("turn", k.s.turn, "step", k.step, "callId", c.ID, "name", c.Name,
		"content", content.ToValue(r.Content()), "isError", r.IsError())
	if info := r.ErrorInfo(); info.Code != "" {
		data = data.With("error", session.Data("name", info.Name, "code", info.Code))
	}
	if meta := r.Meta(); !meta.IsUndefined() {
		data = data.With("meta", meta)
	}
	_, err := k.s.append(session.TypeToolResult, data, k.seqs[i])
	return err
}

// AppendContexts logs what tools and listeners added for the model to read.
func (k *logSink) AppendContexts(_ context.Context, contexts []registry.Context) error {
	drafts := make([]session.Draft, len(contexts))
	for i, c := range contexts {
		drafts[i] = contextDraft(c)
	}
	_, err := k.s.cfg.Log.AppendAll(drafts)
	return err
}

// TypeToolStart marks in the log that a call's body is about to run, which is
// when an editor sees the call in progress. It is this program's own addition
// to the recorded vocabulary.
const TypeToolStart = "tool/start"
