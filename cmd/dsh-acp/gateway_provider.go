package main

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// gatewayProvider is a provider behind a gateway of the editor. Failures are
// stored in the session's log and shown, so they name neither its address, which
// is nobody's business, nor the setting that it did not come from.
type gatewayProvider struct {
	model.Provider
	words *strings.Replacer
}

func behindGateway(p model.Provider, base *url.URL) gatewayProvider {
	const name = "the editor's gateway"
	return gatewayProvider{p, strings.NewReplacer(
		base.Scheme+"://"+base.Host, name,
		base.Host, name,
		base.Hostname(), name,
		"model.base_url", "the address that the editor gave",
	)}
}

// Stream asks through the gateway.
func (g gatewayProvider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for c, err := range g.Provider.Stream(ctx, req) {
			if !yield(c, g.veil(err)) {
				return
			}
		}
	}
}

// Models lists what the gateway offers.
func (g gatewayProvider) Models(ctx context.Context) ([]model.Info, error) {
	infos, err := g.Provider.Models(ctx)
	return infos, g.veil(err)
}

// Describe is the provider's own; see [model.Describer].
func (g gatewayProvider) Describe(id string) model.Info {
	if d, ok := g.Provider.(model.Describer); ok {
		return d.Describe(id)
	}
	return model.Info{ID: id}
}

// veil puts other words for the address into a failure.
func (g gatewayProvider) veil(err error) error {
	var e *model.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Message = g.words.Replace(e.Error())
	if e.Err != nil {
		out.Err = errors.New(g.words.Replace(e.Err.Error()))
	}
	return &out
}

// checkHeaders refuses what could not be sent. Its error quotes nothing: headers
// hold keys.
func checkHeaders(headers map[string]string) error {
	for name, value := range headers {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
		}) {
			return errors.New("the name of a header holds characters that no header's name has")
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return errors.New("the value of a header holds a control character, such as a line end")
		}
	}
	return nil
}
