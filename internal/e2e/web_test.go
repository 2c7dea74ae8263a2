package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// site is a server on this machine, and its host with the port.
func site(t *testing.T) (host string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<h1>Welcome</h1><p>to <a href=/next>this</a> page</p>")
		case "/search":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"results":[{"url":"https://docs.example.com/x","title":"About %s","content":"An excerpt."}]}`, r.URL.Query().Get("q"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func fetchOf(url string) string { return tool("web_fetch", map[string]any{"url": url}) }

func TestFetchingAPageAsksForItsHost(t *testing.T) {
	host := site(t)
	c := start(t, setup{config: "model: {provider: local}\nweb: {allow_private: [127.0.0.1]}\n"})
	var asked []string
	c.permit = func(params json.RawMessage) string {
		asked = append(asked, string(params))
		return "allow_always"
	}
	s := c.open(nil)
	c.prompt(s, fetchOf("http://"+host+"/page"))
	c.prompt(s, fetchOf("http://"+host+"/missing"))
	if len(asked) != 1 || !strings.Contains(asked[0], "Allow always: web_fetch "+host) || !strings.Contains(asked[0], `"kind":"fetch"`) {
		t.Errorf("asked %d times: %q", len(asked), asked)
	}
	calls := c.calls(s)
	if len(calls) != 2 || calls[0].Status != "completed" || calls[0].Kind != "fetch" || calls[0].Title != "http://"+host+"/page" {
		t.Fatalf("%+v", calls)
	}
	if text := string(calls[0].Content); !strings.Contains(text, "# Welcome") || !strings.Contains(text, "[this](http://"+host+"/next)") {
		t.Error(text)
	}
	if !strings.Contains(string(calls[0].Meta), `"statusCode":200`) || !strings.Contains(string(calls[1].Meta), `"statusCode":404`) {
		t.Errorf("%s %s", calls[0].Meta, calls[1].Meta)
	}
}

func TestThisMachineIsNotFetched(t *testing.T) {
	host := site(t)
	c := start(t, setup{config: fullAccess})
	s := c.open(nil)
	c.prompt(s, fetchOf("http://"+host+"/page"))
	if calls := c.calls(s); len(calls) != 1 || calls[0].Status != "failed" || !strings.Contains(string(calls[0].Content), "is a private or local address") {
		t.Errorf("%+v", calls)
	}
}

// Nobody is asked about a URL that is not fetched anyway.
func TestNobodyIsAskedAboutWhatIsNotFetched(t *testing.T) {
	host := site(t)
	c := start(t, setup{config: "model: {provider: local}\n"})
	c.permit = func(json.RawMessage) string { t.Error("asked"); return "allow_once" }
	s := c.open(nil)
	for url, want := range map[string]string{
		"http://" + host + "/page":     "is a private or local address",
		"http://localhost:1/":          "is a private or local address",
		"file:///etc/passwd":           "unsupported URL scheme",
		"https://u:p@docs.example.com": "credentials in URLs are not allowed",
		"":                             "url must be a non-empty string",
	} {
		c.prompt(s, fetchOf(url))
		calls := c.calls(s)
		if last := calls[len(calls)-1]; last.Status != "failed" || !strings.Contains(string(last.Content), want) {
			t.Errorf("%s: %+v", url, last)
		}
	}
}

func TestRulesForHosts(t *testing.T) {
	host := site(t)
	c := start(t, setup{config: "model: {provider: local}\nweb: {allow_private: [\"" + host + "\"]}\npermissions:\n  rules:\n" +
		"    - {tool: web_fetch, match: \"" + host + "/missing\", decision: deny, reason: Not that one.}\n    - {tool: web_fetch, match: \"" + host + "\", decision: allow}\n"})
	c.permit = func(json.RawMessage) string { t.Error("asked"); return "reject_once" }
	s := c.open(nil)
	c.prompt(s, fetchOf("http://"+host+"/page")+"\n"+fetchOf("http://"+host+"/missing"))
	calls := c.calls(s)
	if len(calls) != 2 || calls[0].Status != "completed" || calls[1].Status != "failed" || !strings.Contains(string(calls[1].Content), "Not that one.") {
		t.Errorf("%+v", calls)
	}
}

func TestSearchingTheWeb(t *testing.T) {
	host := site(t)
	c := start(t, setup{config: fullAccess + "tools: {mode: both}\nweb: {search: {provider: searxng, base_url: \"http://" + host + "\"}}\n"})
	s := c.open(nil)
	c.prompt(s, tool("web_search", map[string]any{"query": "gophers"}))
	calls := c.calls(s)
	if len(calls) != 1 || calls[0].Status != "completed" || calls[0].Kind != "search" || !strings.Contains(string(calls[0].Content), "[About gophers](https://docs.example.com/x) — An excerpt.") {
		t.Fatalf("%+v", calls)
	}
	if !strings.Contains(string(calls[0].Content), `"resource_link"`) || !strings.Contains(string(calls[0].Meta), `"kind":"search"`) {
		t.Errorf("%s %s", calls[0].Content, calls[0].Meta)
	}
	c.prompt(s, fenced(`return (await tools.web_search({query: "moles"})).sources[0].title`))
	if calls := c.calls(s); !strings.Contains(string(calls[1].RawOutput), "About moles") {
		t.Errorf("%+v", calls[1])
	}
}
