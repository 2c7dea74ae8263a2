package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/compact"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Compaction says when a conversation is replaced by a summary of its own
// accord. The zero value does that at DefaultThreshold.
type Compaction struct {
	// Off leaves it to [Session.Compact].
	Off bool
	// Threshold is the percentage of the model's context window that makes it
	// time; 0 means DefaultThreshold.
	Threshold int
}

// DefaultThreshold leaves room for an answer and for what a step's results add.
const DefaultThreshold = 80

// The triggers of a compaction, in compact/start.
const (
	triggerManual   = "manual"   // the user asked for it
	triggerAuto     = "auto"     // the conversation neared the limit
	triggerOverflow = "overflow" // the provider said that it is too long
)

// Of the context window, in percent: what is kept of the conversation's end; the
// longest single message that is kept; the room for the transcript of a summary.
const (
	keepPercent       = 20
	keepLastPercent   = 50
	transcriptPercent = 70
)

// leastReplaced is the smallest part of a conversation, in tokens, for which a
// summary is made: what surrounds one takes its own room.
const leastReplaced = 250

// codeContextLength is how providers say that a conversation is too long.
const codeContextLength = "CONTEXT_LENGTH"

// ErrNothingToCompact says that the conversation is too short for a summary.
var ErrNothingToCompact = errors.New("there is nothing to compact yet: the conversation is too short")

// errNotShorter is the failure of a summary that would not help.
var errNotShorter = &model.Error{Code: "NOT_SHORTER", Message: "the summary would be as long as what it stands for, so everything was left as it is"}

// Compact replaces the older part of the conversation by a summary that the
// model makes, for the model alone: the log keeps everything. instructions are
// what the summary is to heed; may be empty. Like Prompt it must not run beside
// another turn. When it fails or ctx ends, the conversation is as it was; the
// error is then ErrNothingToCompact, ctx's, the provider's, or a *TurnError when
// the log cannot be written.
func (s *Session) Compact(ctx context.Context, instructions string) error {
	set := s.Settings()
	to := target{provider: s.cfg.Catalogue.provider(set.Provider), model: set.Model}
	if to.provider == nil {
		to.provider = s.cfg.Provider
	}
	done, err := s.compact(ctx, compaction{trigger: triggerManual, to: to, instructions: instructions})
	if err == nil && !done {
		return ErrNothingToCompact
	}
	return err
}

func (s *Session) infoOf(to target) model.Info {
	return s.describe(to.provider, to.provider.ProviderID(), to.model)
}

// compaction is one attempt.
type compaction struct {
	trigger      string
	to           target
	instructions string
	step         int64 // of the turn that runs; 0 outside of one
	overhead     int64 // tokens of a request besides the conversation, guessed
}

// compactIfFull replaces the older part of the conversation when the next
// request would come too near to the model's limit. What goes wrong in it is
// shown and does not stop the turn: the request may still fit.
func (s *Session) compactIfFull(ctx context.Context, step int64, to target, p *registry.Prompt) error {
	info := s.infoOf(to)
	if s.cfg.Compaction.Off || info.ContextWindow <= 0 || info.Literal {
		return nil
	}
	overhead := promptTokens(p)
	used := compact.Used(s.cfg.Log.Kept(), overhead)
	threshold := int64(s.cfg.Compaction.Threshold)
	if threshold <= 0 {
		threshold = DefaultThreshold
	}
	if used < info.ContextWindow*threshold/100 || used < s.full {
		return nil
	}
	_, err := s.compact(ctx, compaction{trigger: triggerAuto, to: to, step: step, overhead: overhead})
	var broken *TurnError
	if errors.As(err, &broken) {
		return err
	}
	s.full = 0
	if err != nil && ctx.Err() == nil {
		s.full = used + info.ContextWindow/20 // not again before much has been added
	}
	return nil
}

// compactOverflow replaces the older part of a conversation that the provider
// refused. It reports whether the request is worth repeating.
func (s *Session) compactOverflow(ctx context.Context, step int64, to target, p *registry.Prompt, refused error) (bool, error) {
	var e *model.Error
	if s.cfg.Compaction.Off || !errors.As(refused, &e) || e.Code != codeContextLength || s.infoOf(to).Literal {
		return false, nil
	}
	done, err := s.compact(ctx, compaction{trigger: triggerOverflow, to: to, step: step, overhead: promptTokens(p)})
	var broken *TurnError
	if errors.As(err, &broken) {
		return false, err
	}
	return done, nil
}

// promptTokens guesses what a prompt takes besides the conversation.
func promptTokens(p *registry.Prompt) int64 {
	n := compact.Tokens(p.System)
	for _, t := range p.Tools {
		n += compact.Tokens(t.Name) + compact.Tokens(t.Description) + compact.Tokens(t.Parameters.String())
	}
	return n
}

// compact asks for a summary and puts it in place. done is false when nothing is
// worth replacing. On an error nothing was replaced, and the log says how the
// compaction ended.
func (s *Session) compact(ctx context.Context, c compaction) (done bool, err error) {
	events := s.cfg.Log.Kept()
	info := s.infoOf(c.to)
	window := info.ContextWindow
	used := compact.Used(events, c.overhead)
	room := window * transcriptPercent / 100
	there := compact.Conversation(events)
	switch {
	case window <= 0 || c.trigger == triggerOverflow:
		// Nobody says what fits, or what they say is wrong: less than there is.
		window, room = there, max(there/2, 2000)
	case c.trigger == triggerManual:
		window = min(window, there*5/4) // who asks for it wants to see something go
	}
	plan, ok := compact.Choose(events, window*keepPercent/100, window*keepLastPercent/100)
	if !ok || plan.Tokens < leastReplaced {
		return false, nil
	}
	s.compactions++
	id := fmt.Sprintf("compaction-%d", s.compactions)
	start := session.Data("id", id, "trigger", c.trigger, "start", plan.Start(), "end", plan.End(), "tokens", used)
	if c.step > 0 {
		start = start.With("turn", jsonvalue.Int(s.turn)).With("step", jsonvalue.Int(c.step))
	}
	if c.instructions != "" {
		start = start.With("instructions", jsonvalue.String(c.instructions))
	}
	if _, err := s.append(session.TypeCompactStart, start); err != nil {
		return false, logFailure(err)
	}
	end := session.Data("id", id)
	summary, err := s.summarise(ctx, id, c, info, plan, room)
	var blocks []content.Block
	if err == nil {
		blocks = compact.Message(events, plan, summary)
		if taken := compact.MessageTokens(model.Message{Content: []model.Part{model.Text(content.JoinText(blocks))}}); taken >= plan.Tokens {
			err = errNotShorter
		}
	}
	if err != nil {
		end = end.With("status", jsonvalue.String(session.CompactFailed)).With("error", model.AsError(err).Value())
		if ctx.Err() != nil {
			err, end = ctx.Err(), session.Data("id", id, "status", session.CompactCancelled)
		}
		if _, failed := s.append(session.TypeCompactEnd, end); failed != nil {
			return false, logFailure(failed)
		}
		return false, err
	}
	// Others append meanwhile, such as jobs that end: the summary's seq is known
	// once it is there. A log that ends with it has replaced nothing.
	written, err := s.append(session.TypeCompactSummary, session.Data("id", id, "content", content.ToValue([]content.Block{content.Text(summary)})))
	if err != nil {
		return false, logFailure(err)
	}
	message := session.Draft{
		Type: session.TypeContextMessage, SurfaceOp: session.Replace(plan.Start(), plan.End()), Sources: []int64{written.Seq},
		Data: session.Data("content", content.ToValue(blocks), "source", session.Data("kind", session.SourceCompaction, "id", id)),
	}
	left := used - plan.Tokens + compact.Tokens(content.JoinText(blocks))
	_, err = s.cfg.Log.AppendAll([]session.Draft{
		message,
		{Type: session.TypeCompactEnd, Data: end.With("status", jsonvalue.String(session.CompactCompleted)).With("tokens", jsonvalue.Int(max(left, 0)))},
	})
	if err != nil {
		return false, logFailure(err)
	}
	return true, s.logUsage(c.step, c.to, max(left, 0))
}

// summarise asks the model. A transcript that is too long is shortened and asked
// about again, a failure that may heal is repeated like any request.
func (s *Session) summarise(ctx context.Context, id string, c compaction, info model.Info, plan compact.Plan, room int64) (string, error) {
	for attempt := 1; ; attempt++ {
		req := compact.Request(plan, c.instructions, room)
		req.SessionID, req.Cwd, req.Model = s.header.ID, s.header.Cwd, c.to.model
		if info.MaxOutput > 0 {
			req.MaxTokens = min(req.MaxTokens, info.MaxOutput)
		}
		if info.ContextWindow > 0 {
			req.MaxTokens = min(req.MaxTokens, max(info.ContextWindow/5, 256))
		}
		if len(info.Efforts) > 0 {
			req.ReasoningEffort = info.Efforts[0] // thinking would eat the room of the summary
		}
		pieces := &summaryPieces{s: s, id: id, attempt: attempt}
		text, err := s.askForText(ctx, c.to.provider, req, pieces.add)
		if err == nil || ctx.Err() != nil {
			return text, err
		}
		var e *model.Error
		if errors.As(err, &e) && e.Code == codeContextLength && attempt < s.cfg.Backoff.Attempts() {
			room /= 2
			continue
		}
		retry, giveUp := s.cfg.Backoff.Next(attempt, err)
		if giveUp != nil {
			return "", giveUp
		}
		if _, err := s.append(session.TypeRetry, session.Data("turn", s.turn, "step", c.step, "compaction", true,
			"attempt", retry.Attempt, "maxAttempts", retry.Max, "delayMs", retry.Wait.Milliseconds(), "failure", retry.Failure.Value())); err != nil {
			return "", logFailure(err)
		}
		if err := retry.Sleep(ctx); err != nil {
			return "", err
		}
	}
}

// askForText asks once and gives the text of the answer, and its pieces to said.
func (s *Session) askForText(ctx context.Context, from model.Provider, req model.Request, said func(string) error) (string, error) {
	var acc model.Accumulator
	for chunk, err := range from.Stream(ctx, req) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err == nil {
			err = acc.Add(chunk)
		}
		if err == nil && chunk.Type == model.ChunkTextDelta {
			err = said(chunk.Text)
		}
		if err != nil {
			return "", err
		}
	}
	s.spend(from.ProviderID(), req.Model, acc.Usage())
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	text := acc.Message("", "").Text()
	switch fin := acc.Finish(); {
	case fin == nil:
		return "", &model.Error{Code: "INCOMPLETE", Message: "the model's summary ended without a finish", Retryable: true}
	case fin.Failure != nil:
		return "", fin.Failure
	case fin.Kind == model.FinishMaxTokens && text != "":
		return text + "\n\n[The summary was cut here by the token limit.]", nil
	case !fin.Kind.Whole():
		return "", &model.Error{Code: "INCOMPLETE", Message: "the model's summary ended with " + string(fin.Kind)}
	case text == "":
		return "", &model.Error{Code: "INCOMPLETE", Message: "the model gave no summary"}
	}
	return text, nil
}
