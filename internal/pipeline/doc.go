// Package pipeline takes one tool call through its stages, and a batch of calls
// through one after the other.
//
// The stages: the call is logged (by the caller), its identity is materialised
// and frozen, pre-execute listeners allow, deny or ask, a person approves what
// was asked, guards have the last word, wrappers surround the body, the body's
// value is validated and rendered, post-execute listeners accept or block, the
// tool finalises its content, and observers see the frozen result.
//
// Whatever goes wrong on the way becomes a failed result: [Pipeline.Execute]
// always returns one, and nothing that a listener, a tool or a model does makes
// it panic.
package pipeline
