package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// What fails behind a gateway is logged with the session and shown: its address is
// in neither, and no setting is blamed that has nothing to do with it.
func TestAGatewayIsNotNamed(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("OPENAI_API_KEY", "sk-of-the-user-0123456789")
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-user-0123456789")
	status := func(code int, body string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://"+r.Host+"/elsewhere")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, base := range map[string]string{
		"nobody":    gone.URL,
		"no host":   "http://gateway-of-nobody.invalid",
		"no TLS":    strings.Replace(status(200, ""), "http://", "https://", 1),
		"not found": status(404, "no"),
		"moved":     status(301, ""),
		"web page":  status(200, "<html><title>x</title></html>"),
		"no JSON":   status(200, "data: nonsense\n\n"),
	} {
		for _, provider := range []string{"openai", "anthropic"} {
			cfg, err := config.Load(config.Options{Flags: config.Flags{Model: provider + "/m"}, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			a, err := newApp(cfg, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer a.close()
			if err := a.useGateway(base+"/secret-path", nil); err != nil {
				t.Fatal(err)
			}
			u, _ := url.Parse(base)
			_, failed := askModel(t, a.provider)
			if failed == nil {
				t.Errorf("%s, %s: it did not fail", name, provider)
				continue
			}
			for _, e := range []error{failed, errors.Unwrap(failed)} {
				if e != nil && (strings.Contains(e.Error(), u.Hostname()) || strings.Contains(e.Error(), "base_url") || strings.Contains(e.Error(), "secret-path")) {
					t.Errorf("%s, %s: %v", name, provider, e)
				}
			}
			var e *model.Error
			if !errors.As(failed, &e) || e.Code == "" {
				t.Errorf("%s, %s: %#v", name, provider, failed)
			}
		}
	}
}

func TestHeadersOfAGateway(t *testing.T) {
	for name, ok := range map[string]bool{"X-Tenant": true, "authorization": true, "": false, "A B": false, "A\nB": false, "A:": false, "é": false, "\x00": false} {
		if err := checkHeaders(map[string]string{name: "v"}); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for value, ok := range map[string]bool{"": true, "Bearer x y": true, "a\tb": true, "é": true, "a\r\nX: y": false, "\x00": false, "\x7f": false} {
		err := checkHeaders(map[string]string{"X": value})
		if (err == nil) != ok || err != nil && value != "" && strings.Contains(err.Error(), value) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// The key leads back from a gateway, when there is one.
func TestLeavingAGateway(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("OPENAI_API_KEY", "")
	cfg, err := config.Load(config.Options{Flags: config.Flags{Model: "openai/m"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	gate, _ := answering(t, "gate")
	if err := a.UseGateway(gate, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.LogIn(t.Context()); err == nil {
		t.Error("logged in without a key")
	}
	if said, err := askModel(t, a.provider); said != "gate" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
	t.Setenv("OPENAI_API_KEY", "sk-of-the-user-0123456789")
	if err := a.LogIn(t.Context()); err != nil || a.gateway.Load() || a.AuthHint() == "" {
		t.Errorf("%v", err)
	}
	if _, behind := a.provider.(*model.Swap).Current().(gatewayProvider); behind {
		t.Error("still behind the gateway")
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
