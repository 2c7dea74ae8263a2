package model

import (
	"fmt"
	"slices"
)

// Accumulator folds the chunks of one answer into the message they make. The
// zero value is ready. It is not safe for concurrent use.
//
// Blocks are tracked by index and may overlap. A block that was never started
// or never ended is tolerated: its content is what its deltas said. A block's
// end is authoritative for its content.
type Accumulator struct {
	blocks map[int]*block
	usage  *Usage
	finish *FinishReason
}

// block gathers one part. The deltas go to a byte slice, as adding to a string
// would copy a long answer once a chunk.
type block struct {
	Part
	deltas []byte
	ended  bool
}

// part is the block's content so far.
func (b *block) part() Part {
	p := b.Part
	switch {
	case b.ended:
	case p.Type == PartToolCall:
		p.Arguments = string(b.deltas)
	default:
		p.Text = string(b.deltas)
	}
	return p
}

// Add takes the next chunk. A chunk that cannot belong here (a delta of
// another kind than its block, anything after finish) is an *[Error] with code
// PROTOCOL, and is not taken.
func (a *Accumulator) Add(c Chunk) error {
	if a.finish != nil {
		return protocolError("the model sent a %s chunk after it had finished", c.Type)
	}
	switch c.Type {
	case ChunkBlockStart:
		if _, open := a.blocks[c.Index]; open {
			return protocolError("the model started block %d twice", c.Index)
		}
		a.block(c.Index, c.BlockType)
	case ChunkTextDelta:
		return a.delta(c, PartText)
	case ChunkReasoningDelta:
		return a.delta(c, PartReasoning)
	case ChunkToolCallDelta:
		return a.delta(c, PartToolCall)
	case ChunkBlockEnd:
		if c.Block == nil {
			return protocolError("the model ended block %d without its content", c.Index)
		}
		b := a.block(c.Index, c.Block.Type)
		if b.ended {
			return protocolError("the model ended block %d twice", c.Index)
		}
		if b.Type != c.Block.Type {
			return protocolError("the model ended block %d, a %s block, as %s", c.Index, b.Type, c.Block.Type)
		}
		*b = block{Part: *c.Block, ended: true}
	case ChunkUsage:
		a.usage = c.Usage
	case ChunkFinish:
		if c.Finish == nil {
			return protocolError("the model finished without a reason")
		}
		a.finish = c.Finish
	default:
		return protocolError("the model sent a chunk of unknown type %q", c.Type)
	}
	return nil
}

// block returns the block of that index, made if need be.
func (a *Accumulator) block(index int, t PartType) *block {
	b := a.blocks[index]
	if b == nil {
		if a.blocks == nil {
			a.blocks = make(map[int]*block)
		}
		b = &block{Part: Part{Type: t}}
		a.blocks[index] = b
	}
	return b
}

func (a *Accumulator) delta(c Chunk, t PartType) error {
	b := a.block(c.Index, t)
	if b.ended {
		return protocolError("the model sent a %s chunk for block %d, which had ended", c.Type, c.Index)
	}
	if b.Type != t {
		return protocolError("the model sent a %s chunk for block %d, which is a %s block", c.Type, c.Index, b.Type)
	}
	b.deltas = append(append(b.deltas, c.Text...), c.ArgumentsDelta...)
	if c.ID != "" {
		b.ID = c.ID
	}
	if c.Name != "" {
		b.Name = c.Name
	}
	return nil
}

// Content returns the blocks by ascending index: the content of the
// assistant/message event. Empty text and reasoning blocks are left out, as
// servers refuse them when they are sent back.
func (a *Accumulator) Content() []Part {
	parts := make([]Part, 0, len(a.blocks))
	for _, i := range a.indexes() {
		b := a.blocks[i].part()
		if (b.Type == PartText || b.Type == PartReasoning) && b.Text == "" && b.Extra.IsUndefined() {
			continue
		}
		parts = append(parts, b)
	}
	return parts
}

// ToolCalls returns the calls in the model's order. Run them only if the
// answer is whole (see [FinishKind.Whole]).
func (a *Accumulator) ToolCalls() []Part {
	return Message{Content: a.Content()}.ToolCalls()
}

// Text returns the text so far, without reasoning.
func (a *Accumulator) Text() string { return Message{Content: a.Content()}.Text() }

// Usage returns the last reported usage; nil when there was none.
func (a *Accumulator) Usage() *Usage { return a.usage }

// Finish returns the reason the answer ended; nil while it has not.
func (a *Accumulator) Finish() *FinishReason { return a.finish }

// Message returns the answer so far as an assistant message.
func (a *Accumulator) Message(provider, modelID string) Message {
	return Message{Role: RoleAssistant, Content: a.Content(), Provider: provider, Model: modelID}
}

func (a *Accumulator) indexes() []int {
	is := make([]int, 0, len(a.blocks))
	for i := range a.blocks {
		is = append(is, i)
	}
	slices.Sort(is)
	return is
}

func protocolError(format string, args ...any) *Error {
	return &Error{Code: "PROTOCOL", Message: fmt.Sprintf(format, args...)}
}
