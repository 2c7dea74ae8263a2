package protocol

import (
	"encoding/json"
	"errors"
	"math"
)

// BlockType tells the kinds of content blocks apart.
type BlockType string

// The kinds of content blocks.
const (
	BlockText         BlockType = "text"
	BlockImage        BlockType = "image"
	BlockAudio        BlockType = "audio"
	BlockResourceLink BlockType = "resource_link"
	BlockResource     BlockType = "resource"
)

// ContentBlock is a piece of content, in prompts as in updates. Type says which
// members count; the others are not written.
type ContentBlock struct {
	Type BlockType
	// Text is the text of a text block.
	Text string
	// Data is the base64 text of an image or audio block.
	Data string
	// MimeType belongs to image, audio and resource_link; the last may leave it
	// empty.
	MimeType string
	// URI belongs to resource_link, where it must stand, and to image.
	URI string
	// Name, Title, Description and Size belong to resource_link; only the name
	// must stand.
	Name, Title, Description string
	Size                     *int64
	// Resource is the content of an embedded resource.
	Resource *ResourceContents
	// Annotations are hints for any block.
	Annotations *Annotations
	// Meta is the block's _meta.
	Meta Meta
}

// ResourceContents is what an embedded resource holds: text, or a blob in
// base64.
type ResourceContents struct {
	URI      string
	MimeType string
	// Text and Blob: exactly one is set.
	Text *string
	Blob *string
	Meta Meta
}

// Annotations are hints on how a block is meant.
type Annotations struct {
	// Audience names who a block is for: "user", "assistant".
	Audience []string `json:"audience,omitempty"`
	// Priority goes from 0, optional, to 1, required.
	Priority *float64 `json:"priority,omitempty"`
	// LastModified is a time in ISO 8601.
	LastModified *string `json:"lastModified,omitempty"`
	Meta         Meta    `json:"_meta,omitempty"`
}

// TextBlock makes a text block.
func TextBlock(text string) ContentBlock { return ContentBlock{Type: BlockText, Text: text} }

// ImageBlock makes an image block of base64 data.
func ImageBlock(data, mimeType string) ContentBlock {
	return ContentBlock{Type: BlockImage, Data: data, MimeType: mimeType}
}

// AudioBlock makes an audio block of base64 data.
func AudioBlock(data, mimeType string) ContentBlock {
	return ContentBlock{Type: BlockAudio, Data: data, MimeType: mimeType}
}

// LinkBlock makes a resource link.
func LinkBlock(uri, name string) ContentBlock {
	return ContentBlock{Type: BlockResourceLink, URI: uri, Name: name}
}

// TextResourceBlock makes an embedded text resource.
func TextResourceBlock(uri, mimeType, text string) ContentBlock {
	return ContentBlock{Type: BlockResource, Resource: &ResourceContents{URI: uri, MimeType: mimeType, Text: &text}}
}

// BlobResourceBlock makes an embedded binary resource of base64 data.
func BlobResourceBlock(uri, mimeType, blob string) ContentBlock {
	return ContentBlock{Type: BlockResource, Resource: &ResourceContents{URI: uri, MimeType: mimeType, Blob: &blob}}
}

// The forms of the blocks on the wire.
type (
	textBlock struct {
		Type        BlockType    `json:"type"`
		Text        string       `json:"text"`
		Annotations *Annotations `json:"annotations,omitempty"`
		Meta        Meta         `json:"_meta,omitempty"`
	}
	imageBlock struct {
		Type        BlockType    `json:"type"`
		Data        string       `json:"data"`
		MimeType    string       `json:"mimeType"`
		URI         string       `json:"uri,omitempty"`
		Annotations *Annotations `json:"annotations,omitempty"`
		Meta        Meta         `json:"_meta,omitempty"`
	}
	audioBlock struct {
		Type        BlockType    `json:"type"`
		Data        string       `json:"data"`
		MimeType    string       `json:"mimeType"`
		Annotations *Annotations `json:"annotations,omitempty"`
		Meta        Meta         `json:"_meta,omitempty"`
	}
	linkBlock struct {
		Type        BlockType    `json:"type"`
		URI         string       `json:"uri"`
		Name        string       `json:"name"`
		Title       string       `json:"title,omitempty"`
		Description string       `json:"description,omitempty"`
		MimeType    string       `json:"mimeType,omitempty"`
		Size        *int64       `json:"size,omitempty"`
		Annotations *Annotations `json:"annotations,omitempty"`
		Meta        Meta         `json:"_meta,omitempty"`
	}
	resourceBlock struct {
		Type        BlockType        `json:"type"`
		Resource    resourceContents `json:"resource"`
		Annotations *Annotations     `json:"annotations,omitempty"`
		Meta        Meta             `json:"_meta,omitempty"`
	}
	resourceContents struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType,omitempty"`
		Text     *string `json:"text,omitempty"`
		Blob     *string `json:"blob,omitempty"`
		Meta     Meta    `json:"_meta,omitempty"`
	}
)

// MarshalJSON writes the members that belong to the block's type. A block that
// is not valid is an error.
func (b ContentBlock) MarshalJSON() ([]byte, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	switch b.Type {
	case BlockImage:
		return encode(imageBlock{b.Type, b.Data, b.MimeType, b.URI, b.Annotations, b.Meta})
	case BlockAudio:
		return encode(audioBlock{b.Type, b.Data, b.MimeType, b.Annotations, b.Meta})
	case BlockResourceLink:
		return encode(linkBlock{b.Type, b.URI, b.Name, b.Title, b.Description, b.MimeType, b.Size, b.Annotations, b.Meta})
	case BlockResource:
		return encode(resourceBlock{b.Type, resourceContents(*b.Resource), b.Annotations, b.Meta})
	default:
		return encode(textBlock{b.Type, b.Text, b.Annotations, b.Meta})
	}
}

// Validate says what keeps the block from being sent.
func (b ContentBlock) Validate() error {
	switch b.Type {
	case BlockText:
		return nil
	case BlockImage, BlockAudio:
		return needText("mimeType", b.MimeType)
	case BlockResourceLink:
		return errors.Join(needText("uri", b.URI), needText("name", b.Name))
	case BlockResource:
		if b.Resource == nil {
			return invalid("resource", "is missing")
		}
		if (b.Resource.Text == nil) == (b.Resource.Blob == nil) {
			return invalid("resource", "needs either text or blob")
		}
		return needText("resource.uri", b.Resource.URI)
	}
	return invalid("type", "of a content block is unknown: "+string(b.Type))
}

// decodeBlock reads a content block.
func decodeBlock(d *decoder) ContentBlock {
	b := ContentBlock{Type: BlockType(d.str("type")), Meta: d.meta(), Annotations: decodeAnnotations(d)}
	switch b.Type {
	case BlockText:
		b.Text = d.str("text")
	case BlockImage:
		b.Data, b.MimeType = d.str("data"), d.str("mimeType")
		b.URI, _ = d.optStr("uri")
	case BlockAudio:
		b.Data, b.MimeType = d.str("data"), d.str("mimeType")
	case BlockResourceLink:
		b.URI, b.Name = d.str("uri"), d.str("name")
		b.Title, _ = d.optStr("title")
		b.Description, _ = d.optStr("description")
		b.MimeType, _ = d.optStr("mimeType")
		if n, ok := d.integer("size", math.MinInt64, math.MaxInt64); ok {
			b.Size = &n
		}
	case BlockResource:
		b.Resource = decodeResource(d.need("resource"))
	default:
		d.fail(d.at("type"), "is not a known content block type: "+quote(string(b.Type)))
	}
	return b
}

// DecodeBlock reads one content block, as the log keeps them. One that is not
// valid is an error.
func DecodeBlock(raw json.RawMessage) (ContentBlock, error) {
	d := decodeParams(raw)
	b := decodeBlock(d)
	if err := d.fault(); err != nil {
		return ContentBlock{}, err
	}
	return b, b.Validate()
}

func decodeResource(d *decoder) *ResourceContents {
	r := &ResourceContents{URI: d.str("uri"), Meta: d.meta()}
	r.MimeType, _ = d.optStr("mimeType")
	if r.Text = d.optStrPtr("text"); r.Text == nil {
		if r.Blob = d.optStrPtr("blob"); r.Blob == nil {
			d.fail(d.at("text"), "or blob is required")
		}
	}
	return r
}

// decodeAnnotations reads hints, so what is not as expected is passed over.
func decodeAnnotations(d *decoder) *Annotations {
	raw := d.raw("annotations")
	if raw == nil || raw[0] != '{' {
		return nil
	}
	var a Annotations
	if json.Unmarshal(raw, &a) != nil {
		return nil
	}
	return &a
}

func quote(s string) string {
	if len(s) > 80 {
		s = s[:80]
	}
	b, _ := encode(s)
	return string(b)
}
