package openai

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/assemble"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
	"github.com/dsh-acp/dsh-acp/internal/model/sse"
)

// afterFinish is how long usage may lag behind the finish.
const afterFinish = 5 * time.Second

// decoder reads one answer.
type decoder struct {
	p     *Provider
	resp  *httpx.Response
	model string
	b     *assemble.Builder
	calls tracker

	finish  string // the server's word
	choice  *int64 // the number of the choice that is read
	thought bool   // reasoning has come as text
	refusal bool
	usage   *model.Usage
	details details
}

// decode reads the answer to a request. An answer that has not finished is an
// error, and what came of it must not be used.
func (p *Provider) decode(resp *httpx.Response, req model.Request, b *assemble.Builder) error {
	d := &decoder{p: p, resp: resp, model: req.Model, b: b, calls: tracker{b: b, tools: b.Tools()}}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var err error
	switch kind {
	case "text/html":
		return resp.WebPage("check model.base_url (many servers want it to end with /v1)")
	case "application/json":
		// Some label a stream so; its first byte tells.
		r := bufio.NewReader(resp)
		if first, _ := r.Peek(1); len(first) > 0 && (first[0] == 'd' || first[0] == ':' || first[0] == 'e') {
			err = d.stream(r)
		} else {
			err = d.once(r)
		}
	default:
		err = d.stream(resp)
	}
	if err != nil {
		return err
	}
	if err := b.Err(); err != nil {
		return err
	}
	return d.end()
}

// stream reads events up to the end.
func (d *decoder) stream(body io.Reader) error {
	r := sse.NewReader(body, 0)
	any := false
	for d.b.Err() == nil {
		ev, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			if d.finish != "" {
				return nil // everything but the usage was there
			}
			return d.broken(err)
		}
		if ev.Done() {
			break
		}
		if ev.Name == "error" && d.finish == "" {
			return d.resp.ServerError(ev.Data, d.model) // whatever it looks like
		}
		v, err := httpx.JSON(ev.Data)
		if err != nil {
			if d.finish != "" {
				return nil
			}
			return &model.Error{Code: "PROTOCOL", Retryable: true, Err: err, Message: d.p.cfg.ProviderID + " sent something that is no part of an answer (" + err.Error() + "); the connection may have been cut: try again"}
		}
		any = true
		before := d.amount()
		if err := d.event(v, ev.Data); err != nil {
			return err
		}
		switch {
		case d.finish != "":
			d.resp.Patience(afterFinish)
		case d.amount() > before:
			d.resp.Progress()
		}
	}
	if !any && d.b.Err() == nil {
		return &model.Error{Code: "PROTOCOL", Retryable: true, Message: d.p.cfg.ProviderID + " closed the connection without an answer; try again, and check model.base_url if it stays so"}
	}
	return nil
}

// amount grows with what has come of the answer.
func (d *decoder) amount() int { return d.b.Amount() + d.details.amount }

// once reads an answer that was not streamed, from a server that cannot.
func (d *decoder) once(body io.Reader) error {
	const most = 32 << 20
	data, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return d.broken(err)
	}
	v, err := httpx.JSON(data)
	if err != nil || len(data) > most {
		return &model.Error{Code: "PROTOCOL", Retryable: true, Err: err, Message: d.p.cfg.ProviderID + " answered with something that is no JSON; check model.base_url"}
	}
	return d.event(v, data)
}

// broken is the failure of reading.
func (d *decoder) broken(err error) error {
	var tooLong *sse.TooLongError
	if errors.As(err, &tooLong) {
		return &model.Error{Code: "PROTOCOL", Err: err, Message: d.p.cfg.ProviderID + ": " + err.Error() + "; check model.base_url"}
	}
	return err
}

// event takes one event, or a whole answer.
func (d *decoder) event(v jsonvalue.Value, raw []byte) error {
	if e := v.Get("error"); !e.IsUndefined() && !e.IsNull() || v.GetString("object") == "error" || v.GetString("type") == "error" {
		if d.finish != "" {
			return nil
		}
		return d.resp.ServerError(raw, d.model)
	}
	d.readUsage(v.Get("usage"))
	if d.usage == nil {
		d.readUsage(v.Get("x_groq").Get("usage"))
	}
	c := d.chosen(v.Get("choices"))
	if c.IsUndefined() {
		return nil
	}
	delta := c.Get("delta")
	if !delta.IsObject() {
		delta = c.Get("message")
	}
	d.delta(delta)
	if s := c.GetString("finish_reason"); s != "" && s != "null" {
		d.finish = s
		if e := c.Get("error"); e.IsObject() {
			return d.resp.ServerError(jsonvalue.Object(member("error", e)).JSON(), d.model)
		}
	}
	return nil
}

// chosen finds the choice that is read among those of an event: the first that
// came. We ask for one, and a gateway may ask for more.
func (d *decoder) chosen(choices jsonvalue.Value) jsonvalue.Value {
	for _, c := range choices.Elements() {
		n, _ := c.Get("index").Int64()
		if d.choice == nil {
			d.choice = &n
		}
		if n == *d.choice {
			return c
		}
	}
	return jsonvalue.Value{}
}

func (d *decoder) delta(v jsonvalue.Value) {
	// Servers that know several of these fill them with the same.
	for _, key := range []string{"reasoning_content", "reasoning", "reasoning_text"} {
		if s := v.GetString(key); s != "" {
			d.b.Reasoning(s)
			d.thought = true
			break
		}
	}
	for _, x := range v.Get(reasoningDetails).Elements() {
		d.details.add(x)
		if !d.thought {
			d.b.Reasoning(x.GetString("text") + x.GetString("summary"))
		}
	}
	content := v.Get("content")
	if s, ok := content.Str(); ok {
		d.b.Text(s)
	}
	for _, part := range content.Elements() {
		switch part.GetString("type") {
		case "text":
			d.b.Text(part.GetString("text"))
		case "thinking":
			for _, t := range part.Get("thinking").Elements() {
				d.b.Reasoning(t.GetString("text"))
			}
			d.b.Reasoning(part.GetString("thinking"))
		}
	}
	if s := v.GetString("refusal"); s != "" {
		d.refusal = true
		d.b.Text(s)
	}
	for _, call := range v.Get("tool_calls").Elements() {
		d.calls.delta(call)
	}
	// The protocol's first way to call, of which an answer holds one.
	if f := v.Get("function_call"); f.IsObject() {
		d.calls.delta(jsonvalue.Object(member("index", jsonvalue.Int(0)), member("function", f)))
	}
}

// readUsage takes the token counts, in the spellings of several servers.
func (d *decoder) readUsage(v jsonvalue.Value) {
	if !v.IsObject() {
		return
	}
	count := func(v jsonvalue.Value, keys ...string) *int64 {
		for _, k := range keys {
			if n, ok := v.Get(k).Int64(); ok && n >= 0 {
				return &n
			}
		}
		return nil
	}
	u, said := &model.Usage{}, false
	if n := count(v, "prompt_tokens", "input_tokens"); n != nil {
		u.InputTokens, said = *n, true
	}
	if n := count(v, "completion_tokens", "output_tokens"); n != nil {
		u.OutputTokens, said = *n, true
	}
	if !said {
		return
	}
	u.CacheReadTokens = count(v, "prompt_cache_hit_tokens", "cached_tokens")
	if u.CacheReadTokens == nil {
		u.CacheReadTokens = count(v.Get("prompt_tokens_details"), "cached_tokens")
	}
	if c := u.CacheReadTokens; c != nil {
		*c = min(*c, u.InputTokens)
		u.InputTokens -= *c
	}
	u.ReasoningTokens = count(v.Get("completion_tokens_details"), "reasoning_tokens")
	if u.ReasoningTokens == nil {
		u.ReasoningTokens = count(v, "reasoning_tokens")
	}
	d.usage = u
}

// end turns the server's word for the end into ours.
func (d *decoder) end() error {
	name := d.p.cfg.ProviderID
	kind := model.FinishStop
	switch strings.ToLower(d.finish) {
	case "":
		return &model.Error{Code: "PROTOCOL", Retryable: true, Message: name + " ended its answer without saying that it is complete; the connection was probably cut: try again"}
	case "length", "max_tokens", "model_length", "max_output_tokens":
		kind = model.FinishMaxTokens
	case "content_filter", "safety", "refusal", "recitation", "sensitive":
		kind = model.FinishContentFilter
	case "tool_calls", "function_call", "tool_use":
		kind = model.FinishToolCalls
	case "insufficient_system_resource":
		return &model.Error{Code: "OVERLOADED", Retryable: true, Message: name + " ran out of resources in the middle of the answer; try again later"}
	case "error", "abort", "aborted", "cancelled", "network_error":
		return &model.Error{Code: "PROTOCOL", Retryable: true, Message: name + " gave up in the middle of the answer; try again"}
	}
	if d.refusal && kind == model.FinishStop {
		kind = model.FinishContentFilter
	}
	if list := d.details.list(); len(list) > 0 {
		d.b.Extra(reasoningDetails, jsonvalue.Array(list...))
	}
	return d.b.Finish(kind, d.usage)
}
