package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/consent"
)

func TestProject(t *testing.T) {
	dir := t.TempDir()
	store := consent.Store{Dir: t.TempDir()}
	path := filepath.Join(dir, ProjectFile)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := FindProject(dir, store); p != nil || err != nil {
		t.Errorf("%+v %v", p, err)
	}
	write(`{"mcpServers":{
		"b":{"command":"./tool","args":["-x","${HOME}"],"env":{"K":"v"},"disabled":false,"gallery":true},
		"off":{"command":"x","disabled":true},"perhaps":{"command":"x","disabled":"no"},
		"a":{"type":"streamable-http","url":"https://example.org/mcp","headers":{"A":"b"}},
		"old":{"type":"sse","url":"https://example.org/sse","args":null},
		"none":{},"number":5,"odd":{"type":"ws","url":"x"},"list":{"command":"x","args":"y"},"envs":{"command":"x","env":{"A":1}}}}`)
	p, err := FindProject(dir, store)
	if err != nil || len(p.Servers) != 3 || p.Allowed {
		t.Fatalf("%+v %v", p, err)
	}
	b, a := p.Servers[0], p.Servers[1]
	if b.Name != "b" || b.Command != filepath.Join(dir, "tool") || b.Args[1] != "${HOME}" || b.Transport != Stdio || b.Origin != FromWorkspace {
		t.Errorf("%+v", b)
	}
	if a.Transport != HTTP || a.Headers["A"] != "b" {
		t.Errorf("%+v", a)
	}
	got := strings.Join(p.Problems, "\n")
	for _, want := range []string{
		"mcpServers.b.gallery is not read", "mcpServers.off: it is disabled", "mcpServers.perhaps: it is disabled", "none: a stdio server needs a command", "number: must be an object", `odd: type must be stdio, http or sse, not "ws"`,
		"list: args must be a list of texts, not string", "envs: env.A must be text",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if err := store.Allow(p.Key); err != nil {
		t.Fatal(err)
	}
	if p, _ := FindProject(dir, store); !p.Allowed {
		t.Error("consent is forgotten")
	}
	write(`{"mcpServers":{"b":{"command":"./tool2"}}}`)
	if p, _ := FindProject(dir, store); p.Allowed {
		t.Error("consent covers what has changed")
	}
	for _, text := range []string{"", "[]", `{"mcpServers":[]}`, `{"servers":5}`, "{", strings.Repeat(" ", maxProjectFile+1)} {
		write(text)
		if p, err := FindProject(dir, store); p != nil || err == nil {
			t.Errorf("%.20q: %+v %v", text, p, err)
		}
	}
	write(`{}`)
	if p, err := FindProject(dir, store); p != nil || err != nil {
		t.Errorf("%+v %v", p, err)
	}
	_ = os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := FindProject(dir, store); err == nil {
		t.Error("a folder is read")
	}
}

// VS Code's shape is read too; what no shape knows is reported.
func TestFindProjectReadsServersToo(t *testing.T) {
	for _, tt := range []struct{ text, servers, problems string }{
		{`{"servers":{"a":{"type":"stdio","command":"x"}}}`, "a=x", ""},
		{
			`{"$schema":"s","servers":{"a":{"command":"x"},"b":{"url":"https://e/"}},"mcpServers":{"b":{"command":"y"}},"inputs":[]}`, "b=y a=x",
			"servers.b has no effect: there is mcpServers.b already; inputs is not read",
		},
		{`{"mcpServers":{"b":{}},"servers":{"b":{"command":"y"}}}`, "", "mcpServers.b: a stdio server needs a command; servers.b has no effect: there is mcpServers.b already"},
		{`{"servers":null,"mcp_servers":{"a":{"command":"x"}}}`, "", "mcp_servers is not read"},
		{`{"servers":{"a":{"args":5}}}`, "", "servers.a: args must be a list of texts, not number"},
	} {
		p, err := parseProject("/w/.mcp.json", []byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		var servers []string
		for _, c := range p.Servers {
			servers = append(servers, c.Name+"="+c.Target())
		}
		if got := strings.Join(servers, " "); got != tt.servers {
			t.Errorf("%s: servers %s, want %s", tt.text, got, tt.servers)
		}
		if got := strings.Join(p.Problems, "; "); got != tt.problems {
			t.Errorf("%s: problems %s, want %s", tt.text, got, tt.problems)
		}
	}
}

func FuzzProject(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":"x","args":["y"],"env":{"K":"v"}}}}`))
	f.Add([]byte(`{"mcpServers":{"a":{"type":"http","url":"https://x/","headers":null}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parseProject("/w/.mcp.json", text)
		if err != nil {
			return
		}
		for _, c := range p.Servers {
			if c.Origin != FromWorkspace || (c.Transport == Stdio) == (c.Command == "") && c.Transport == Stdio {
				t.Errorf("%+v", c)
			}
		}
	})
}
