package config

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestServer(t *testing.T) {
	w := newWorld(t)
	w.write(w.userFile, `mcp_servers:
  files:
    command: ./bin/files
    args: [--root, "${ROOT:-/srv}"]
    cwd: work
    env: {TOKEN: "${FILES_TOKEN}"}
    start_timeout: 5s
    call_timeout: 2m
  web: {url: "https://example.org/mcp", type: sse, headers: {Authorization: "Bearer ${WEB_TOKEN}"}, disabled: true}
`)
	c := w.load(Flags{})
	dir := filepath.Dir(w.userFile)
	if len(c.MCPServers) != 2 || len(c.Warnings) != 0 {
		t.Fatalf("%+v %v", c.MCPServers, c.Warnings)
	}
	files, web := c.MCPServers[0], c.MCPServers[1]
	if files.Command != filepath.Join(dir, "bin/files") || files.Cwd != filepath.Join(dir, "work") || files.Type != "stdio" ||
		files.StartTimeout != 5*time.Second || files.CallTimeout != 2*time.Minute || files.Env["TOKEN"] != "${FILES_TOKEN}" {
		t.Errorf("%+v", files)
	}
	if web.Type != "sse" || !web.Disabled || web.Origin != w.userFile+":9" {
		t.Errorf("%+v", web)
	}
}

func TestExpandEnv(t *testing.T) {
	env := map[string]string{"A": "1", "EMPTY": ""}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for in, want := range map[string]string{
		"":                   "",
		"plain $A $$ {A}":    "plain $A $$ {A}",
		"${A}${A}":           "11",
		"x${B:-d}y":          "xdy",
		"${EMPTY:-d}":        "d",
		"${EMPTY}":           "",
		"Bearer ${A}":        "Bearer 1",
		"${B:-with } brace}": "with  brace}",
	} {
		if got, err := ExpandEnv(in, lookup); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", in, got, err, want)
		}
	}
	var unset *UnsetError
	if _, err := ExpandEnv("${B}", lookup); !errors.As(err, &unset) || unset.Name != "B" {
		t.Errorf("%v", err)
	}
	for _, in := range []string{"${", "${A", "${}", "${A B}", "${1A}"} {
		if _, err := ExpandEnv(in, lookup); err == nil || errors.As(err, &unset) {
			t.Errorf("%q: %v", in, err)
		}
	}
}
