package mcp

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// value is the canonical value of a result: {content, structuredContent?}, as the
// server sent it. Blocks that cannot be read are left out, and a text says so; structured content that
// breaks the server's own promise, or that a program could not be given, becomes
// text. failed says that the tool says it failed.
func (t *remoteTool) value(result jsonvalue.Value) (value jsonvalue.Value, failed bool) {
	var blocks []jsonvalue.Value
	var unread []string
	switch parts := result.Get("content"); {
	case parts.IsUndefined() || parts.IsNull() || parts.IsArray():
	default:
		// Some servers send what they mean as it is.
		text, ok := parts.Str()
		if !ok {
			text = "[the content of the result could not be read and is left out: it is no list but " + parts.Kind().String() + "]"
		}
		blocks = append(blocks, content.Text(text).Value())
	}
	for _, b := range result.Get("content").Elements() {
		if block, ok := readBlock(b); ok {
			blocks = append(blocks, block)
		} else {
			unread = append(unread, strconv.Quote(oneLine(b.GetString("type"), 30)))
		}
	}
	if n := len(unread); n > 0 {
		// What is missing is said, or a result would look whole that is not.
		slices.Sort(unread)
		kinds := slices.Compact(unread)
		if len(kinds) > 5 {
			kinds = append(kinds[:5:5], "…")
		}
		blocks = append(blocks, content.Text(fmt.Sprintf("[%s of the result could not be read and %s left out: type %s]",
			count(n, "part"), map[bool]string{true: "is", false: "are"}[n == 1], strings.Join(kinds, ", "))).Value())
	}
	failed, _ = result.Get("isError").Bool()
	structured := result.Get("structuredContent")
	if structured.IsNull() {
		structured = jsonvalue.Value{}
	}
	if !structured.IsUndefined() {
		problem := ""
		if err := jsonvalue.CheckJavaScript(structured); err != nil {
			problem = err.Error()
		} else if t.promise != nil && !failed {
			problem = strings.Join(t.promise.Validate(structured, "structuredContent"), "; ")
		}
		if problem != "" {
			t.server.log.Warn("structured content of an MCP server is passed on as text", "tool", t.raw.name, "problem", oneLine(problem, 300))
			if !mirrored(blocks, structured) {
				blocks = append(blocks, content.Text(structured.String()).Value())
			}
			structured = jsonvalue.Value{}
		}
	}
	members := []jsonvalue.Member{{Key: "content", Value: jsonvalue.Array(blocks...)}}
	if !structured.IsUndefined() {
		members = append(members, jsonvalue.Member{Key: "structuredContent", Value: structured})
	}
	return jsonvalue.Object(members...), failed
}

// readBlock takes the members of a block that anybody can use, so that what a
// program gets fits its type.
func readBlock(b jsonvalue.Value) (jsonvalue.Value, bool) {
	typ := b.GetString("type")
	out := []jsonvalue.Member{{Key: "type", Value: jsonvalue.String(typ)}}
	keep := func(keys ...string) bool {
		for _, key := range keys {
			s, ok := b.Get(key).Str()
			if !ok {
				return false
			}
			out = append(out, jsonvalue.Member{Key: key, Value: jsonvalue.String(s)})
		}
		return true
	}
	ok := false
	switch typ {
	case "text":
		ok = keep("text")
	case "image", "audio":
		ok = keep("data", "mimeType") && base64OK(b.GetString("data"))
	case "resource_link":
		ok = keep("uri")
		if name := b.GetString("name"); ok {
			if name == "" {
				name = b.GetString("uri")
			}
			out = append(out, jsonvalue.Member{Key: "name", Value: jsonvalue.String(name)})
			for _, key := range []string{"title", "description", "mimeType"} {
				_ = keep(key)
			}
		}
	case "resource":
		r := b.Get("resource")
		_, text := r.Get("text").Str()
		_, blob := r.Get("blob").Str()
		if ok = text || blob; ok {
			var members []jsonvalue.Member
			for _, key := range []string{"uri", "mimeType", "text", "blob"} {
				if s, is := r.Get(key).Str(); is {
					members = append(members, jsonvalue.Member{Key: key, Value: jsonvalue.String(s)})
				}
			}
			out = append(out, jsonvalue.Member{Key: "resource", Value: jsonvalue.Object(members...)})
		}
	}
	return jsonvalue.Object(out...), ok
}

func base64OK(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// render makes the content for the model: every block in a form that a model can
// read, and the structured content unless a text says exactly the same.
func render(_, value jsonvalue.Value) ([]content.Block, error) {
	var out []content.Block
	var raw []jsonvalue.Value
	for _, b := range value.Get("content").Elements() {
		raw = append(raw, b)
		block, err := content.FromValue(modelBlock(b))
		if err != nil {
			return nil, err
		}
		out = append(out, block)
	}
	if s := value.Get("structuredContent"); !s.IsUndefined() && !mirrored(raw, s) {
		out = append(out, content.Text(s.String()))
	}
	if len(out) == 0 {
		out = append(out, content.Text("(the tool returned nothing)"))
	}
	return out, nil
}

// modelBlock is a block as conversations hold it: text, image and audio stay, a
// link becomes the line that a link in a prompt becomes, a resource its text or
// its picture.
func modelBlock(b jsonvalue.Value) jsonvalue.Value {
	switch b.GetString("type") {
	case "resource_link":
		return content.Text(fmt.Sprintf("[resource_link name=%s uri=%s]", b.Get("name"), b.Get("uri"))).Value()
	case "resource":
		r := b.Get("resource")
		where := fmt.Sprintf("[resource uri=%s]", jsonvalue.String(r.GetString("uri")))
		if text, ok := r.Get("text").Str(); ok {
			return content.Text(where + "\n" + text).Value()
		}
		mime, blob := r.GetString("mimeType"), r.GetString("blob")
		if strings.HasPrefix(mime, "image/") && base64OK(blob) {
			return jsonvalue.Object(
				jsonvalue.Member{Key: "type", Value: jsonvalue.String("image")},
				jsonvalue.Member{Key: "data", Value: jsonvalue.String(blob)},
				jsonvalue.Member{Key: "mimeType", Value: jsonvalue.String(mime)},
			)
		}
		if mime == "" {
			mime = "binary data"
		}
		return content.Text(fmt.Sprintf("%s (%s, %d bytes; not shown)", where, mime, base64.StdEncoding.DecodedLen(len(blob)))).Value()
	}
	return b
}

// mirrored says whether a text block says exactly what structured content does:
// its JSON, or the text that is all it wraps.
func mirrored(blocks []jsonvalue.Value, structured jsonvalue.Value) bool {
	wrapped, isText := "", false
	if structured.Len() == 1 && structured.IsObject() {
		wrapped, isText = structured.At(0).Str()
	}
	for _, b := range blocks {
		text, ok := b.Get("text").Str()
		if !ok || b.GetString("type") != "text" {
			continue
		}
		if isText && text == wrapped {
			return true
		}
		if v, err := jsonvalue.ParseString(text); err == nil && v.Equal(structured) {
			return true
		}
	}
	return false
}

// keep holds the content of a call that failed until its result is made.
func (v *server) keep(exec *registry.Execution, blocks []content.Block) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failures[exec.Token()] = blocks
}

// finalize gives the result of a call that the tool failed the content that came
// with the failure, pictures and all. Whoever replaced that failure is heard.
func (v *server) finalize(exec *registry.Execution, r *registry.Result) ([]content.Block, error) {
	v.mu.Lock()
	blocks, ok := v.failures[exec.Token()]
	delete(v.failures, exec.Token())
	v.mu.Unlock()
	if !ok || !r.IsError() || r.ErrorInfo().Code != CodeToolError {
		return nil, nil
	}
	return blocks, nil
}
