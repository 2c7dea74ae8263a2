package main

import (
	"fmt"
	"os"

	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools/web"
)

// registerWeb adds the tools that reach the network. web_search is there when a
// service is configured.
func (a *app) registerWeb(global *registry.Scope) error {
	o := web.Options{UserAgent: "dsh-acp/" + versionString()}
	var err error
	if o.Allow, err = web.ParseAllow(a.cfg.Web.AllowPrivate); err != nil {
		return fmt.Errorf("web.allow_private: %w", err)
	}
	if s := a.cfg.Web.Search; s.Provider != "" {
		o.Search, err = web.NewSearcher(web.Service{
			Provider: s.Provider, BaseURL: s.BaseURL, UserAgent: o.UserAgent,
			Key: func() (string, error) {
				if key := os.Getenv(s.APIKeyEnv); key != "" {
					return key, nil
				}
				return "", fmt.Errorf("there is no key: the user has to set %s, or web.search.api_key_env in the configuration", s.APIKeyEnv)
			},
		})
		if err != nil {
			return fmt.Errorf("web.search: %w", err)
		}
	}
	a.web, err = web.Register(global, o)
	return err
}
