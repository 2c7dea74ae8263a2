// Package elicit is the seam between whoever has a question for the user and
// whoever can put it to them. Tools ask their agent for an [Elicitor]; the
// bridge is one.
package elicit

import (
	"context"
	"errors"
)

// Question is one question to the user.
type Question struct {
	// Text is the question itself. Mandatory.
	Text string
	// Header is a short heading; may be empty.
	Header string
	// Detail is longer text to read before answering, such as a plan; may be empty.
	Detail string
	// Options can be chosen; none means that the answer is free text.
	Options []Option
	// Multi allows more than one option.
	Multi bool
}

// Option is one answer that can be chosen. Label is what comes back.
type Option struct{ Label, Description string }

// Answer is what the user said. A custom answer stands for itself: Selected is
// empty then. Selected is not checked against the options.
type Answer struct {
	Selected []string
	Custom   string
}

// Elicitor puts questions to the user. Elicit waits as long as the one who puts
// them allows; the end of ctx withdraws the question, with ctx's error. The other errors
// are those of this package, possibly wrapped. callID is the call that asks, and
// rootID the one of the model's that it is part of, often the same.
type Elicitor interface {
	Elicit(ctx context.Context, callID, rootID string, q Question) (Answer, error)
}

// How asking can fail besides the end of the context.
var (
	// ErrNoChannel: there is nobody to ask, or no way in which this question
	// could be shown.
	ErrNoChannel = errors.New("no channel to the user can show this question")
	// ErrDismissed: the user declined or closed the question.
	ErrDismissed = errors.New("the user dismissed the question")
	// ErrNoAnswer: the user accepted without choosing or writing anything.
	ErrNoAnswer = errors.New("the user gave no answer")
	// ErrUnanswered: no answer came within the time that a question may take.
	ErrUnanswered = errors.New("nobody answered the question in time")
	// ErrFailed: the client answered with an error, or with something that is
	// no answer.
	ErrFailed = errors.New("the client failed to ask the question")
)
