package openai

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
	"github.com/dsh-acp/dsh-acp/internal/model/known"
)

// listTimeout bounds how long a list of models is waited for.
const listTimeout = 5 * time.Second

// Models lists the configured model first, then those of the configuration,
// then what the server has. The server is asked once; when it cannot say, what
// is configured is enough, and only if that is nothing the failure is returned.
func (p *Provider) Models(ctx context.Context) ([]model.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	served, err := p.fetch(ctx)
	var out []model.Info
	seen := map[string]bool{} // a gateway may list a great many
	add := func(i model.Info) {
		if i.ID == "" || seen[i.ID] {
			return
		}
		seen[i.ID] = true
		i.Efforts = p.efforts(i)
		out = append(out, i)
	}
	if p.cfg.Model != "" {
		add(p.info(p.cfg.Model))
	}
	for _, i := range p.cfg.Models {
		add(known.Merge(i))
	}
	for _, i := range served {
		add(i)
	}
	if len(out) == 0 {
		return nil, err
	}
	return out, nil
}

// efforts are a model's thought levels.
func (p *Provider) efforts(i model.Info) []string {
	if len(i.Efforts) > 0 {
		return i.Efforts
	}
	return p.cfg.Dialect.efforts(i)
}

// fetch asks the server, once: later callers wait for the first, and get what
// it got. A failure is not kept.
func (p *Provider) fetch(ctx context.Context) ([]model.Info, error) {
	for {
		p.mu.Lock()
		if p.listed != nil {
			defer p.mu.Unlock()
			return p.listed, nil
		}
		wait := p.listing
		if wait == nil {
			p.listing = make(chan struct{})
		}
		p.mu.Unlock()
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	list, err := p.list(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.listed = list
	}
	close(p.listing)
	p.listing = nil
	return list, err
}

func (p *Provider) list(ctx context.Context) ([]model.Info, error) {
	resp, err := p.client.Do(ctx, httpx.Request{Method: http.MethodGet, Path: "/models", Header: p.header("application/json")})
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	data, err := io.ReadAll(io.LimitReader(resp, 16<<20))
	if err != nil {
		return nil, err
	}
	v, err := httpx.JSON(data)
	if err != nil {
		return nil, &model.Error{Code: "PROTOCOL", Err: err, Message: p.cfg.ProviderID + " answered the question for its models with something that is no JSON; check model.base_url"}
	}
	if d := v.Get("data"); d.IsArray() {
		v = d
	}
	list := make([]model.Info, 0, v.Len())
	for _, m := range v.Elements() {
		if i := info(m); i.ID != "" && chats(i.ID) {
			list = append(list, i)
		}
	}
	return list, nil
}

// info reads one entry of a list, with what OpenRouter, vLLM, llama.cpp,
// LM Studio and others add to it.
func info(v jsonvalue.Value) model.Info {
	i := model.Info{ID: v.GetString("id"), Name: v.GetString("name")}
	if i.Name == "" {
		i.Name = v.GetString("display_name")
	}
	first := func(values ...jsonvalue.Value) int64 {
		for _, x := range values {
			if n, ok := x.Int64(); ok && n > 0 {
				return n
			}
		}
		return 0
	}
	meta := v.Get("meta")
	i.ContextWindow = first(v.Get("context_length"), v.Get("max_model_len"), v.Get("context_window"),
		v.Get("loaded_context_length"), v.Get("max_context_length"), meta.Get("n_ctx"), meta.Get("n_ctx_train"))
	i.MaxOutput = first(v.Get("top_provider").Get("max_completion_tokens"), v.Get("max_completion_tokens"), v.Get("max_output_tokens"))
	for _, m := range v.Get("architecture").Get("input_modalities").Elements() {
		if s, _ := m.Str(); s == "image" {
			i.Images = true
		}
	}
	for _, m := range v.Get("supported_parameters").Elements() {
		if s, _ := m.Str(); s == "reasoning" {
			i.Reasoning = true
		}
	}
	return known.Merge(i)
}

// chats reports whether a model of that name can hold a conversation. OpenAI
// lists everything it has.
func chats(id string) bool {
	for _, word := range []string{"embedding", "whisper", "tts-", "dall-e", "moderation", "transcribe", "realtime", "gpt-image", "-audio", "babbage", "davinci", "sora-", "-tts"} {
		if strings.Contains(id, word) {
			return false
		}
	}
	return true
}
