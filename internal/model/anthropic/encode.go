package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

// What a server can turn out to refuse.
const (
	adaptive = "adaptive"
	noImages = "images"
)

// Members of a reasoning part that only its author understands.
const (
	signature = "signature"
	redacted  = "redacted" // the data of thinking that is not shown
)

// defaultMaxTokens bounds an answer, where nothing is known about the model;
// the protocol insists on a number.
const defaultMaxTokens = 8192

// encoded is a request as it is sent, and what is in it that a server may
// refuse.
type encoded struct {
	body    []byte
	options map[string]bool
	images  int
}

func member(key string, v jsonvalue.Value) jsonvalue.Member {
	return jsonvalue.Member{Key: key, Value: v}
}

func text(key, s string) jsonvalue.Member { return member(key, jsonvalue.String(s)) }

func (p *Provider) encode(req model.Request, tools *prepare.ToolSet) *encoded {
	e := &encoded{options: map[string]bool{}}
	info := p.info(req.Model)
	messages, notes := prepare.History(req.Messages, (info.Images || isClaude(req.Model)) && !p.learned.Has(req.Model, noImages))
	for _, n := range notes {
		p.note(req, n)
	}
	limit := req.MaxTokens
	if limit == 0 {
		limit = info.MaxOutput
	}
	if limit == 0 {
		limit = defaultMaxTokens
	}
	thinking := p.thinking(e, req, limit, messages)
	ms := []jsonvalue.Member{text("model", req.Model), member("max_tokens", jsonvalue.Int(limit))}
	cache := !p.learned.Has(req.Model, "cache_control")
	e.options["cache_control"] = cache
	if len(tools.Tools) > 0 {
		list := make([]jsonvalue.Value, len(tools.Tools))
		for i, t := range tools.Tools {
			list[i] = jsonvalue.Object(text("name", t.Wire), text("description", t.Description), member("input_schema", t.Parameters))
		}
		if cache && req.System == "" {
			list[len(list)-1] = marked(list[len(list)-1])
		}
		ms = append(ms, member("tools", jsonvalue.Array(list...)))
	}
	if req.System != "" {
		block := jsonvalue.Object(text("type", "text"), text("text", req.System))
		if cache {
			block = marked(block)
		}
		ms = append(ms, member("system", jsonvalue.Array(block)))
	}
	ms = append(ms, member("messages", p.messages(e, req, messages, cache)), member("stream", jsonvalue.Bool(true)))
	ms = append(ms, thinking...)
	for k, v := range p.cfg.ExtraBody.Members() {
		ms = append(ms, member(k, v))
	}
	e.body = jsonvalue.Object(ms...).WellFormed().JSON()
	return e
}

// marked ends a prefix that the server is to keep.
func marked(block jsonvalue.Value) jsonvalue.Value {
	return block.With("cache_control", jsonvalue.Object(text("type", "ephemeral")))
}

func isClaude(modelID string) bool { return strings.Contains(strings.ToLower(modelID), "claude") }

// decides are the models that decide themselves how long they think.
var decides = lazyregexp.New(`(?i)claude-(opus|sonnet|haiku)-(4-([6-9]|[1-9]\d)(\D|$)|[5-9](\D|$)|[1-9]\d(\D|$))`)

// thinking maps a thought level to the members of a request.
func (p *Provider) thinking(e *encoded, req model.Request, limit int64, messages []model.Message) []jsonvalue.Member {
	word := strings.ToLower(req.ReasoningEffort)
	switch word {
	case "", "off", "none", "disabled":
		return nil
	case "minimal":
		word = "low"
	case "xhigh":
		word = "max"
	}
	if p.learned.Has(req.Model, "thinking") || p.resumes(req.Model, messages) {
		return nil
	}
	if decides.MatchString(req.Model) && !p.learned.Has(req.Model, adaptive) {
		e.options[adaptive], e.options["thinking"] = true, true
		ms := []jsonvalue.Member{member("thinking", jsonvalue.Object(text("type", adaptive)))}
		if !p.learned.Has(req.Model, "output_config") {
			e.options["output_config"] = true
			ms = append(ms, member("output_config", jsonvalue.Object(text("effort", word))))
		}
		return ms
	}
	if !p.info(req.Model).Reasoning {
		return nil
	}
	budget := map[string]int64{"low": 4_096, "medium": 10_000, "high": 24_000, "max": 48_000}[word]
	if budget == 0 {
		budget = 10_000
	}
	// The budget is part of the limit, and the answer wants its own.
	budget = min(budget, limit*3/4)
	if budget < 1024 {
		return nil
	}
	e.options["thinking"] = true
	return []jsonvalue.Member{member("thinking", jsonvalue.Object(text("type", "enabled"), member("budget_tokens", jsonvalue.Int(budget))))}
}

// resumes reports whether the conversation is in the middle of calls that were
// made without thinking, by another model for instance: the server refuses to
// begin to think there.
func (p *Provider) resumes(modelID string, messages []model.Message) bool {
	if len(messages) == 0 || messages[len(messages)-1].Role != model.RoleTool {
		return false
	}
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role != model.RoleAssistant {
			continue
		}
		for _, part := range m.Content {
			if p.mine(m, modelID) && thought(part).Len() > 0 {
				return false
			}
		}
		return true
	}
	return false
}

// mine reports whether a message's thinking was made by the model that is
// asked: signatures are worth nothing to another.
func (p *Provider) mine(m model.Message, modelID string) bool {
	return m.Provider == p.cfg.ProviderID && m.Model == modelID
}

// thought is a reasoning part as its author wants it back; Undefined when it
// has no proof.
func thought(part model.Part) jsonvalue.Value {
	if part.Type != model.PartReasoning {
		return jsonvalue.Value{}
	}
	if data := part.Extra.Get(redacted); !data.IsUndefined() {
		return jsonvalue.Object(text("type", "redacted_thinking"), member("data", data))
	}
	if proof := part.Extra.Get(signature); !proof.IsUndefined() {
		return jsonvalue.Object(text("type", "thinking"), text("thinking", part.Text), member("signature", proof))
	}
	return jsonvalue.Value{}
}

// messages writes a repaired conversation: turns alternate, results stand
// first in the user's turn, no text is blank.
func (p *Provider) messages(e *encoded, req model.Request, messages []model.Message, cache bool) jsonvalue.Value {
	type turn struct {
		role   string
		blocks []jsonvalue.Value
	}
	var turns []turn
	ids := callIDs{used: map[string]bool{}}
	add := func(role string, blocks []jsonvalue.Value) {
		if len(blocks) == 0 {
			return
		}
		if n := len(turns); n > 0 && turns[n-1].role == role {
			turns[n-1].blocks = append(turns[n-1].blocks, blocks...)
			return
		}
		if len(turns) == 0 && role == "assistant" {
			turns = append(turns, turn{"user", []jsonvalue.Value{jsonvalue.Object(text("type", "text"), text("text", "[The conversation begins here.]"))}})
		}
		turns = append(turns, turn{role, blocks})
	}
	for _, m := range messages {
		switch m.Role {
		case model.RoleAssistant:
			add("assistant", p.assistant(m, req.Model, &ids))
		case model.RoleTool:
			result := []jsonvalue.Member{text("type", "tool_result"), text("tool_use_id", ids.wire(m.ToolCallID)), member("content", jsonvalue.Array(blocks(e, m.Content)...))}
			if m.IsError {
				result = append(result, member("is_error", jsonvalue.Bool(true)))
			}
			add("user", []jsonvalue.Value{jsonvalue.Object(result...)})
		default:
			add("user", blocks(e, m.Content))
		}
	}
	if n := len(turns); n == 0 || turns[n-1].role == "assistant" {
		// Newer models refuse to go on with words put into their mouth.
		turns = append(turns, turn{"user", []jsonvalue.Value{jsonvalue.Object(text("type", "text"), text("text", "[Go on.]"))}})
	}
	if last := turns[len(turns)-1].blocks; cache {
		last[len(last)-1] = marked(last[len(last)-1])
	}
	out := make([]jsonvalue.Value, len(turns))
	for i, t := range turns {
		out[i] = jsonvalue.Object(text("role", t.role), member("content", jsonvalue.Array(t.blocks...)))
	}
	return jsonvalue.Array(out...)
}

// blocks writes text and images.
func blocks(e *encoded, parts []model.Part) []jsonvalue.Value {
	var out []jsonvalue.Value
	for _, part := range parts {
		if mime, data, ok := part.Image(); ok {
			e.images++
			out = append(out, jsonvalue.Object(text("type", "image"), member("source", jsonvalue.Object(text("type", "base64"), text("media_type", mime), text("data", data)))))
			continue
		}
		if strings.TrimSpace(part.Text) != "" {
			out = append(out, jsonvalue.Object(text("type", "text"), text("text", part.Text)))
		}
	}
	if len(out) == 0 {
		out = append(out, jsonvalue.Object(text("type", "text"), text("text", "[blank]")))
	}
	return out
}

func (p *Provider) assistant(m model.Message, modelID string, ids *callIDs) []jsonvalue.Value {
	var out []jsonvalue.Value
	mine := p.mine(m, modelID)
	for _, part := range m.Content {
		switch part.Type {
		case model.PartText:
			if strings.TrimSpace(part.Text) != "" {
				out = append(out, jsonvalue.Object(text("type", "text"), text("text", part.Text)))
			}
		case model.PartReasoning:
			if v := thought(part); mine && !v.IsUndefined() {
				out = append(out, v)
			}
		case model.PartToolCall:
			out = append(out, jsonvalue.Object(text("type", "tool_use"), text("id", ids.add(part.ID)), text("name", prepare.WireName(part.Name)), member("input", part.ArgumentsObject())))
		}
	}
	return out
}

// callIDs maps the ids of calls to what the protocol takes: letters, digits,
// "_" and "-".
type callIDs struct {
	used map[string]bool
	of   map[string]string
}

var plainID = lazyregexp.New(`^[A-Za-z0-9_-]{1,128}$`)

func (c *callIDs) add(id string) string {
	w := id
	if !plainID.MatchString(id) || c.used[id] {
		sum := sha256.Sum256([]byte(id))
		w = "call_" + hex.EncodeToString(sum[:12])
	}
	if c.of == nil {
		c.of = map[string]string{}
	}
	c.of[id], c.used[w] = w, true
	return w
}

func (c *callIDs) wire(id string) string { return c.of[id] }
