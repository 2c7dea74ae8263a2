package main

import (
	"bytes"
	"flag"
	"log/slog"
	"os"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/config"
)

var update = flag.Bool("update", false, "rewrite generated files")

// TestCatalogIsCurrent fails when docs/tool-catalog.md does not say what the
// tools say.
func TestCatalogIsCurrent(t *testing.T) {
	cfg, err := config.Load(config.Options{Env: func(string) string { return "" }, Home: t.TempDir(), Flags: config.Flags{Model: "local"}})
	if err != nil {
		t.Fatal(err)
	}
	// The catalogue has every tool, those that need a service among them.
	cfg.Web.Search = config.WebSearch{Provider: "searxng", BaseURL: "http://localhost:8888"}
	app, err := newApp(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer app.close()
	var got bytes.Buffer
	if err := writeCatalog(&got, app.registry.Global().Visible()); err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/tool-catalog.md"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("docs/tool-catalog.md is stale: run go test ./cmd/dsh-acp -run Catalog -update")
	}
}
