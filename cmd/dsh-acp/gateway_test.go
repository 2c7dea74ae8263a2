package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

func askModel(t *testing.T, p model.Provider) (said string, failed error) {
	t.Helper()
	req := model.Request{SessionID: "s", Messages: []model.Message{{Role: model.RoleUser, Content: []model.Part{model.Text("hello")}}}}
	for c, err := range p.Stream(context.Background(), req) {
		if err != nil {
			return said, err
		}
		said += c.Text
	}
	return said, nil
}

// answering is a server that says its name, and keeps what it was sent.
func answering(t *testing.T, name string) (url string, headers func() http.Header) {
	t.Helper()
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		if r.Header.Get("X-Refuse") != "" {
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"error":{"message":"no such tenant: %s"}}`, r.Header.Get("X-Tenant"))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", name)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() http.Header { return got }
}

func TestAGatewayStandsForTheServer(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("OPENAI_API_KEY", "sk-of-the-user-0123456789")
	own, ownSaw := answering(t, "own")
	gate, gateSaw := answering(t, "gate")
	cfg, err := config.Load(config.Options{Flags: config.Flags{Model: "openai/m"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Model.BaseURL = own
	cfg.Model.Headers = map[string]string{"X-Tenant": "a"}
	a, err := newApp(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if said, err := askModel(t, a.provider); said != "own" || err != nil || ownSaw().Get("Authorization") != "Bearer sk-of-the-user-0123456789" || ownSaw().Get("X-Tenant") != "a" {
		t.Fatalf("%q, %v, %v", said, err, ownSaw())
	}
	if err := a.useGateway(gate, map[string]string{"Authorization": "Bearer of-the-gateway", "X-Tenant": "b"}); err != nil {
		t.Fatal(err)
	}
	said, err := askModel(t, a.provider)
	if h := gateSaw(); said != "gate" || err != nil || h.Get("Authorization") != "Bearer of-the-gateway" || h.Get("X-Tenant") != "b" {
		t.Errorf("%q, %v, %v", said, err, gateSaw())
	}
	if a.provider.ProviderID() != "openai" || a.AuthHint() != "" || a.CheckAuth(t.Context()) != nil {
		t.Error("the gateway brings its own key")
	}
	// What the headers hold is in no message.
	if err := a.useGateway(gate, map[string]string{"X-Refuse": "1", "X-Tenant": "top-secret-tenant"}); err != nil {
		t.Fatal(err)
	}
	if _, err := askModel(t, a.provider); err == nil || strings.Contains(err.Error(), "top-secret") {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"", "gate", "ftp://gate", "http://user:word@gate"} {
		if a.useGateway(bad, nil) == nil {
			t.Errorf("%q is taken for an address", bad)
		}
	}
}

func TestAConfiguredAuthorizationStandsForTheKey(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for provider, env := range map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"} {
		t.Setenv(env, "sk-of-the-user-0123456789")
		url, saw := answering(t, "own")
		cfg, err := config.Load(config.Options{Flags: config.Flags{Model: provider + "/m"}, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Model.BaseURL, cfg.Model.Headers = url, map[string]string{"Authorization": "Bearer other"}
		a, err := newApp(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		_, _ = askModel(t, a.provider) // what it answers is no matter here
		if h := saw(); h.Get("Authorization") != "Bearer other" || h.Get("X-Api-Key") != "" {
			t.Errorf("%s: sent %v", provider, h)
		}
	}
}

func TestWhatIsConfiguredOfAModelHolds(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic"} {
		cfg := &config.Config{Model: config.Model{Provider: provider, Name: "mine", BaseURL: "http://127.0.0.1:1", ContextWindow: 1000, MaxOutput: 100, Images: "yes"}}
		p, _, err := newProvider(cfg, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		d := p.(model.Describer)
		if i := d.Describe("mine"); i.ContextWindow != 1000 || i.MaxOutput != 100 || !i.Images {
			t.Errorf("%s: %+v", provider, i)
		}
		if i := d.Describe("other"); i.ContextWindow != 0 || i.Images {
			t.Errorf("%s: another model has what is configured for the chosen one: %+v", provider, i)
		}
		infos, err := p.Models(t.Context())
		if err != nil || len(infos) != 1 || !infos[0].Images {
			t.Errorf("%s: %+v, %v", provider, infos, err)
		}
	}
}
