package model

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Role says whose turn a [Message] is.
type Role string

// The roles. A tool result is a message of its own; providers that want
// results inside a user message put them there.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Origin says which kind of session event a user message was folded from.
// Remote models need not care; the local model only obeys prompts.
type Origin string

// The origins of user messages.
const (
	OriginPrompt   Origin = "prompt"   // what the person typed
	OriginSteering Origin = "steering" // added while a turn was running
	OriginContext  Origin = "context"  // added by tools, hooks or the program
)

// Message is one entry of a conversation.
type Message struct {
	Role Role
	// Content is never empty in a folded conversation. An assistant message
	// holds reasoning, text and tool-call parts in the order the model made
	// them; a tool message the result's blocks.
	Content []Part

	// Origin is set on user messages only; empty counts as OriginPrompt.
	Origin Origin

	// Provider and Model name who wrote an assistant message; empty when the
	// log does not say. Reasoning is only worth resending to its author.
	Provider, Model string

	// ToolCallID, ToolName and IsError belong to tool messages: the call that
	// is answered, its tool (empty when unknown), and whether it failed.
	ToolCallID, ToolName string
	IsError              bool
}

// Text joins the text parts with line breaks; reasoning is left out.
func (m Message) Text() string {
	var parts []string
	for _, p := range m.Content {
		if p.Type == PartText {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// ToolCalls returns the tool-call parts in order.
func (m Message) ToolCalls() []Part {
	var calls []Part
	for _, p := range m.Content {
		if p.Type == PartToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// PartType tags a [Part]. Types beyond the constants are kept verbatim.
type PartType string

// The part types this program makes or understands.
const (
	PartText      PartType = "text"
	PartReasoning PartType = "reasoning"
	PartToolCall  PartType = "tool-call"
	PartImage     PartType = "image"
)

// Part is one block of a message.
type Part struct {
	Type PartType
	// Text is the text of a text or reasoning part.
	Text string
	// ID, Name and Arguments belong to a tool call. Arguments is the raw text
	// the model wrote, which need not be JSON.
	ID, Name, Arguments string
	// Extra holds every member of the block that the fields above do not, in
	// order: an image's mimeType and data, a reasoning block's signature.
	// Undefined when there is none.
	Extra jsonvalue.Value
}

// Text returns a text part.
func Text(s string) Part { return Part{Type: PartText, Text: s} }

// PartFromValue reads a content block. Any type is accepted; the members of
// text, reasoning and tool-call blocks must have the right types.
func PartFromValue(v jsonvalue.Value) (Part, error) {
	if !v.IsObject() {
		return Part{}, fmt.Errorf("a content block must be an object, not %s", v.Kind())
	}
	p := Part{Type: PartType(v.GetString("type"))}
	var known []string
	switch p.Type {
	case "":
		return Part{}, errors.New(`a content block must have a string "type"`)
	case PartText, PartReasoning:
		known = []string{"text"}
	case PartToolCall:
		known = []string{"id", "name", "arguments"}
	}
	extra := v.Without("type")
	for _, key := range known {
		s, ok := v.Get(key).Str()
		if !ok {
			return Part{}, fmt.Errorf("a %s block must have a string %q", p.Type, key)
		}
		extra = extra.Without(key)
		switch key {
		case "text":
			p.Text = s
		case "id":
			p.ID = s
		case "name":
			p.Name = s
		case "arguments":
			p.Arguments = s
		}
	}
	if extra.Len() > 0 {
		p.Extra = extra
	}
	return p, nil
}

// PartsFromValue reads an array of content blocks.
func PartsFromValue(v jsonvalue.Value) ([]Part, error) {
	if !v.IsArray() {
		return nil, fmt.Errorf("content must be an array of blocks, not %s", v.Kind())
	}
	parts := make([]Part, 0, v.Len())
	for i, block := range v.Elements() {
		p, err := PartFromValue(block)
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// Value is the block as the log holds it: the inverse of [PartFromValue].
func (p Part) Value() jsonvalue.Value {
	ms := []jsonvalue.Member{{Key: "type", Value: jsonvalue.String(string(p.Type))}}
	switch p.Type {
	case PartText, PartReasoning:
		ms = append(ms, str("text", p.Text))
	case PartToolCall:
		ms = append(ms, str("id", p.ID), str("name", p.Name), str("arguments", p.Arguments))
	}
	for k, x := range p.Extra.Members() {
		ms = append(ms, jsonvalue.Member{Key: k, Value: x})
	}
	return jsonvalue.Object(ms...)
}

// PartsValue is the blocks as a JSON array.
func PartsValue(parts []Part) jsonvalue.Value {
	vs := make([]jsonvalue.Value, len(parts))
	for i, p := range parts {
		vs[i] = p.Value()
	}
	return jsonvalue.Array(vs...)
}

// Image returns an image part's MIME type and base64 data, and whether p is
// an image that has both.
func (p Part) Image() (mimeType, data string, ok bool) {
	if p.Type != PartImage {
		return "", "", false
	}
	mimeType, data = p.Extra.GetString("mimeType"), p.Extra.GetString("data")
	return mimeType, data, mimeType != "" && data != ""
}

// maxWireDepth is how deep what is sent to a server may be nested: readers of
// JSON give up at 100 levels and more.
const maxWireDepth = 64

// ArgumentsObject is what a provider should send back as the arguments of an
// earlier call: the arguments when they are a JSON object that every server can
// read, else an empty one. Not every server reads numbers that no double holds,
// or what is nested very deeply; such a call was refused anyway.
// The raw text stays in the log; a request that repeated it would be refused
// by most servers from then on.
func (p Part) ArgumentsObject() jsonvalue.Value {
	if v, err := jsonvalue.ParseString(p.Arguments); err == nil && v.IsObject() && v.Depth() <= maxWireDepth && jsonvalue.CheckLossless(v) == nil {
		return v
	}
	return jsonvalue.Object()
}

// WithoutImages returns the conversation with each image part replaced by a
// line that says so, for models that accept only text. The input is not
// changed; it is returned as it is when there is no image.
func WithoutImages(messages []Message) []Message {
	var out []Message
	for i, m := range messages {
		for j, p := range m.Content {
			if p.Type != PartImage {
				continue
			}
			if out == nil {
				out = append([]Message(nil), messages...)
			}
			if &out[i].Content[0] == &m.Content[0] {
				out[i].Content = append([]Part(nil), m.Content...)
			}
			out[i].Content[j] = Text("[An image was here; this model accepts only text.]")
		}
	}
	if out == nil {
		return messages
	}
	return out
}

func str(key, s string) jsonvalue.Member {
	// The text may hold a lone surrogate that a model wrote as an escape; the
	// log keeps it.
	return jsonvalue.Member{Key: key, Value: jsonvalue.StringWTF8(s)}
}
