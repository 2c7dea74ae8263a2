package registry

import (
	"errors"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// ToValue is the context as JSON: content, source and, if there is one, meta (decision 8).
func (c Context) ToValue() jsonvalue.Value {
	ms := []jsonvalue.Member{{Key: "content", Value: content.ToValue(c.Content)}}
	if !c.Source.IsUndefined() {
		ms = append(ms, jsonvalue.Member{Key: "source", Value: c.Source})
	}
	if !c.Meta.IsUndefined() {
		ms = append(ms, jsonvalue.Member{Key: "meta", Value: c.Meta})
	}
	return jsonvalue.Object(ms...)
}

func (c Context) checkLossless() error {
	return jsonvalue.CheckLossless(c.ToValue())
}

func cloneContexts(cs []Context) []Context {
	if len(cs) == 0 {
		return nil
	}
	out := slices.Clone(cs)
	for i := range out {
		out[i].Content = slices.Clone(out[i].Content)
	}
	return out
}

var errMalformedContexts = errors.New("additionalContexts must be a list of {content, source?, meta?} objects or texts")

// ContextsFromValue reads a list of contexts that comes from outside the
// process: objects as [Context.ToValue] writes them, or bare texts (decision 8).
func ContextsFromValue(v jsonvalue.Value) ([]Context, error) {
	if !v.IsArray() {
		return nil, errMalformedContexts
	}
	out := make([]Context, 0, v.Len())
	for _, e := range v.Elements() {
		if s, ok := e.Str(); ok {
			out = append(out, Context{Content: []content.Block{content.Text(s)}})
			continue
		}
		if !e.IsObject() {
			return nil, errMalformedContexts
		}
		blocks, err := content.ListFromValue(e.Get("content"))
		if err != nil {
			return nil, errMalformedContexts
		}
		out = append(out, Context{Content: blocks, Source: e.Get("source"), Meta: e.Get("meta")})
	}
	return out, nil
}
