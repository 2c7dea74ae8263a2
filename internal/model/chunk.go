package model

import (
	"errors"
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// ChunkType tags a [Chunk].
type ChunkType string

// The chunk types.
const (
	ChunkBlockStart     ChunkType = "block-start"
	ChunkTextDelta      ChunkType = "text-delta"
	ChunkReasoningDelta ChunkType = "reasoning-delta"
	ChunkToolCallDelta  ChunkType = "tool-call-delta"
	ChunkBlockEnd       ChunkType = "block-end"
	ChunkUsage          ChunkType = "usage"
	ChunkFinish         ChunkType = "finish"
)

// Chunk is one piece of a streamed answer. Blocks are told apart by Index and
// may overlap: one may start before another has ended. Usage comes before
// finish, and nothing after finish.
type Chunk struct {
	Type ChunkType
	// Index numbers the block, from 0; meaningless for usage and finish.
	Index int
	// BlockType is set by block-start.
	BlockType PartType
	// Text is set by text-delta and reasoning-delta.
	Text string
	// ID, Name and ArgumentsDelta are set by tool-call-delta. ID and Name may
	// be missing once they have been given.
	ID, Name, ArgumentsDelta string
	// Block is the complete block; set by block-end.
	Block *Part
	// Usage and Finish are set by the chunks of those names.
	Usage  *Usage
	Finish *FinishReason
}

// StartChunk opens block index.
func StartChunk(index int, t PartType) Chunk {
	return Chunk{Type: ChunkBlockStart, Index: index, BlockType: t}
}

// TextChunk adds to text block index.
func TextChunk(index int, text string) Chunk {
	return Chunk{Type: ChunkTextDelta, Index: index, Text: text}
}

// ReasoningChunk adds to reasoning block index.
func ReasoningChunk(index int, text string) Chunk {
	return Chunk{Type: ChunkReasoningDelta, Index: index, Text: text}
}

// ToolCallChunk adds to tool-call block index.
func ToolCallChunk(index int, id, name, argumentsDelta string) Chunk {
	return Chunk{Type: ChunkToolCallDelta, Index: index, ID: id, Name: name, ArgumentsDelta: argumentsDelta}
}

// EndChunk closes block index with its complete content.
func EndChunk(index int, block Part) Chunk {
	return Chunk{Type: ChunkBlockEnd, Index: index, Block: &block}
}

// UsageChunk reports token counts.
func UsageChunk(u Usage) Chunk { return Chunk{Type: ChunkUsage, Usage: &u} }

// FinishChunk ends an answer.
func FinishChunk(k FinishKind) Chunk {
	return Chunk{Type: ChunkFinish, Finish: &FinishReason{Kind: k}}
}

// Value is the chunk as an assistant/chunk event holds it.
func (c Chunk) Value() jsonvalue.Value {
	ms := make([]jsonvalue.Member, 1, 5)
	ms[0] = str("type", string(c.Type))
	index := jsonvalue.Member{Key: "index", Value: jsonvalue.Int(int64(c.Index))}
	switch c.Type {
	case ChunkBlockStart:
		ms = append(ms, index, str("blockType", string(c.BlockType)))
	case ChunkTextDelta, ChunkReasoningDelta:
		ms = append(ms, index, str("text", c.Text))
	case ChunkToolCallDelta:
		ms = append(ms, index)
		if c.ID != "" {
			ms = append(ms, str("id", c.ID))
		}
		if c.Name != "" {
			ms = append(ms, str("name", c.Name))
		}
		ms = append(ms, str("argumentsDelta", c.ArgumentsDelta))
	case ChunkBlockEnd:
		ms = append(ms, index)
		if c.Block != nil {
			ms = append(ms, jsonvalue.Member{Key: "block", Value: c.Block.Value()})
		}
	case ChunkUsage:
		if c.Usage != nil {
			ms = append(ms, jsonvalue.Member{Key: "usage", Value: c.Usage.Value()})
		}
	case ChunkFinish:
		if c.Finish != nil {
			ms = append(ms, jsonvalue.Member{Key: "reason", Value: c.Finish.Value()})
		}
	}
	return jsonvalue.Object(ms...)
}

// ChunkFromValue reads what [Chunk.Value] writes. The members that the type
// needs must be there; others are ignored.
func ChunkFromValue(v jsonvalue.Value) (Chunk, error) {
	if !v.IsObject() {
		return Chunk{}, fmt.Errorf("a chunk must be an object, not %s", v.Kind())
	}
	c := Chunk{Type: ChunkType(v.GetString("type"))}
	if err := c.read(v); err != nil {
		return Chunk{}, fmt.Errorf("%s chunk: %w", c.Type, err)
	}
	return c, nil
}

func (c *Chunk) read(v jsonvalue.Value) error {
	switch c.Type {
	case ChunkBlockStart, ChunkTextDelta, ChunkReasoningDelta, ChunkToolCallDelta, ChunkBlockEnd:
		n, ok := v.Get("index").Int64()
		if !ok || n < 0 || n > maxIndex {
			return fmt.Errorf("needs a block number \"index\" from 0 to %d", maxIndex)
		}
		c.Index = int(n)
	}
	switch c.Type {
	case ChunkBlockStart:
		c.BlockType = PartType(v.GetString("blockType"))
		if c.BlockType == "" {
			return errors.New(`needs a string "blockType"`)
		}
	case ChunkTextDelta, ChunkReasoningDelta:
		return readString(v, "text", &c.Text, true)
	case ChunkToolCallDelta:
		return errors.Join(
			readString(v, "id", &c.ID, false),
			readString(v, "name", &c.Name, false),
			readString(v, "argumentsDelta", &c.ArgumentsDelta, true))
	case ChunkBlockEnd:
		p, err := PartFromValue(v.Get("block"))
		if err != nil {
			return err
		}
		c.Block = &p
	case ChunkUsage:
		u, err := UsageFromValue(v.Get("usage"))
		if err != nil {
			return err
		}
		c.Usage = &u
	case ChunkFinish:
		f, err := finishFromValue(v.Get("reason"))
		if err != nil {
			return err
		}
		c.Finish = &f
	case "":
		return errors.New(`needs a string "type"`)
	default:
		return errors.New("unknown type")
	}
	return nil
}

// maxIndex bounds block numbers, so that a broken stream cannot make a reader
// allocate by them.
const maxIndex = 1 << 20

func readString(v jsonvalue.Value, key string, into *string, required bool) error {
	x, given := v.Lookup(key)
	if !given && !required {
		return nil
	}
	s, ok := x.Str()
	if !ok {
		return fmt.Errorf("needs a string %q", key)
	}
	*into = s
	return nil
}
