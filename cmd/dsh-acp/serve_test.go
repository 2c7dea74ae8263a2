package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/mcp"
)

// Flags in front of a command are a slip that is easy to make: what is said
// about it shows the right order.
func TestFlagsBeforeACommand(t *testing.T) {
	for args, want := range map[string]string{
		"--model local check":         "dsh-acp check [flags]",
		"--mode both run FILE.ts":     "dsh-acp run [flags]",
		"--model local login further": "dsh-acp login [flags]",
		"--model local chekc":         `unexpected argument "chekc"`,
	} {
		var stderr bytes.Buffer
		if code := dispatch(t.Context(), env{stdin: os.Stdin, stdout: os.Stdout, stderr: &stderr}, strings.Fields(args)); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: %d %s", args, code, &stderr)
		}
	}
}

// A program that runs without the folder's servers is told what to do, and of
// no error where there is none.
func TestServersThatWaitForConsent(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	cwd := t.TempDir()
	if err := os.WriteFile(filepath.Join(cwd, ".mcp.json"), []byte(`{"mcpServers":{"a":{"command":"true"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Flags: config.Flags{Model: "local"}})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a, err := newApp(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	s := a.commandMCP(cfg, "test", cwd, a.registry.Global())
	defer s.Close()
	if out := log.String(); !strings.Contains(out, "dsh-acp mcp --allow") || strings.Contains(out, "nil") {
		t.Error(out)
	}
	// --allow does more than take a refusal back, and is not offered as that.
	p, err := mcp.FindProject(cwd, mcpConsents(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := mcpConsents(cfg).Refuse(p.Key); err != nil {
		t.Fatal(err)
	}
	if brought, err := projectServers(cfg, cwd); err != nil || !strings.Contains(brought.remedy, "to allow them all the same: dsh-acp mcp --allow") {
		t.Error(brought.remedy, err)
	}
}
