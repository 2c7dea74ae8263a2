package main

import (
	"context"
	"fmt"
	"os"

	"github.com/dsh-acp/dsh-acp/internal/policy"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools/web"
)

// registerWeb adds the tools that reach the network. web_search is there when a
// service is configured.
func (a *app) registerWeb(global *registry.Scope) error {
	o := web.Options{UserAgent: "dsh-acp/" + versionString(), Follow: a.mayFollow}
	var err error
	if o.Allow, err = web.ParseAllow(a.cfg.Web.AllowPrivate); err != nil {
		return fmt.Errorf("web.allow_private: %w", err)
	}
	if o.Search, err = a.searcher(); err != nil {
		return fmt.Errorf("web.search: %w", err)
	}
	a.web, err = web.Register(global, o)
	return err
}

// mayFollow asks the policy of the session whose call it is about a redirect.
func (a *app) mayFollow(exec *registry.Execution, to string) bool {
	s := a.sessionOf(exec)
	return s == nil || s.policy.MayFollow(exec, to) // no session, no policy
}

// vain says why a call would fail whatever a person answers: what web_fetch never
// reaches need not be asked about.
func (a *app) vain(c policy.Call) string {
	if c.Tool != web.FetchName {
		return ""
	}
	return a.web.Refusal(c.Arguments.GetString("url"))
}

// searcher is the configured search service; nil when there is none.
func (a *app) searcher() (web.Searcher, error) {
	s := a.cfg.Web.Search
	if s.Provider == "" {
		return nil, nil
	}
	return web.NewSearcher(web.Service{
		Provider: s.Provider, BaseURL: s.BaseURL, UserAgent: "dsh-acp/" + versionString(), Key: a.searchKey,
	})
}

func (a *app) searchKey() (string, error) {
	name := a.cfg.Web.Search.APIKeyEnv
	if key := os.Getenv(name); key != "" {
		return key, nil
	}
	return "", fmt.Errorf("there is no key: the user has to set %s, or web.search.api_key_env in the configuration", name)
}

// checkWeb asks a search server of the user's own. A service that is paid for is
// not asked: its key has to be there.
func (a *app) checkWeb(ctx context.Context, r *report) {
	s := a.cfg.Web.Search
	service, err := a.searcher()
	switch {
	case err != nil:
		r.bad("web search", "%v", err)
	case service == nil:
		r.note("web search", "no service is configured, so the model has no web_search; see web.search")
	case s.APIKeyEnv != "":
		if _, err := a.searchKey(); err != nil {
			r.bad("web search", "%s: %v", s.Provider, err)
			return
		}
		r.ok("web search", "%s, with a key from %s", s.Provider, s.APIKeyEnv)
	default:
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		found, err := service.Search(ctx, "ACP agent", 1)
		if err != nil {
			r.bad("web search", "%s: %v", s.Provider, err)
			return
		}
		r.ok("web search", "%s at %s, which found %d pages", s.Provider, s.BaseURL, len(found.Sources))
	}
}
