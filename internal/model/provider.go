// Package model is the seam between the agent loop and whatever answers its
// requests: a remote API, a recording, or the built-in local model. It holds
// the data both sides exchange and nothing that talks to a network; each
// provider lives in a package of its own below this one.
package model

import (
	"context"
	"iter"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Provider answers model requests. Implementations are safe for concurrent
// use by several sessions.
type Provider interface {
	// ProviderID is the stable name the configuration and the session log use,
	// such as "deepseek".
	ProviderID() string
	// Models lists what can be chosen, best default first. It may ask a server,
	// so it observes ctx.
	Models(ctx context.Context) ([]Info, error)
	// Stream sends one request and yields the answer chunk by chunk.
	//
	// A complete answer ends with a finish chunk. A failure is yielded once,
	// with a zero Chunk, and ends the stream: an *[Error] when the provider
	// failed, ctx.Err() (possibly wrapped) when ctx ended first. What was
	// yielded before a failure is a partial answer. Nothing is sent before the
	// sequence is ranged over, and it can be ranged over once.
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Describer is implemented by a provider that can say at once what is known of
// a model, whether or not its list of models was asked for: from the
// configuration, what the server said so far, and tables.
type Describer interface {
	// Describe never blocks. Of a model about which nothing is known only the ID
	// is set.
	Describe(id string) Info
}

// CommandProvider is implemented by a provider whose prompts have slash
// commands; the bridge advertises them, so that editors let them through.
type CommandProvider interface {
	Commands() []Command
}

// Command describes one slash command.
type Command struct {
	// Name comes without the slash.
	Name string
	// Description is one line for a menu.
	Description string
	// Hint says what may follow the name; "" when nothing may.
	Hint string
}

// Info describes a model that can be chosen.
type Info struct {
	// ID is what Request.Model takes.
	ID string
	// Name is what people see; ID when empty (see [Info.Title]).
	Name string
	// Description is one line, or empty.
	Description string
	// ContextWindow and MaxOutput are counted in tokens; 0 means unknown.
	ContextWindow int64
	MaxOutput     int64
	// Images says whether the model accepts image parts.
	Images bool
	// Reasoning says whether the model produces reasoning parts.
	Reasoning bool
	// Literal says that the model reads the conversation to the letter, so that
	// none of it may be replaced by a summary while a turn runs.
	Literal bool
	// Efforts are the words that Request.ReasoningEffort takes for the model,
	// from least to most; empty when it has no such levels.
	Efforts []string
}

// Title is the Name, or the ID when there is none.
func (i Info) Title() string {
	if i.Name != "" {
		return i.Name
	}
	return i.ID
}

// Request is one question to a model.
type Request struct {
	// SessionID tells sessions apart; providers may use it as a cache key, and
	// a recording binds its script to it.
	SessionID string
	// Cwd is the session's working directory, which a recording may speak of;
	// nothing sends it.
	Cwd string
	// Model is an Info.ID.
	Model string
	// System is the system prompt; may be empty.
	System string
	// Tools are what the model may call, in catalogue order.
	Tools []ToolSchema
	// Messages is the conversation, oldest first: session.Messages' fold.
	Messages []Message
	// MaxTokens bounds the answer, in tokens; 0 leaves it to the provider.
	MaxTokens int64
	// Purpose says what the request is for, when it is not a step of a turn. A
	// remote model need not care.
	Purpose Purpose
	// ReasoningEffort is a provider's word such as "low" or "high"; "" leaves
	// it to the provider.
	ReasoningEffort string
}

// Purpose is why a model is asked.
type Purpose string

// PurposeSummary asks for a summary of a conversation, see package compact.
const PurposeSummary Purpose = "summary"

// ToolSchema is a tool as the model is told about it.
type ToolSchema struct {
	Name        string
	Description string
	// Parameters is a JSON Schema with an object root.
	Parameters jsonvalue.Value
}

// Tool returns the schema of that name, and whether the request offers it.
func (r *Request) Tool(name string) (ToolSchema, bool) {
	for _, t := range r.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return ToolSchema{}, false
}
