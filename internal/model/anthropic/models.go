package anthropic

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
	"github.com/dsh-acp/dsh-acp/internal/model/known"
)

// listTimeout bounds how long a list of models is waited for.
const listTimeout = 5 * time.Second

// Models lists the configured model first, then those of the configuration,
// then what the server has. When the server cannot say, what is configured is
// enough, and only if that is nothing the failure is returned.
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
		own := p.info(p.cfg.Model)
		for _, i := range served {
			if i.ID == own.ID && own.Name == "" {
				own.Name = i.Name
			}
		}
		add(own)
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
	if i.Reasoning && len(i.Efforts) == 0 {
		return []string{"off", "low", "medium", "high", "max"}
	}
	return i.Efforts
}

// fetch asks the server, until it has answered once.
func (p *Provider) fetch(ctx context.Context) ([]model.Info, error) {
	p.mu.Lock()
	list := p.listed
	p.mu.Unlock()
	if list != nil {
		return list, nil
	}
	resp, err := p.client.Do(ctx, httpx.Request{Method: http.MethodGet, Path: "/v1/models?limit=1000", Header: p.header("application/json")})
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
	list = make([]model.Info, 0, v.Get("data").Len())
	for _, m := range v.Get("data").Elements() {
		i := model.Info{ID: m.GetString("id"), Name: m.GetString("display_name")}
		i.ContextWindow, _ = m.Get("max_input_tokens").Int64()
		i.MaxOutput, _ = m.Get("max_tokens").Int64()
		if i.ID != "" {
			list = append(list, known.Merge(i))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed = list
	return list, nil
}
