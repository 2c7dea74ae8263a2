package openai

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

// encoded is a request as it is sent, and what is in it that a server may
// refuse.
type encoded struct {
	body          []byte
	options       map[string]bool
	images        int
	reasoningBack bool
}

func member(key string, v jsonvalue.Value) jsonvalue.Member {
	return jsonvalue.Member{Key: key, Value: v}
}

func text(key, s string) jsonvalue.Member { return member(key, jsonvalue.String(s)) }

// encode writes a request.
func (p *Provider) encode(req model.Request, tools *prepare.ToolSet) *encoded {
	info := p.info(req.Model)
	images := info.Images && !p.has(req.Model, noImages)
	messages, notes := prepare.History(req.Messages, images)
	for _, n := range notes {
		p.note(req, n)
	}
	e := &encoded{options: map[string]bool{}}
	ms := []jsonvalue.Member{
		text("model", req.Model),
		member("messages", p.messages(e, req, messages)),
		member("stream", jsonvalue.Bool(true)),
	}
	option := func(m jsonvalue.Member) {
		if !p.has(req.Model, m.Key) {
			ms = append(ms, m)
			e.options[m.Key] = true
		}
	}
	option(member(noStreamOptions, jsonvalue.Object(member("include_usage", jsonvalue.Bool(true)))))
	if len(tools.Tools) > 0 {
		list := make([]jsonvalue.Value, len(tools.Tools))
		for i, t := range tools.Tools {
			list[i] = jsonvalue.Object(text("type", "function"), member("function", jsonvalue.Object(
				text("name", t.Wire), text("description", t.Description), member("parameters", t.Parameters))))
		}
		ms = append(ms, member("tools", jsonvalue.Array(list...)))
	}
	if req.MaxTokens > 0 {
		key := "max_tokens"
		if p.cfg.Dialect == OpenAI || p.has(req.Model, completionTokens) {
			key = completionTokens
		}
		ms = append(ms, member(key, jsonvalue.Int(req.MaxTokens)))
		e.options[key] = true
	}
	for _, m := range p.cfg.Dialect.effort(req.ReasoningEffort, info.Reasoning) {
		option(m)
	}
	if p.cfg.Dialect == OpenAI && req.SessionID != "" {
		option(text(noCacheKey, req.SessionID))
	}
	for k, v := range p.cfg.ExtraBody.Members() {
		ms = append(ms, member(k, v))
	}
	// Models write lone surrogates; strict servers refuse them.
	e.body = jsonvalue.Object(ms...).WellFormed().JSON()
	return e
}

// resend reports whether reasoning goes back with tool calls.
func (p *Provider) resend(modelID string) bool {
	switch {
	case p.has(modelID, noReasoningBack):
		return false
	case p.has(modelID, wantReasoningBack):
		return true
	case p.cfg.ResendReasoning != nil:
		return *p.cfg.ResendReasoning
	}
	return p.cfg.Dialect.resends()
}

// messages writes a repaired conversation.
func (p *Provider) messages(e *encoded, req model.Request, messages []model.Message) jsonvalue.Value {
	out := make([]jsonvalue.Value, 0, len(messages)+1)
	if req.System != "" {
		out = append(out, jsonvalue.Object(text("role", "system"), text("content", req.System)))
	}
	var shown []model.Part // images of tool results, which no tool message may hold
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		switch m.Role {
		case model.RoleAssistant:
			if v := p.assistant(e, req.Model, m); v.Len() > 0 {
				out = append(out, v)
			}
		case model.RoleTool:
			var b strings.Builder
			for _, part := range m.Content {
				if part.Type == model.PartImage {
					shown = append(shown, part)
					part = model.Text("[The image follows.]")
				}
				if b.Len() > 0 {
					b.WriteByte('\n')
				}
				b.WriteString(part.Text)
			}
			out = append(out, jsonvalue.Object(text("role", "tool"), text("tool_call_id", m.ToolCallID), text("content", b.String())))
			if i+1 == len(messages) || messages[i+1].Role != model.RoleTool {
				if len(shown) > 0 {
					out = append(out, user(e, append([]model.Part{model.Text("[Images from the tool results above:]")}, shown...)))
					shown = nil
				}
			}
		default:
			// Many templates insist on turns that alternate.
			parts := m.Content
			for i+1 < len(messages) && messages[i+1].Role == model.RoleUser {
				i++
				parts = append(append([]model.Part(nil), parts...), messages[i].Content...)
			}
			out = append(out, user(e, parts))
		}
	}
	return jsonvalue.Array(out...)
}

// user writes a user's message: text alone, or a list with images.
func user(e *encoded, parts []model.Part) jsonvalue.Value {
	var texts []string
	var list []jsonvalue.Value
	images := 0
	for _, p := range parts {
		if mime, data, ok := p.Image(); ok {
			images++
			list = append(list, jsonvalue.Object(text("type", "image_url"),
				member("image_url", jsonvalue.Object(text("url", "data:"+mime+";base64,"+data)))))
			continue
		}
		texts = append(texts, p.Text)
		list = append(list, jsonvalue.Object(text("type", "text"), text("text", p.Text)))
	}
	if images == 0 {
		return jsonvalue.Object(text("role", "user"), text("content", strings.Join(texts, "\n\n")))
	}
	e.images += images
	return jsonvalue.Object(text("role", "user"), member("content", jsonvalue.Array(list...)))
}

// assistant writes an assistant's message; Undefined when nothing is left of
// it.
func (p *Provider) assistant(e *encoded, modelID string, m model.Message) jsonvalue.Value {
	var said, thought strings.Builder
	var calls, details []jsonvalue.Value
	mine := m.Provider == p.cfg.ProviderID
	for _, part := range m.Content {
		switch part.Type {
		case model.PartText:
			said.WriteString(part.Text)
		case model.PartReasoning:
			if mine {
				thought.WriteString(part.Text)
				for _, d := range part.Extra.Get(reasoningDetails).Elements() {
					details = append(details, d)
				}
			}
		case model.PartToolCall:
			c := []jsonvalue.Member{
				text("id", part.ID), text("type", "function"),
				member("function", jsonvalue.Object(text("name", prepare.WireName(part.Name)), text("arguments", part.ArgumentsObject().String()))),
			}
			if x := part.Extra.Get(extraContent); mine && !x.IsUndefined() {
				c = append(c, member(extraContent, x))
			}
			calls = append(calls, jsonvalue.Object(c...))
		}
	}
	if said.Len() == 0 && len(calls) == 0 {
		return jsonvalue.Value{}
	}
	content := jsonvalue.String(said.String())
	if said.Len() == 0 && (p.cfg.Dialect == OpenAI || p.cfg.Dialect == OpenRouter) {
		content = jsonvalue.Null()
	}
	ms := []jsonvalue.Member{text("role", "assistant"), member("content", content)}
	if len(calls) > 0 && p.resend(modelID) {
		// Also when there is none, from another model: the field must be there.
		ms = append(ms, text("reasoning_content", thought.String()))
		e.reasoningBack = true
	}
	if len(details) > 0 && m.Model == modelID && p.cfg.Dialect == OpenRouter {
		ms = append(ms, member(reasoningDetails, jsonvalue.Array(details...)))
	}
	if len(calls) > 0 {
		ms = append(ms, member("tool_calls", jsonvalue.Array(calls...)))
	}
	return jsonvalue.Object(ms...)
}

// Members that some servers want back as they gave them.
const (
	reasoningDetails = "reasoning_details" // OpenRouter
	extraContent     = "extra_content"     // Gemini's signatures
)
