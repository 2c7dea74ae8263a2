package acp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/fileuri"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The bounds of what a prompt carries in base64. Servers of models refuse larger
// images, and a refused image would stay in the conversation.
const (
	maxImageBytes  = 5 << 20  // of one image, decoded
	maxPromptData  = 24 << 20 // of everything together, encoded
	maxPromptImage = 20       // images of one prompt
)

// promptParts are a prompt in its two forms.
type promptParts struct {
	// model is what the model reads: text, in which everything but images has
	// become text, and images, in the order of the prompt.
	model []content.Block
	// shown is the prompt as it was sent; nil when that is the same.
	shown []content.Block
	// text is the text alone.
	text string
}

// imageSupport says what is known about images when a prompt comes.
type imageSupport struct {
	advertised bool   // some model that can be chosen takes them
	model      string // the model that is chosen
	taken      bool   // it takes them
}

// promptReader puts a prompt together.
type promptReader struct {
	images imageSupport
	parts  promptParts
	text   strings.Builder // what is not yet in parts
	count  int             // of images
	data   int             // bytes of base64 so far
}

// readPrompt turns the blocks of a prompt into what the model reads: text as it
// is, one block after another; a link on a line of its own; an embedded text with
// its URI around it, a binary one as an image, as text or as a line that says
// what it is; images as they are. What cannot be taken is refused by name, never
// dropped.
func readPrompt(blocks []protocol.ContentBlock, images imageSupport) (promptParts, *protocol.Error) {
	r := &promptReader{images: images}
	sent := make([]content.Block, 0, len(blocks))
	for i, block := range blocks {
		at := fmt.Sprintf("prompt[%d]", i)
		asSent, err := sentBlock(block)
		if verr := block.Validate(); verr != nil {
			err = verr // without what the encoder says around it
		}
		if err != nil {
			return promptParts{}, protocol.InvalidParams(at, err.Error())
		}
		sent = append(sent, asSent)
		if perr := r.add(at, block, asSent); perr != nil {
			return promptParts{}, perr
		}
	}
	r.flush()
	p := r.parts
	if r.count == 0 && strings.TrimSpace(p.text) == "" {
		return promptParts{}, protocol.InvalidParams("prompt", "the prompt is empty: send at least one block with text")
	}
	if !content.ToValue(sent).Equal(content.ToValue(p.model)) {
		p.shown = sent
	}
	return p, nil
}

// sentBlock is a block as it is logged.
func sentBlock(b protocol.ContentBlock) (content.Block, error) {
	// What is large is not written and parsed again.
	if err := b.Validate(); err == nil && b.Annotations == nil && b.Meta == nil {
		switch b.Type {
		case protocol.BlockText:
			return content.Text(b.Text), nil
		case protocol.BlockImage:
			ms := []jsonvalue.Member{{Key: "type", Value: jsonvalue.String("image")}, {Key: "data", Value: jsonvalue.String(b.Data)}, {Key: "mimeType", Value: jsonvalue.String(b.MimeType)}}
			if b.URI != "" {
				ms = append(ms, jsonvalue.Member{Key: "uri", Value: jsonvalue.String(b.URI)})
			}
			return content.FromValue(jsonvalue.Object(ms...))
		}
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return content.Block{}, err
	}
	v, err := jsonvalue.Parse(raw)
	if err != nil {
		return content.Block{}, err
	}
	return content.FromValue(v)
}

func (r *promptReader) add(at string, b protocol.ContentBlock, sent content.Block) *protocol.Error {
	switch b.Type {
	case protocol.BlockText:
		r.text.WriteString(b.Text)
	case protocol.BlockResourceLink:
		fmt.Fprintf(&r.text, "\n[resource_link name=%s uri=%s%s]\n", quoted(b.Name), quoted(b.URI), place(b.URI))
	case protocol.BlockResource:
		if b.Resource.Text != nil {
			r.embed(b.Resource, *b.Resource.Text)
			return nil
		}
		return r.blob(at+".resource.blob", b.Resource)
	case protocol.BlockImage:
		switch {
		case !r.images.advertised && !r.images.taken:
			return protocol.InvalidParams(at+".type", "image blocks are not supported: the agent does not advertise them")
		case !r.images.taken:
			return protocol.InvalidParams(at+".type", "the model "+r.images.model+" takes no images: choose another model, or send the prompt without the image")
		}
		data, perr := r.decode(at+".data", b.Data)
		if perr != nil {
			return perr
		}
		return r.image(at+".data", b, data, sent)
	default:
		return protocol.InvalidParams(at+".type", string(b.Type)+" blocks are not supported: the agent does not advertise them")
	}
	return nil
}

// place is what a link to a file says besides the URI: the path, unless that
// stands in the URI as it is, and the lines.
func place(uri string) string {
	ref, ok := fileuri.Parse(uri)
	if !ok || "file://"+ref.Path == uri {
		return ""
	}
	out := " path=" + quoted(strings.ToValidUTF8(ref.Path, "\uFFFD"))
	if ref.Line > 0 {
		out += " lines=" + quoted(ref.Lines())
	}
	return out
}

// embed puts the text of a resource between lines that name it.
func (r *promptReader) embed(res *protocol.ResourceContents, text string) {
	r.text.WriteString(framed("uri="+quoted(res.URI)+place(res.URI), text))
}

// blob takes an embedded resource in base64: an image for a model that takes
// images, a text, or a line that says what was there.
func (r *promptReader) blob(at string, res *protocol.ResourceContents) *protocol.Error {
	data, perr := r.decode(at, *res.Blob)
	if perr != nil {
		return perr
	}
	if imageType(data) != "" && r.images.taken {
		fmt.Fprintf(&r.text, "\n[resource uri=%s%s: the image that follows]\n", quoted(res.URI), place(res.URI))
		return r.image(at, protocol.ImageBlock(*res.Blob, res.MimeType), data, content.Block{})
	}
	if textual(res.MimeType, data) {
		r.embed(res, strings.TrimPrefix(string(data), "\uFEFF"))
		return nil
	}
	kind := res.MimeType
	if kind == "" {
		kind = "unknown type"
	}
	fmt.Fprintf(&r.text, "\n[resource uri=%s%s: %d bytes of %s, not shown]\n", quoted(res.URI), place(res.URI), len(data), quoted(kind))
	return nil
}

// textual says whether a blob is a text: its type says so, or nothing is known
// and it reads as one.
func textual(mimeType string, data []byte) bool {
	if !utf8.Valid(data) || strings.IndexByte(string(data), 0) >= 0 {
		return false
	}
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return strings.TrimSpace(mimeType) == ""
	}
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml") {
		return true
	}
	sub, ok := strings.CutPrefix(kind, "application/")
	if !ok {
		return false
	}
	switch strings.TrimPrefix(sub, "x-") {
	case "json", "xml", "yaml", "toml", "javascript", "typescript", "ecmascript", "sh", "shellscript", "sql", "graphql", "ndjson", "jsonl", "httpd-php", "python", "ruby", "perl", "tex", "latex", "diff", "patch", "octet-stream":
		return true
	}
	return false
}

// image adds an image that has been decoded. sent is the block to log for the
// model, unless the type that it names is wrong.
func (r *promptReader) image(at string, b protocol.ContentBlock, data []byte, sent content.Block) *protocol.Error {
	kind := imageType(data)
	switch {
	case kind == "":
		return protocol.InvalidParams(at, "is no image that models take: send PNG, JPEG, GIF or WebP (this is called "+b.MimeType+")")
	case len(data) > maxImageBytes:
		return protocol.InvalidParams(at, fmt.Sprintf("the image is too large: %d bytes, and at most %d are taken; make it smaller", len(data), maxImageBytes))
	}
	if r.count++; r.count > maxPromptImage {
		return protocol.InvalidParams(at, fmt.Sprintf("a prompt may have at most %d images", maxPromptImage))
	}
	// Some encoders break the lines of base64, which servers of models refuse.
	oneLine := lineEnds.Replace(b.Data)
	if kind != b.MimeType || sent.Type() == "" || len(oneLine) != len(b.Data) {
		sent, _ = sentBlock(protocol.ImageBlock(oneLine, kind)) // two texts always encode
	}
	r.flush()
	r.parts.model = append(r.parts.model, sent)
	return nil
}

var lineEnds = strings.NewReplacer("\r", "", "\n", "")

// decode reads base64 and keeps count of it.
func (r *promptReader) decode(at, text string) ([]byte, *protocol.Error) {
	if r.data += len(text); r.data > maxPromptData {
		return nil, protocol.InvalidParams(at, fmt.Sprintf("the images and files of a prompt may take %d bytes together: send fewer or smaller ones", maxPromptData))
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, protocol.InvalidParams(at, "is not base64: "+err.Error())
	}
	return data, nil
}

// imageType recognises the images that models take by how they begin: servers
// refuse one whose type is named wrong. It is "" for anything else.
func imageType(data []byte) string {
	begins := func(s string) bool { return len(data) >= len(s) && string(data[:len(s)]) == s }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case begins("\xff\xd8\xff"):
		return "image/jpeg"
	case begins("GIF87a"), begins("GIF89a"):
		return "image/gif"
	case begins("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// flush ends a run of text.
func (r *promptReader) flush() {
	if r.text.Len() == 0 {
		return
	}
	r.parts.model = append(r.parts.model, content.Text(r.text.String()))
	r.parts.text += r.text.String()
	r.text.Reset()
}

// withText gives the prompt another text and keeps its images.
func (p promptParts) withText(text string) []content.Block {
	out := []content.Block{content.Text(text)}
	for _, b := range p.model {
		if _, isText := b.Text(); !isText {
			out = append(out, b)
		}
	}
	return out
}

// quoted is a JSON string without HTML escapes.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
