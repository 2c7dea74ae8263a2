package pipeline

import (
	"errors"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

type decisionKind uint8

const (
	undecided decisionKind = iota // the zero Decision: refused
	allow
	deny
	ask
)

// Decision is what a pre-execute listener says about a call. It is one of
// [Allow], [Deny] and [Ask]; the zero value is none of them, and a call that
// gets it fails without running (rule R5.14, decision 5). No decision can change
// the arguments.
type Decision struct {
	kind      decisionKind
	reason    string
	hasReason bool
	about     string
	again     *func() Decision // a pointer, so that decisions can be compared
}

// Allow lets the call go on; guards may still deny it (rule R5.8).
func Allow() Decision { return Decision{kind: allow} }

// Deny refuses the call with a reason that the model reads (rule R5.18).
func Deny(reason string) Decision { return Decision{kind: deny, reason: reason, hasReason: true} }

// Ask wants a person's approval. The reason is shown to the person only; where
// there is nobody to ask it becomes the reason of the denial (specification 5.3,
// rule R5.11).
func Ask(reason string) Decision { return Decision{kind: ask, reason: reason, hasReason: reason != ""} }

// Again gives an ask the way to judge the call once more, because a sibling's
// answer may have settled it meanwhile. f must be pure and quick; what it says
// counts as the listener's own word. An ask without it is only answered by the
// person (an addition to rule R5.11).
func (d Decision) Again(f func() Decision) Decision {
	d.again = &f
	return d
}

// About gives an ask what else it is about, for no person to read: which file a
// path leads to, say. The answer to a question that was put ahead of the call's
// turn only counts if that is the same by then (an addition to rule R13.4).
func (d Decision) About(what string) Decision {
	d.about = what
	return d
}

// IsAllow reports whether d lets the call go on (rule R5.8).
func (d Decision) IsAllow() bool { return d.kind == allow }

// IsDeny reports whether d refuses the call (rule R5.8).
func (d Decision) IsDeny() bool { return d.kind == deny }

// IsAsk reports whether d wants approval (rule R5.8).
func (d Decision) IsAsk() bool { return d.kind == ask }

// Reason is the reason of a denial or an ask, "" when there is none (rules R5.11, R5.18).
func (d Decision) Reason() string { return d.reason }

// The texts of malformed decisions (rule R5.14).
var (
	errDecisionObject = errors.New("tools/pre-execute must return a PreToolDecision object")
	errDecisionAllow  = errors.New("tools/pre-execute allow decision must contain only kind")
	errDecisionDeny   = errors.New("tools/pre-execute deny decision must contain only kind and a string reason")
	errDecisionAsk    = errors.New("tools/pre-execute ask decision must contain only kind and an optional string reason")
	errDecisionKind   = errors.New("tools/pre-execute must return an allow, deny, or ask decision")
)

// DecisionFromValue reads a decision that comes from outside the process, such
// as a hook or a plugin. Anything but exactly one of the three is an error, for
// the listener to return: the call then fails and its body does not run
// (rule R5.14). A reason that is present but Undefined is accepted on an ask.
func DecisionFromValue(v jsonvalue.Value) (Decision, error) {
	if !v.IsObject() {
		return Decision{}, errDecisionObject
	}
	reason, isText := v.Get("reason").Str()
	_, hasReason := v.Lookup("reason")
	extra := v.Len() - 1
	if hasReason {
		extra--
	}
	switch v.GetString("kind") {
	case "allow":
		if extra != 0 || hasReason {
			return Decision{}, errDecisionAllow
		}
		return Allow(), nil
	case "deny":
		if extra != 0 || !isText {
			return Decision{}, errDecisionDeny
		}
		return Deny(reason), nil
	case "ask":
		if extra != 0 || hasReason && !isText && !v.Get("reason").IsUndefined() {
			return Decision{}, errDecisionAsk
		}
		return Decision{kind: ask, reason: reason, hasReason: isText}, nil
	}
	return Decision{}, errDecisionKind
}
