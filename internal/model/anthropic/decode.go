package anthropic

import (
	"errors"
	"io"
	"maps"
	"mime"
	"slices"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/assemble"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
	"github.com/dsh-acp/dsh-acp/internal/model/sse"
)

// afterFinish is how long the end may lag behind the stop reason.
const afterFinish = 5 * time.Second

// decoder reads one answer.
type decoder struct {
	p     *Provider
	resp  *httpx.Response
	model string
	b     *assemble.Builder

	calls map[int64]*call
	stop  string
	ended bool
	usage usage
}

// call is a tool_use block under way.
type call struct {
	*assemble.Call
	input jsonvalue.Value // what came with its start
	any   bool            // deltas have come
}

// decode reads the answer to a request. An answer that has not finished is an
// error, and what came of it must not be used.
func (p *Provider) decode(resp *httpx.Response, req model.Request, b *assemble.Builder) error {
	d := &decoder{p: p, resp: resp, model: req.Model, b: b, calls: map[int64]*call{}}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/html" {
		return resp.WebPage("check model.base_url")
	}
	if err := d.stream(); err != nil {
		return err
	}
	if err := b.Err(); err != nil {
		return err
	}
	return d.end()
}

func (d *decoder) stream() error {
	name := d.p.cfg.ProviderID
	r := sse.NewReader(d.resp, 0)
	any := false
	for d.b.Err() == nil && !d.ended {
		ev, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			if d.stop != "" {
				return nil // everything was there
			}
			var tooLong *sse.TooLongError
			if errors.As(err, &tooLong) {
				return &model.Error{Code: "PROTOCOL", Err: err, Message: name + ": " + err.Error() + "; check model.base_url"}
			}
			return err
		}
		v, err := httpx.JSON(ev.Data)
		if err != nil {
			if d.stop != "" {
				return nil
			}
			return &model.Error{Code: "PROTOCOL", Retryable: true, Err: err, Message: name + " sent something that is no part of an answer (" + err.Error() + "); the connection may have been cut: try again"}
		}
		any = true
		before := d.b.Amount()
		if err := d.event(v, ev.Data); err != nil {
			return err
		}
		switch {
		case d.stop != "":
			d.resp.Patience(afterFinish)
		case d.b.Amount() > before:
			d.resp.Progress()
		}
	}
	if !any && d.b.Err() == nil {
		return &model.Error{Code: "PROTOCOL", Retryable: true, Message: name + " closed the connection without an answer; try again, and check model.base_url if it stays so"}
	}
	return nil
}

func (d *decoder) event(v jsonvalue.Value, raw []byte) error {
	kind := v.GetString("type")
	if e := v.Get("error"); kind == "error" || kind == "" && e.IsObject() {
		if d.stop != "" {
			return nil
		}
		return d.resp.ServerError(raw, d.model)
	}
	index, _ := v.Get("index").Int64()
	switch kind {
	case "message_start":
		d.usage.read(v.Get("message").Get("usage"))
	case "content_block_start":
		d.start(index, v.Get("content_block"))
	case "content_block_delta":
		d.delta(index, v.Get("delta"))
	case "content_block_stop":
		d.b.Split()
		if c := d.calls[index]; c != nil {
			c.close()
			delete(d.calls, index)
		}
	case "message_delta":
		d.usage.read(v.Get("usage"))
		if s := v.Get("delta").GetString("stop_reason"); s != "" {
			d.stop = s
		}
	case "message_stop":
		d.ended = true
	case "message":
		d.whole(v)
	}
	return nil
}

// whole takes an answer that was not streamed, from a server that cannot.
func (d *decoder) whole(v jsonvalue.Value) {
	for i, block := range v.Get("content").Elements() {
		d.start(int64(i), block)
		d.b.Split()
	}
	d.usage.read(v.Get("usage"))
	d.stop = v.GetString("stop_reason")
	d.ended = true
}

func (d *decoder) start(index int64, block jsonvalue.Value) {
	switch block.GetString("type") {
	case "text":
		d.b.Text(block.GetString("text"))
	case "thinking":
		d.b.Split()
		d.b.Reasoning(block.GetString("thinking"))
		if s := block.GetString("signature"); s != "" {
			d.b.Extra(signature, jsonvalue.String(s))
		}
	case "redacted_thinking":
		d.b.Split()
		d.b.Extra(redacted, block.Get("data"))
		d.b.Split()
	case "tool_use":
		if c := d.calls[index]; c != nil {
			c.close() // its end was left out
		}
		d.calls[index] = &call{Call: d.b.Call(block.GetString("id"), block.GetString("name")), input: block.Get("input")}
	}
}

func (d *decoder) delta(index int64, v jsonvalue.Value) {
	switch v.GetString("type") {
	case "text_delta":
		d.b.Text(v.GetString("text"))
	case "thinking_delta":
		d.b.Reasoning(v.GetString("thinking"))
	case "signature_delta":
		d.b.AppendExtra(signature, v.GetString("signature"))
	case "input_json_delta":
		if c := d.calls[index]; c != nil && v.GetString("partial_json") != "" {
			c.any = true
			c.Args(v.GetString("partial_json"))
		}
	}
}

// close ends the call, with the input of its start when nothing else came.
func (c *call) close() {
	if !c.any && c.input.Len() > 0 {
		c.Args(c.input.String())
	}
	c.End()
}

// end turns the server's word for the end into ours. Calls whose end was left
// out end with the answer.
func (d *decoder) end() error {
	for _, index := range slices.Sorted(maps.Keys(d.calls)) {
		d.calls[index].close()
	}
	kind := model.FinishStop
	switch d.stop {
	case "":
		return &model.Error{Code: "PROTOCOL", Retryable: true, Message: d.p.cfg.ProviderID + " ended its answer without saying that it is complete; the connection was probably cut: try again"}
	case "max_tokens", "model_context_window_exceeded":
		kind = model.FinishMaxTokens
	case "refusal":
		kind = model.FinishContentFilter
	case "tool_use":
		kind = model.FinishToolCalls
	}
	return d.b.Finish(kind, d.usage.value())
}

// usage gathers the counts, which come at the start and are corrected later.
type usage struct {
	any                  bool
	input, write, output int64
	cached               *int64
}

func (u *usage) read(v jsonvalue.Value) {
	if !v.IsObject() {
		return
	}
	u.any = true
	take := func(key string, into *int64) {
		if n, ok := v.Get(key).Int64(); ok && n >= 0 {
			*into = n
		}
	}
	take("input_tokens", &u.input)
	take("cache_creation_input_tokens", &u.write)
	take("output_tokens", &u.output)
	if n, ok := v.Get("cache_read_input_tokens").Int64(); ok && n >= 0 {
		u.cached = &n
	}
}

// value counts what was written to the cache as input: it was read in full.
func (u *usage) value() *model.Usage {
	if !u.any {
		return nil
	}
	return &model.Usage{InputTokens: u.input + u.write, OutputTokens: u.output, CacheReadTokens: u.cached}
}
