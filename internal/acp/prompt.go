package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/content"
)

// flattenPrompt turns a prompt into the text the model reads: text blocks as
// they are, one after another; a link on a line of its own; an embedded text
// resource with its URI around it. Blocks that were not advertised are refused
// by name, never dropped.
func flattenPrompt(blocks []protocol.ContentBlock) (string, *protocol.Error) {
	var b strings.Builder
	for i, block := range blocks {
		field := fmt.Sprintf("prompt[%d].type", i)
		switch block.Type {
		case protocol.BlockText:
			b.WriteString(block.Text)
		case protocol.BlockResourceLink:
			fmt.Fprintf(&b, "\n[resource_link name=%s uri=%s]\n", quoted(block.Name), quoted(block.URI))
		case protocol.BlockResource:
			if block.Resource == nil || block.Resource.Text == nil {
				return "", protocol.InvalidParams(field, "embedded resources without text are not supported: send the file as a resource_link")
			}
			fmt.Fprintf(&b, "\n[resource uri=%s]\n%s\n[/resource]\n", quoted(block.Resource.URI), strings.TrimSuffix(*block.Resource.Text, "\n"))
		default:
			return "", protocol.InvalidParams(field, string(block.Type)+" blocks are not supported: the agent does not advertise them")
		}
	}
	return b.String(), nil
}

// quoted is a JSON string without HTML escapes.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// promptBlocks is the message that a prompt becomes: one text block.
func promptBlocks(text string) []content.Block { return []content.Block{content.Text(text)} }
