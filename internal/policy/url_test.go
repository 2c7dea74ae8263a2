package policy

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func fetch(url string) Call {
	return Call{Tool: "web_fetch", Arguments: jsonvalue.Object(jsonvalue.Member{Key: "url", Value: jsonvalue.String(url)}), Cwd: "/work"}
}

func search(query string) Call {
	return Call{Tool: "web_search", Arguments: jsonvalue.Object(jsonvalue.Member{Key: "query", Value: jsonvalue.String(query)}), Cwd: "/work"}
}

func TestRulesAboutSites(t *testing.T) {
	for _, c := range []struct{ rule, url, want string }{
		{"", "https://docs.example.com/a", "ask"},
		{"allow web_fetch: docs.example.com", "https://docs.example.com/a?b", "allow"},
		{"allow web_fetch: docs.example.com", "HTTPS://DOCS.EXAMPLE.COM.:443/", "allow"},
		{"allow web_fetch: docs.example.com", "http://docs.example.com/", "allow"},
		{"allow web_fetch: docs.example.com", "https://docs.example.com:8443/", "ask"},
		{"allow web_fetch: docs.example.com:8443", "https://docs.example.com:8443/", "allow"},
		{"allow web_fetch: docs.example.com:*", "https://docs.example.com:8443/", "allow"},
		{"allow web_fetch: docs.example.com", "https://docs.example.com.evil.net/", "ask"},
		{"allow web_fetch: docs.example.com", "https://evil.net/docs.example.com", "ask"},
		{"allow web_fetch: docs.example.com", "https://docs.example.com@evil.net/", "ask"},
		{"allow web_fetch: docs.example.com", "https://evil.net#docs.example.com", "ask"},
		{"allow web_fetch: docs.example.com", "https://evil.net?docs.example.com/", "ask"},
		{"allow web_fetch: docs.example.com", "https://example.com/", "ask"},
		{"allow web_fetch: docs.example.com", "", "ask"},
		{"allow web_fetch: *.example.com", "https://a.b.example.com/", "allow"},
		{"allow web_fetch: *.example.com", "https://example.com/", "ask"},
		{"allow web_fetch: *.example.com", "https://notexample.com/", "ask"},
		{"allow web_fetch: https://example.com", "https://example.com/", "allow"},
		{"allow web_fetch: https://example.com", "http://example.com/", "ask"},
		{"allow web_fetch: example.com/docs/*", "https://example.com/docs/a/b", "allow"},
		{"allow web_fetch: example.com/docs/*", "https://example.com/docs", "allow"},
		{"allow web_fetch: example.com/docs/*", "https://example.com/docsx", "ask"},
		{"allow web_fetch: example.com/docs/*", "https://example.com/docs/../admin", "ask"},
		{"allow web_fetch: example.com/docs/*", "https://example.com/docs/%2e%2e/admin", "ask"},
		{"allow web_fetch: example.com/docs/*", "https://example.com/docs/..%2fadmin", "ask"},
		{"allow web_fetch: example.com/docs/*", "https://example.com/docs//x", "ask"},
		{"allow web_fetch: example.com/docs", "https://example.com/docs/", "allow"},
		{"allow web_fetch: example.com/docs", "https://example.com/docs/a", "ask"},
		{"allow web_fetch: bücher.example", "https://xn--bcher-kva.example/", "allow"},
		{"allow web_fetch: xn--bcher-kva.example", "https://BÜCHER.example/", "allow"},
		{"allow web_fetch", "https://anything.example/", "allow"},
		{"allow web_*: example.com", "https://example.com/", "allow"},
		{"allow *: example.com", "https://example.com/", "ask"},
		{"allow *: src/**", "https://src/x", "ask"},
		{"deny web_fetch: *.internal", "https://a.internal:99/", "deny"},
		{"deny web_fetch: example.com/admin", "https://example.com/admin/users", "deny"},
		{"deny web_fetch: example.com/admin", "https://example.com/x/../admin/", "deny"},
		{"deny web_fetch: example.com/admin", "https://example.com/administer", "ask"},
		{"deny *: **/.env", "https://example.com/x/.env", "ask"},
		{"deny web_fetch: 10.0.0.1", "http://[::ffff:10.0.0.1]/", "deny"},
		{"deny web_fetch: ::1", "http://[::1]/", "ask"}, // a port; the brackets are needed
		{"deny web_fetch: [::1]", "http://[::1]:80/", "deny"},
		{"ask web_fetch: example.com", "https://example.com/", "ask"},
	} {
		var lines []string
		if c.rule != "" {
			lines = []string{c.rule}
		}
		if got := word(newPolicy(t, WorkspaceWrite, lines...).DecideCall(fetch(c.url))); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.rule, c.url, got, c.want)
		}
	}
}

func TestPresetsAndTheNetwork(t *testing.T) {
	for preset, want := range map[Preset]string{ReadOnly: "ask", WorkspaceWrite: "ask", FullAccess: "allow"} {
		for _, call := range []Call{fetch("https://example.com/"), search("words")} {
			p := newPolicy(t, preset)
			if got := word(p.DecideCall(call)); got != want {
				t.Errorf("%s under %s: %s", call.Tool, preset, got)
			}
			p.SetPlanning(true)
			if got := word(p.DecideCall(call)); got != want {
				t.Errorf("%s under %s, planning: %s", call.Tool, preset, got)
			}
		}
	}
	if got := newPolicy(t, WorkspaceWrite).DecideCall(fetch("https://example.com:8080/x")).Reason(); got != "web_fetch reaches example.com:8080 (preset workspace-write)" {
		t.Error(got)
	}
	if got := word(newPolicy(t, WorkspaceWrite, "deny web_search: *secret*").DecideCall(search("my secret word"))); got != "deny" {
		t.Error(got)
	}
}

// What a person allows for good is a host, not the web.
func TestGrantsAreForHosts(t *testing.T) {
	p := newPolicy(t, WorkspaceWrite)
	g, ok := p.GrantForCall(fetch("https://Docs.Example.com/a"))
	if !ok || g.Label != "Allow always: web_fetch docs.example.com (this session)" {
		t.Fatalf("%+v %v", g, ok)
	}
	p.Grants().Remember(g)
	for url, want := range map[string]string{
		"https://docs.example.com/other":   "allow",
		"http://docs.example.com/":         "allow",
		"https://docs.example.com:8443/":   "ask",
		"https://example.com/":             "ask",
		"https://docs.example.com.evil.c/": "ask",
	} {
		if got := word(p.DecideCall(fetch(url))); got != want {
			t.Errorf("%s: %s", url, got)
		}
	}
	if _, ok := p.GrantForCall(fetch("nonsense")); ok {
		t.Error("a grant for no host is offered")
	}
	if g, ok := p.GrantForCall(search("x")); !ok || g.Label != "Allow always: web_search (this session)" {
		t.Errorf("%+v", g)
	}
}
