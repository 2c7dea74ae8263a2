package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Web says what web_fetch and web_search reach.
type Web struct {
	// AllowPrivate lists addresses, networks and hosts, perhaps with ports, that
	// are reached although they are private or this machine's own.
	AllowPrivate []string
	Search       WebSearch
}

// WebSearch is the service that web_search asks.
type WebSearch struct {
	Provider  string // one of SearchProviders; "" means that there is no web_search
	BaseURL   string // "" means the service's own
	APIKeyEnv string // the environment variable that holds the key; "" when none is needed
}

// SearchProviders are the services that can search.
var SearchProviders = []string{"searxng", "brave", "tavily"}

func webSection() *key {
	provider := enum("provider", "", SearchProviders, "The service that `web_search` asks; without one the model has no such tool. `searxng` is a server of your own, the others want a key.",
		func(c *Config) *string { return &c.Web.Search.Provider })
	base := baseURL()
	base.doc = "The service's address. `searxng` needs it."
	base.initial = "the service's own"
	readURL := base.read
	base.read = func(r *reader, n *node) (change, error) {
		_, err := readURL(r, n)
		v, _ := parseText(n)
		return func(c *Config) { c.Web.Search.BaseURL = v }, err
	}
	keyEnv := text("api_key_env", "by provider", "Name of the environment variable that holds the service's key: `BRAVE_API_KEY`, `TAVILY_API_KEY`.",
		func(c *Config) *string { return &c.Web.Search.APIKeyEnv })
	readText := keyEnv.read
	keyEnv.read = func(r *reader, n *node) (change, error) {
		if n.kind == kindString || n.kind == kindNumber {
			if err := checkEnvName(n.text); err != nil {
				return nil, err
			}
		}
		return readText(r, n)
	}
	return section("web", allowPrivateKey(), section("search", provider, base, keyEnv))
}

func allowPrivateKey() *key {
	return &key{
		name: "allow_private", typ: "list of text", initial: "[]",
		doc: "What `web_fetch` may reach of this machine and of private networks: hosts, addresses, either with a port, and networks, such as [\"localhost:3000\", 10.0.0.0/8].",
		read: func(_ *reader, n *node) (change, error) {
			var list []string
			err := readList(n, "hosts and networks", func(item *node) error {
				v, err := parseText(item)
				if err != nil {
					return err
				}
				list = append(list, v)
				return checkHost(v)
			})
			return func(c *Config) { c.Web.AllowPrivate = list }, err
		},
	}
}

// checkHost refuses what is neither a host nor a network.
func checkHost(v string) error {
	if _, err := netip.ParsePrefix(v); err == nil {
		return nil
	}
	switch {
	case strings.TrimSpace(v) == "":
		return errors.New("must not be empty")
	case strings.Contains(v, "://"):
		return fmt.Errorf("%q is a URL; write the host alone, perhaps with a port", v)
	case strings.ContainsAny(v, "/*?@ "):
		return fmt.Errorf("%q is neither a host nor a network such as 10.0.0.0/8", v)
	}
	return nil
}

// searchDefaults fills what follows from the service when nobody set it.
func searchDefaults(s *WebSearch) {
	if s.APIKeyEnv != "" {
		return
	}
	switch s.Provider {
	case "brave":
		s.APIKeyEnv = "BRAVE_API_KEY"
	case "tavily":
		s.APIKeyEnv = "TAVILY_API_KEY"
	}
}
