package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Answer is what a person said to a permission question.
type Answer int

// The answers. The zero value grants nothing. Those with a lifetime are
// remembered.
const (
	AnswerUnavailable Answer = iota // nobody could be asked
	AnswerReject
	AnswerRejectSession
	AnswerAllowOnce
	AnswerAllowSession
	AnswerAllowProject
	AnswerCancelled
)

// Lasting is an answer that is remembered, as it can be offered.
type Lasting struct {
	Answer Answer
	Label  string // what it covers and for how long
	Key    string // opaque: the same for whoever remembers it
}

// Question is one permission question.
type Question struct {
	Session   *Session
	Execution *registry.Execution
	Reason    string // for the person only; may be empty
	// CardID is the call whose card the question is about, where that is not the
	// execution's own id; see Card.
	CardID string
	// Chain names the subagents between Session and the call, the outermost first.
	Chain []string
	// Lasting are the answers that would be remembered, where that can be
	// offered. Of those that allow, the one to prefer comes first.
	Lasting []Lasting
	// Sent is called once the question has been put.
	Sent func()
}

// lasting gives what an answer was offered to cover; ok is false for one that may
// not be given to the question.
func (q Question) lasting(a Answer) (l Lasting, ok bool) {
	switch a {
	case AnswerRejectSession, AnswerAllowSession, AnswerAllowProject:
		i := slices.IndexFunc(q.Lasting, func(l Lasting) bool { return l.Answer == a })
		if i < 0 {
			return Lasting{}, false
		}
		return q.Lasting[i], true
	}
	return Lasting{}, true
}

// Asker puts a question to the person. It returns when there is an answer or ctx
// ends, with the cause of ctx as its error then. Any other error means that the
// question could not be put, or its answer not be understood.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// BadAnswerError is an answer to a permission question that means nothing. The
// call is not run, and the model is told why: nobody has rejected it.
type BadAnswerError struct{ Why string }

// Error says what was wrong with the answer.
func (e *BadAnswerError) Error() string { return e.Why }

// Grants remembers what a person allowed or rejected for longer than once. It is
// safe for concurrent use.
type Grants interface {
	// Offer gives the answers to this question that can be remembered.
	Offer(exec *registry.Execution) []Lasting
	// Remember records an answer as Offer gave it: what it covers is what the
	// person has read, whatever the call has come to mean while it was asked
	// about. Its error says what could not be saved; the answer holds all the
	// same.
	Remember(exec *registry.Execution, l Lasting) error
	// Changed is closed when what is remembered changes the next time.
	Changed() <-chan struct{}
	// List gives what is remembered: for the session, then for the project, the
	// oldest first. The error says why the project's cannot be read.
	List() ([]Remembered, error)
	// Revoke takes back an entry of List.
	Revoke(x Remembered) error
	// Keep makes what was allowed for the session last for the project.
	Keep(x Remembered) error
	// SavedIn is the file with what is remembered for the project; "" when
	// nothing can be.
	SavedIn() string
}

// Remembered is one answer that was given for longer than once.
type Remembered struct {
	// Number is what people call it by. It stays the same while the session is
	// open.
	Number   int
	Key      string // opaque: what was answered about
	Label    string // the same for people: "git push"
	Rejected bool
	Project  bool      // for the project; else for the session
	At       time.Time // zero when that is not known
	Session  string    // in which it was answered; "" when that is not known
}

// Approver routes the pipeline's questions to the session whose call it is. It
// is the pipeline.Approver of the whole program.
type Approver struct{}

// RequestApproval asks the person behind the call's session and records question
// and decision in the log (rule R5.12). A call without a session of this program
// has no channel.
func (Approver) RequestApproval(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	s, ok := req.Execution.Agent().(*Session)
	if !ok {
		return pipeline.Unavailable, nil
	}
	return s.approve(ctx, req)
}

func (s *Session) approve(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	id := session.NewID()
	asked := session.Data("id", id, "toolName", req.Execution.Name(), "callId", req.Execution.CallID())
	if req.Reason != "" {
		asked = asked.With("reason", jsonvalue.String(req.Reason))
	}
	if _, err := s.append(session.TypeApprovalAsked, asked); err != nil {
		return "", err
	}
	outcome, failure := s.ask(ctx, req)
	if _, err := s.append(session.TypeApprovalDecided, session.Data("id", id, "outcome", string(outcome))); err != nil {
		return "", err
	}
	if failure != nil {
		return "", pipeline.NewError("ApprovalError", "APPROVAL_FAILED",
			fmt.Sprintf("tool %q was not run: the permission request got no usable answer (%s); nobody has rejected it", req.Execution.Name(), failure.Why))
	}
	return outcome, nil
}

// ask asks the person, unless what is remembered answers the question, before it
// is put or while it is open.
func (s *Session) ask(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, *BadAnswerError) {
	for {
		switch {
		case ctx.Err() != nil:
			return pipeline.Cancelled, nil
		case s.cfg.NeverAsk != nil && s.cfg.NeverAsk():
			return pipeline.Rejected, nil
		case s.cfg.Asker == nil:
			return pipeline.Unavailable, nil
		}
		if outcome, settled := remembered(req); settled {
			return outcome, nil
		}
		q := Question{Session: s, Execution: req.Execution, Reason: req.Reason, Sent: req.Sent}
		if q.Sent == nil {
			q.Sent = func() {}
		}
		// Where only the person can answer, remembering would not stop the question.
		if s.cfg.Grants != nil && req.Again != nil {
			q.Lasting = s.cfg.Grants.Offer(req.Execution)
		}
		answer, err := s.put(ctx, q, req)
		var bad *BadAnswerError
		switch {
		case err == nil && (answer == AnswerReject || answer == AnswerRejectSession):
			return s.take(q, answer), nil // a no counts, however late
		case ctx.Err() != nil || errors.Is(err, context.Canceled):
			return pipeline.Cancelled, nil // a late yes changes nothing: the cancellation came first
		case errors.Is(err, errSettled):
			continue
		case errors.As(err, &bad):
			s.cfg.Logger.Warn("the answer to a permission question was not understood; the call is not run", "tool", req.Execution.Name(), "why", bad.Why)
			return pipeline.Unavailable, bad
		case err != nil:
			s.cfg.Logger.Warn("a permission question could not be asked", "tool", req.Execution.Name(), "err", err)
			return pipeline.Unavailable, nil
		}
		return s.take(q, answer), nil
	}
}

// errSettled is the cause with which a question is withdrawn that what is
// remembered has answered meanwhile.
var errSettled = errors.New("the question is answered by what is remembered")

// remembered says how a question is answered without the person.
func remembered(req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, bool) {
	if req.Again == nil {
		return "", false
	}
	switch now := req.Again(); {
	case now.IsAllow():
		return pipeline.AllowedOnce, true
	case now.IsDeny():
		return pipeline.Rejected, true
	}
	return "", false
}

// put puts the question, and withdraws it with errSettled when a sibling's
// answer settles it.
func (s *Session) put(ctx context.Context, q Question, req pipeline.ApprovalRequest) (Answer, error) {
	if s.cfg.Grants == nil || req.Again == nil {
		return s.cfg.Asker.Ask(ctx, q)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		for {
			changed := s.cfg.Grants.Changed() // before the look, so that nothing is missed
			if _, settled := remembered(req); settled {
				cancel(errSettled)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	})
	answer, err := s.cfg.Asker.Ask(ctx, q)
	if err != nil && errors.Is(context.Cause(ctx), errSettled) {
		err = errSettled
	}
	return answer, err
}

// take makes an answer the outcome, and remembers it where that was offered.
func (s *Session) take(q Question, answer Answer) pipeline.ApprovalOutcome {
	lasting, offered := q.lasting(answer)
	if !offered {
		s.cfg.Logger.Warn("a permission question was answered with something that was not offered; the call is not run", "tool", q.Execution.Name())
		return pipeline.Unavailable
	}
	switch answer {
	case AnswerAllowSession, AnswerAllowProject, AnswerRejectSession:
		if err := s.cfg.Grants.Remember(q.Execution, lasting); err != nil {
			s.cfg.Logger.Warn("what was answered could not be saved", "tool", q.Execution.Name(), "err", err)
		}
	}
	switch answer {
	case AnswerAllowOnce, AnswerAllowSession, AnswerAllowProject:
		return pipeline.AllowedOnce
	case AnswerReject, AnswerRejectSession:
		return pipeline.Rejected
	case AnswerCancelled:
		return pipeline.Cancelled
	default:
		return pipeline.Unavailable
	}
}
