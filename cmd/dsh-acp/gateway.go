package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// useGateway sends every later model request to another address with these
// headers, which bring what the gateway wants to know; no key of the user goes
// there. The provider, its model and the sessions stay what they are. It is safe
// to call while turns run: they finish where they began.
func (a *app) useGateway(baseURL string, headers map[string]string) error {
	if _, ok := a.provider.(*model.Swap); !ok {
		return errors.Join(errors.New("no model is configured that a gateway could stand for"), a.providerErr)
	}
	switch a.cfg.Model.Provider {
	case "local", "replay":
		return fmt.Errorf("the model %q answers without a server, so there is nothing for a gateway to do", a.cfg.Model.Provider)
	}
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return errors.New("the address of the gateway must be an http or https URL without a password")
	}
	if err := checkHeaders(headers); err != nil {
		return err
	}
	cfg := *a.cfg
	cfg.Model.BaseURL = baseURL
	cfg.Model.Headers = map[string]string{}
	maps.Copy(cfg.Model.Headers, a.cfg.Model.Headers)
	maps.Copy(cfg.Model.Headers, headers)
	a.guardHeaders(headers)
	p, _, err := newProvider(&cfg, nil, a.logger)
	if err != nil {
		return err
	}
	a.swapProvider(behindGateway(p, u))
	a.gateway.Store(true)
	return nil
}

// swapProvider makes another provider of the same kind the one that is asked.
func (a *app) swapProvider(p model.Provider) {
	if swap, ok := a.provider.(*model.Swap); ok {
		swap.Set(p)
		a.catalogue.Forget()
	}
}
