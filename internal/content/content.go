// Package content holds the model-facing content of messages and tool results:
// a list of immutable blocks, most of them text.
package content

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Block is one immutable content block: a JSON object with a string "type".
// The zero Block is not valid.
type Block struct {
	v jsonvalue.Value
}

// Text returns a text block. Bytes that are not UTF-8 become U+FFFD.
func Text(s string) Block { return Block{noText.With("text", jsonvalue.String(s))} }

// noText is a text block without a text. All text blocks share its keys: a long
// answer has a thousand of them.
var noText = jsonvalue.Object(
	jsonvalue.Member{Key: "type", Value: jsonvalue.String("text")},
	jsonvalue.Member{Key: "text", Value: jsonvalue.String("")},
)

// FromValue checks that v is a block: an object with a non-empty string type,
// and a string text when the type is text. Unknown types are kept as they are.
func FromValue(v jsonvalue.Value) (Block, error) {
	if v.Kind() != jsonvalue.ObjectKind {
		return Block{}, fmt.Errorf("a content block must be an object, not %s", v.Kind())
	}
	switch v.GetString("type") {
	case "":
		return Block{}, fmt.Errorf("a content block must have a string \"type\"")
	case "text":
		if _, ok := v.Get("text").Str(); !ok {
			return Block{}, fmt.Errorf("a text block must have a string \"text\"")
		}
	}
	return Block{v}, nil
}

// Type returns the block's type, such as "text" or "image"; "" for the zero Block.
func (b Block) Type() string { return b.v.GetString("type") }

// Text returns the text of a text block, and whether b is one.
func (b Block) Text() (string, bool) {
	if b.Type() != "text" {
		return "", false
	}
	return b.v.Get("text").Str()
}

// Value returns the block as JSON.
func (b Block) Value() jsonvalue.Value { return b.v }

// MarshalJSON gives the block's JSON; an error for the zero Block.
func (b Block) MarshalJSON() ([]byte, error) { return b.v.MarshalJSON() }

// ToValue returns the blocks as a JSON array; an empty one for no blocks.
func ToValue(blocks []Block) jsonvalue.Value {
	vs := make([]jsonvalue.Value, len(blocks))
	for i, b := range blocks {
		vs[i] = b.v
	}
	return jsonvalue.Array(vs...)
}

// ListFromValue reads a JSON array of blocks; the error names the index.
func ListFromValue(v jsonvalue.Value) ([]Block, error) {
	if v.Kind() != jsonvalue.ArrayKind {
		return nil, fmt.Errorf("content must be an array of blocks, not %s", v.Kind())
	}
	blocks := make([]Block, 0, v.Len())
	for i, e := range v.Elements() {
		b, err := FromValue(e)
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// JoinText returns the texts of the text blocks, one after another with a
// newline between, skipping blocks of other types.
func JoinText(blocks []Block) string {
	var parts []string
	for _, b := range blocks {
		if s, ok := b.Text(); ok {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}
