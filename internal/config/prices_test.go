package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrices(t *testing.T) {
	load := func(text string) (*Config, error) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("HOME", t.TempDir()) // it need not be set
		t.Setenv("XDG_CONFIG_HOME", t.TempDir())
		return Load(Options{Dir: t.TempDir(), ConfigFile: file})
	}
	cfg, err := load("model:\n  prices:\n    a: {input: 0.28, cached: 0, output: 42}\n    b/c: {input: 1}\n  currency: EUR\n")
	if err != nil {
		t.Fatal(err)
	}
	if p := cfg.Model.Prices; len(p) != 2 || p["a"] != (Price{Input: 0.28, Output: 42}) || p["b/c"] != (Price{Input: 1, Cached: 1}) || cfg.Model.Currency != "EUR" {
		t.Errorf("%+v %s", p, cfg.Model.Currency)
	}
	for text, want := range map[string]string{
		"model: {prices: [1]}":                 "expected a mapping of models to prices",
		"model: {prices: {a: 1}}":              "a: expected a price such as {input: 0.28, output: 0.42}",
		"model: {prices: {a: {input: -1}}}":    "input: expected a price that is not negative",
		"model: {prices: {a: {input: cheap}}}": "input: expected a price that is not negative",
		"model: {prices: {a: {inputs: 1}}}":    `unknown key "inputs"; did you mean "input"`,
		"model: {currency: euro}":              "expected the three letters of a currency",
	} {
		if _, err := load(text + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
