package pipeline

import (
	"errors"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

type postKind uint8

const (
	postUndecided postKind = iota // the zero PostDecision: refused
	postAccept
	postBlock
)

// PostDecision is what a post-execute listener says about a result. It is one
// of [Accept] and [Block]; the zero value is neither and fails the call
// (rules R5.29, R5.32).
type PostDecision struct {
	kind       postKind
	content    []content.Block
	hasContent bool
	value      jsonvalue.Value
	contexts   []registry.Context
}

// Accept keeps the result; WithContent or WithValue replace a part of it (rule R5.29).
func Accept() PostDecision { return PostDecision{kind: postAccept} }

// Block turns the result into a failure with corrective feedback (rule R5.30).
func Block(feedback ...content.Block) PostDecision {
	return PostDecision{kind: postBlock, content: slices.Clone(feedback), hasContent: true}
}

// WithContent replaces what the model reads. On a failure the error stays (rule R5.29).
func (d PostDecision) WithContent(blocks ...content.Block) PostDecision {
	d.content, d.hasContent = slices.Clone(blocks), true
	return d
}

// WithValue replaces the value of a success; it is validated and rendered
// again. It excludes WithContent (rule R5.29, decision 9).
func (d PostDecision) WithValue(v jsonvalue.Value) PostDecision {
	d.value = v
	return d
}

// WithContexts adds context for the model after the results of the step (rule R5.31).
func (d PostDecision) WithContexts(cs ...registry.Context) PostDecision {
	d.contexts = append(slices.Clone(d.contexts), cs...)
	return d
}

// IsAccept reports whether d keeps the result (rule R5.29).
func (d PostDecision) IsAccept() bool { return d.kind == postAccept }

// IsBlock reports whether d turns the result into a failure (rule R5.30).
func (d PostDecision) IsBlock() bool { return d.kind == postBlock }

// Content is the replaced content or the feedback; ok is false when there is none (rules R5.29, R5.30).
func (d PostDecision) Content() (blocks []content.Block, ok bool) {
	return slices.Clone(d.content), d.hasContent
}

// Value is the replaced value, Undefined when there is none (rule R5.29).
func (d PostDecision) Value() jsonvalue.Value { return d.value }

// Contexts is the context that the decision adds (rule R5.31).
func (d PostDecision) Contexts() []registry.Context { return slices.Clone(d.contexts) }

// The texts of malformed post decisions (rules R5.29, R5.32).
var (
	errPostObject   = errors.New("tools/post-execute must return a PostToolDecision object")
	errPostKind     = errors.New("tools/post-execute must return an accept or block decision")
	errPostContent  = errors.New("tools/post-execute accept content must be an array")
	errPostFeedback = errors.New("tools/post-execute block feedback must be an array")
	errPostAccept   = errors.New("tools/post-execute accept decision must contain only kind, content, value, and additionalContexts")
	errPostBlock    = errors.New("tools/post-execute block decision must contain only kind, feedback, and additionalContexts")
	errPostBoth     = errors.New("tools/post-execute accept decision cannot replace both value and content")
	errPostValue    = errors.New("tools/post-execute cannot replace the value of a failed result")
)

// PostDecisionFromValue reads a decision that comes from outside the process.
// Anything malformed is an error, for the listener to return: the call then
// fails (rule R5.32).
func PostDecisionFromValue(v jsonvalue.Value) (d PostDecision, err error) {
	if !v.IsObject() {
		return PostDecision{}, errPostObject
	}
	field, errField, errExtra := "content", errPostContent, errPostAccept
	switch v.GetString("kind") {
	case "accept":
		d = Accept()
	case "block":
		d = PostDecision{kind: postBlock}
		field, errField, errExtra = "feedback", errPostFeedback, errPostBlock
	default:
		return PostDecision{}, errPostKind
	}
	known := 1
	if list, ok := v.Lookup(field); ok {
		known++
		if d.content, err = content.ListFromValue(list); err != nil || !list.IsArray() {
			return PostDecision{}, errField
		}
		d.hasContent = true
	} else if d.kind == postBlock {
		return PostDecision{}, errField
	}
	if value, ok := v.Lookup("value"); ok && d.kind == postAccept {
		known++
		d.value = value
	}
	if cs, ok := v.Lookup("additionalContexts"); ok {
		known++
		if d.contexts, err = registry.ContextsFromValue(cs); err != nil {
			return PostDecision{}, err
		}
	}
	if v.Len() != known {
		return PostDecision{}, errExtra
	}
	return d, nil
}
